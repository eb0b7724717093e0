"""JSON lines that a stream through an index is asked with, and that it answers."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from neardup.errors import ColumnError, EncodingError, FormatError, InputError
from neardup.index.incoming import encodes
from neardup.index.storing.bodies import is_integer_id
from neardup.io.formats.column_paths import value_at
from neardup.sketch.baskets import ItemError, basket_text

ADDED = ("kept", "duplicate_of", "similarity")


class Line(NamedTuple):
    """A line that came in.

    Attributes:
        head: Its bytes without the closing brace.
        id: The id of its document.
        text: The text, or the items as one text.
        group: The value of its group, ``""`` for none; None where documents have no groups.
    """

    head: bytes
    id: Any
    text: str
    group: str | int | None = None

    def answered(self, answer: Mapping[str, Any]) -> bytes:
        """Return the line with an answer added: the fields of `ADDED`."""
        return self.head + b", " + json.dumps(answer)[1:].encode() + b"\n"


class LineReading(NamedTuple):
    """How lines are read.

    Attributes:
        id: Field with the id.
        fields: Fields with the text; several are joined by spaces.
        limit: Bytes of a line, at most.
        items: The text is a list of items.
        source: Name of the source, for messages.
        within: Field of the groups of documents; None where they have none.
    """

    id: str
    fields: Sequence[str]
    limit: int
    items: bool
    source: str
    within: str | None = None

    def lines(self, source: Iterable[bytes], first: int = 1) -> Iterator[Line]:
        """Read lines, the first of which has a number; empty ones are left out.

        Raises:
            FormatError: A line is too long, or no object of JSON; or a text is not one.
            ColumnError: It has no such field, or one that would be added.
            EncodingError: An id or a text has half a surrogate pair.
            InputError: An id is neither a string nor an integer of 64 bits.
        """
        for number, line in enumerate(source, first):
            where = f"{self.source}: line {number}"
            if len(line) > self.limit:
                raise FormatError(
                    f"{where} has more than {self.limit:,} bytes", "raise `max_document`"
                )
            line = line.strip().removeprefix(codecs.BOM_UTF8).lstrip()
            if line:
                yield self._line(line, where)

    def _line(self, line: bytes, where: str) -> Line:
        try:
            row = json.loads(line.decode())
        except (ValueError, RecursionError) as error:  # its message may quote the line
            raise FormatError(f"{where} is not valid JSON") from error
        if not isinstance(row, dict):
            raise FormatError(f"{where} is not an object")
        id_, *texts = (_value(row, field, where) for field in (self.id, *self.fields))
        for field in ADDED:
            if field in row:
                raise ColumnError(f"{where} has a field {field!r} already, which would be added")
        if self.items:
            texts = [_basket(text, where) for text in texts]
        elif not all(text is None or isinstance(text, str) for text in texts):
            raise FormatError(f"{where}: a text is not a string")
        if type(id_) not in (int, str):
            raise InputError(f"{where}: the id is neither a string nor an integer")
        joined = ("" if self.items else " ").join(text or "" for text in texts)
        group = self._group(row, where)
        for name, value in (("the id", id_), ("a text", joined), ("the group", group)):
            if isinstance(value, str) and not encodes(value):
                raise EncodingError(f"{where}: {name} has half a surrogate pair", "replace it")
        if isinstance(id_, int) and not is_integer_id(id_):
            raise InputError(f"{where}: the id has more than 64 bits", "convert the ids to strings")
        return Line(line[:-1].rstrip(), id_, joined, group)

    def _group(self, row: dict[str, Any], where: str) -> str | int | None:
        if self.within is None:
            return None
        value = _value(row, self.within, where)
        if not isinstance(value, str | int | None):
            raise ColumnError(
                f"{where}: the value of {self.within!r} forms no group",
                "expected a text, an integer or a truth value",
            )
        return "" if value is None else value


def _value(row: dict[str, Any], field: str, where: str) -> Any:
    try:
        return value_at(row, field)
    except KeyError:
        raise ColumnError(f"{where} has no field {field!r}", "name another one") from None
    except TypeError:
        raise ColumnError(f"{where} has no text or id at {field!r}", "name another one") from None


def _basket(value: object, where: str) -> str:
    if not isinstance(value, list | None):
        raise FormatError(f"{where}: a basket is no array of items")
    try:
        return basket_text(value or ())
    except ItemError as error:
        raise FormatError(f"{where}: an item is of type {error}; expected a string") from error
