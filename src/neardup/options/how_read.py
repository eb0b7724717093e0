"""From how a user wants a source to be read, to the source that was opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from neardup.io.opening import given_paths, open_source
from neardup.io.paths import find_files
from neardup.io.source import Columns, Source
from neardup.memory_plan import parse_size
from neardup.options.option_groups import Reading
from neardup.tuning import TUNING

#: Partitions of a source, about: not too many to keep track of.
_MANY_PARTITIONS = 4096


@dataclass(frozen=True)
class HowRead(Reading):
    """How a source is read: as it was asked for, and as its size and the settings need it.

    Attributes:
        partition_bytes: About the bytes of a partition.
        items: Whether texts are lists of items.
    """

    partition_bytes: int = field(default_factory=lambda: TUNING.partition_bytes)
    items: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Take its values from a mapping, such as ``run.json``, which may have others."""
        known = {field.name for field in fields(cls)}
        return cls(**{k: v for k, v in values.items() if k in known and v is not None})

    def of_another(self, source: object) -> Self:
        """Return how another source is read: no setting for files or CSV if it has none.

        Raises:
            InputError: Its files can't be found, or have formats that are not known.
        """
        paths = given_paths(source)
        if paths is None:
            return replace(self, delimiter=None, skip_large=False)
        if self.delimiter is None:
            return self
        is_csv = any(file.format in ("csv", "tsv") for file in find_files(paths, None))
        return self if is_csv else replace(self, delimiter=None)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it in JSON values."""
        return {**asdict(self), "text": list(self.text)}

    def open(
        self, source: object, extra: tuple[str, ...] = (), copy_folder: Path | None = None
    ) -> Source:
        """Open a source; ``extra`` are other columns that the first pass reads."""
        size, text = parse_size(self.max_document, "max_document"), tuple(self.text)
        errors, large = self.encoding_errors, self.skip_large
        columns = Columns(text, self.id, errors, extra, size, large, self.items)
        how = self.input_format, self.delimiter, self.partition_bytes
        return open_source(source, columns, *how, copy_folder)

    def open_sized(
        self, source: object, extra: tuple[str, ...] = (), copy_folder: Path | None = None
    ) -> tuple[Source, Self]:
        """Open a source in partitions that suit its size; return it, and how it is read then."""
        opened = self.open(source, extra, copy_folder)
        if not opened.files:
            return opened, self
        total = opened.total_bytes or 0
        size = max(TUNING.smallest_partition, total // TUNING.few_partitions)
        size = max(min(TUNING.partition_bytes, size), total // _MANY_PARTITIONS)
        sized = replace(self, partition_bytes=size)
        return sized.open(source, extra, copy_folder), sized


def how_read(reading: Reading, items: bool | None = None) -> HowRead:
    """Return how a source is read; ``items`` says whether texts are lists of items."""
    found = reading if isinstance(reading, HowRead) else HowRead(**vars(reading))
    return found if items is None else replace(found, items=items)
