"""The inputs of a linkage as one source, and their columns under the names of the first one."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from neardup.file_formats import FORMATS
from neardup.io.formats.entries.citation_columns import COLUMNS
from neardup.io.formats.json_text import common_schema
from neardup.io.source import Columns, Layout, Partition, Source
from neardup.linkage.columns.field_columns import JOIN
from neardup.options.how_read import OpenInput


class JoinedNames:
    """Names of columns that are one field: those of the first input that has it, or of citations.

    Args:
        fields: Names of the fields.
        read: Columns that they are in each input, see `Records`.
        opened: The inputs, with the column of the ids in each.
        sizes: Records of each input.
        format: That is asked for; None for that of the first input.
    """

    def __init__(
        self,
        fields: Sequence[str],
        read: Sequence[Sequence[str]],
        opened: Sequence[OpenInput],
        sizes: Sequence[int],
        format: str | None,
    ) -> None:
        ids = [str(one.how.get("id") or "") for one in opened]
        fields, read = ["id", *fields], [[id, *of] for id, of in zip(ids, read, strict=True)]
        # Columns that are one value together have no name.
        single = (
            [name for name in of if name and JOIN not in name] for of in zip(*read, strict=True)
        )
        called = [of[0] if of else "" for of in single]
        if format is not None and FORMATS[format].has_entries:
            named = zip(fields, called, strict=True)
            called = [field if field in COLUMNS else name for field, name in named]
        #: Column of the ids in the output; None for positions.
        self.id = called[0] if any(ids) else None
        pairs = [zip(of, called, strict=True) for of in read]
        self._renamed = [{name: to for name, to in of if name and to} for of in pairs]
        self._ends = np.cumsum(sizes)

    def of(self, first: int, names: Sequence[str]) -> dict[str, str]:
        """Return the names of columns by those that they have in the input of a record."""
        number = int(np.searchsorted(self._ends, first, side="right"))
        renamed = self._renamed[min(number, len(self._renamed) - 1)]
        new = [renamed.get(name, name) for name in names]
        # One that the input has itself stays.
        return {
            name: name if to != name and (to in names or new.count(to) > 1) else to
            for name, to in zip(names, new, strict=True)
        }


class JoinedSource(Source):
    """Sources one after the other, whose partitions have numbers of files in all of them.

    Args:
        sources: One at least.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self.files = [file for source in sources for file in source.files]
        formats = {source.format for source in sources}
        self.format = formats.pop() if len(formats) == 1 else "mixed"
        self.columns = Columns(())
        self.id_column = None
        sizes = [source.total_bytes for source in sources]
        self.total_bytes = None if None in sizes else sum(filter(None, sizes))
        self.rereadable = all(source.rereadable for source in sources)

    def partitions(self, file: int | None = None) -> Iterator[Partition]:
        before = 0
        for source in self._sources:
            for partition in source.partitions():
                if before and partition.file >= 0:
                    partition = copy.copy(partition)
                    partition.file += before
                if file is None or partition.file == file:
                    yield partition
            before += len(source.files)

    def layout(self, file: int) -> Layout:
        for source in self._sources:
            if not source.files or file < len(source.files):
                return source.layout(file if source.files else -1)
            file -= len(source.files)
        raise IndexError(file)

    def schema(self) -> pa.Schema | None:
        schemas = [source.schema() for source in self._sources]
        return common_schema(schema for schema in schemas if schema is not None)
