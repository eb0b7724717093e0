"""One Parquet footer made of those of several files whose row groups lie one behind the other.

A footer is a Thrift struct, ``FileMetaData`` of parquet.thrift, in the compact protocol: fields
are headed by their type and the difference of their number to the one before, integers are
zigzag varints. Only places in the file and the numbers of row groups are changed; all else is
copied as it is, known or not, so that the joint footer is the one that a single writer makes.
"""

from __future__ import annotations

__all__ = ["Footer"]

_BINARY, _LIST, _SET, _STRUCT = 8, 9, 10, 12
_WIDTHS = {3: 1, 7: 8}  # of bytes and doubles
_INTEGERS = (4, 5, 6)
_NUM_ROWS, _ROW_GROUPS = 3, 4  # fields of FileMetaData
# Fields of RowGroup, as paths: file_offset of it and of its column chunks, and in their metadata
# the offsets of data, index and dictionary pages.
_OFFSETS = {(5,), (1, 2), (1, 3, 9), (1, 3, 10), (1, 3, 11)}
_ORDINAL = (7,)
_MOST_ORDINAL = (1 << 15) - 1  # beyond, writers leave it out


class Footer:
    """Row groups so far, and what all footers of the file say alike.

    Args:
        raw: A footer to begin with, such as `joined` made.
    """

    def __init__(self, raw: bytes = b"") -> None:
        self._before = self._between = self._after = b""
        self._rows = 0
        self._groups: list[bytes] = []
        if raw:
            self.add(raw, 0)

    def add(self, raw: bytes, shift: int) -> None:
        """Append the row groups of a footer, whose places in the file are ``shift`` bytes later.

        Raises:
            ValueError: Not the footer of a Parquet file.
        """
        cursor = _Cursor(raw, shift)
        try:
            self._add(cursor)
        except IndexError as error:
            raise ValueError("the footer is cut off") from error

    def _add(self, cursor: _Cursor) -> None:
        number = 0
        while field := cursor.field(number):
            number, type = field
            if number == _NUM_ROWS:
                self._before = cursor.taken()
                self._rows += cursor.integer()
                cursor.taken()
            elif number == _ROW_GROUPS:
                self._between = cursor.taken()
                for _ in range(cursor.items()[0]):
                    cursor.taken()
                    cursor.copy(_STRUCT, (), len(self._groups))
                    self._groups.append(cursor.taken())
                cursor.taken()
            else:
                cursor.copy(type, (-number,), 0)
        self._after = cursor.taken()

    def joined(self) -> bytes:
        """The footer of the whole file; b"" where none was added."""
        if not self._before:
            return b""
        count = len(self._groups)
        head = bytes([min(count, 15) << 4 | _STRUCT]) + (_varint(count) if count > 14 else b"")
        rows = _varint(_zigzag(self._rows))
        return b"".join([self._before, rows, self._between, head, *self._groups, self._after])


class _Cursor:
    """Reads from ``raw``, and gathers what is to be written in its place."""

    def __init__(self, raw: bytes, shift: int) -> None:
        self._raw = raw
        self._shift = shift
        self._at = 0
        self._out = bytearray()

    def taken(self) -> bytes:
        """What was gathered since the last call."""
        out = bytes(self._out)
        self._out.clear()
        return out

    def integer(self) -> int:
        """Read an integer that has a sign."""
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)

    def items(self) -> tuple[int, int]:
        """Read the head of a list: how many, of which type; lists are written by the caller."""
        head = self._byte()
        return (head >> 4 if head >> 4 < 15 else self._unsigned()), head & 15

    def field(self, before: int) -> tuple[int, int] | None:
        """Copy the head of a field: its number and type; None at the end of the struct."""
        start = self._at
        head = self._byte()
        if head:
            number = before + (head >> 4) if head >> 4 else self.integer()
        self._out += self._raw[start : self._at]
        return (number, head & 15) if head else None

    def copy(self, type: int, path: tuple[int, ...], ordinal: int) -> None:
        """Copy a value with all that is in it.

        Args:
            type: Thrift's number of its type.
            path: Numbers of the fields that lead to it.
            ordinal: Number of the row group.

        Raises:
            ValueError: A type that no footer has.
        """
        start = self._at
        if type in _INTEGERS:
            value = self.integer()
            if path == _ORDINAL:
                value = ordinal
            elif path in _OFFSETS and value > 0:
                value += self._shift
            self._out += _varint(_zigzag(value))
            return
        if type in (_LIST, _SET):
            count, kind = self.items()
            self._out += self._raw[start : self._at]
            for _ in range(count):
                # As an item, a boolean takes a byte; as a field, none.
                self.copy(3 if kind in (1, 2) else kind, path, ordinal)
            return
        if type == _STRUCT:
            number, head = 0, len(self._out)
            while field := self.field(number):
                number, kind = field
                self.copy(kind, (*path, number), ordinal)
                if (*path, number) == _ORDINAL and ordinal > _MOST_ORDINAL:
                    del self._out[head:]
                head = len(self._out)
            return
        if type == _BINARY:
            length = self._unsigned()
            self._at += length
        elif type in _WIDTHS:
            self._at += _WIDTHS[type]
        elif type not in (1, 2):
            raise ValueError(f"a footer has no Thrift type {type}")
        self._out += self._raw[start : self._at]

    def _byte(self) -> int:
        self._at += 1
        return self._raw[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) >= 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift


def _zigzag(value: int) -> int:
    return value << 1 ^ value >> 63


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
