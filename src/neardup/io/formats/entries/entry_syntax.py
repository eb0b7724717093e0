"""The interface of formats of entries: where one begins, its values, how a field is put in."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from neardup.errors import FormatError

#: Values of an entry by the names that its format has for them, those without a column too.
Values: TypeAlias = Mapping[str, Sequence[str]]


class FoundEntry(NamedTuple):
    """Where an entry is in bytes: its start, where a field can be put in, and its end.

    ``content`` is what its values are found in, and ``wrong`` says why it can't be read.
    """

    start: int
    insert: int
    end: int
    content: Any = None
    wrong: str = ""

    def after(self, start: int) -> "FoundEntry":
        """Return the same in bytes that have others before them."""
        return self._replace(
            start=start + self.start, insert=start + self.insert, end=start + self.end
        )


class Syntax(ABC):
    """A format of entries."""

    #: The columns of its records.
    columns: tuple[str, ...]
    #: Where an entry begins; the message about a file without any.
    mark: re.Pattern[bytes]
    no_mark: str

    @abstractmethod
    def read(self, chunk: bytes) -> Iterable[FoundEntry]:
        """Find the entries from one mark to the next one, or before the first."""

    @abstractmethod
    def values(self, content: Any, context: bytes) -> Values:
        """Return all that an entry has."""

    @abstractmethod
    def value(self, values: Values, column: str) -> str:
        """Return the value of a column; empty where there is none."""

    @abstractmethod
    def added(self, values: Mapping[str, str], line_end: str) -> str:
        """Return fields that are put into an entry."""

    def changed(self, record: bytes, values: Mapping[str, str]) -> bytes:
        """Return the bytes of an entry in which some columns have other values.

        Raises:
            FormatError: Entries of this format can't be changed.
        """
        raise FormatError(
            "records of this format can't be filled or combined",
            "write the merged records in another format, such as ris",
        )

    def new(self, values: Mapping[str, str]) -> bytes:
        """Return the bytes of an entry with these values."""
        raise NotImplementedError

    def entries(self, data: bytes) -> Iterator[FoundEntry]:
        """Find all entries."""
        for start, end in pairwise([0, *(m.start() for m in self.mark.finditer(data)), len(data)]):
            for entry in self.read(data[start:end]):
                yield entry.after(start)

    def complete(self, data: bytes) -> int:
        """Return the end of the entries that are known to be complete; 0 for none."""
        starts = [found.start() for found in self.mark.finditer(data)]
        return starts[-1] if len(starts) > 1 else 0

    def check(self, head: bytes) -> str:
        """Return why a file is refused, from its first bytes; empty for no reason."""
        return ""

    def context(self, data: bytes) -> bytes:
        """Return that part of some data which the values of later entries may need."""
        return b""

    def frame(self, parts: Iterable[bytes]) -> tuple[bytes, bytes]:
        """Return the head and the foot of an output, from all bytes of a file."""
        return b"", b""
