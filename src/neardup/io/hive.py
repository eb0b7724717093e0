"""Folders such as ``year=2024/month=5``, whose names are values of columns of their files."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, strings_of
from neardup.io.source import Added, Cached, Documents, Partition, Records, Rows

_NULL = "__HIVE_DEFAULT_PARTITION__"


def hive_values(name: str) -> dict[str, str | None]:
    """Columns and values of the folders of a file.

    >>> hive_values("year=2024/lang=de/a.parquet")
    {'year': '2024', 'lang': 'de'}
    """
    pairs = [folder.partition("=") for folder in name.split("/")[:-1]]
    named = {unquote(key): unquote(value) for key, equals, value in pairs if key and equals}
    return {key: None if value == _NULL else value for key, value in named.items()}


class HivePartition(Partition):
    """A partition whose documents have, for the run only, columns of one value each: strings."""

    def __init__(self, inner: Partition, values: Mapping[str, str | None]) -> None:
        self.file, self.start, self.size = inner.file, inner.start, inner.size
        self._inner, self._values = inner, values

    def sequence(self, cached: Cached = None) -> Hashable:
        return self._inner.sequence(self._inner_cached(cached))

    def parsed(self, columns: tuple[str, ...] | None) -> Documents:
        if columns is None:
            return self._inner.read(None)
        found = self._inner.read(tuple(name for name in columns if name not in self._values))
        every: dict[str, Any] = {name: found.columns[name] for name in found.columns.column_names}
        for name in [name for name in columns if name in self._values]:
            value = self._values[name]
            one = strings_of([None if value is None else value.encode()])
            every[name] = one.take(array_of(np.zeros(len(found.text), np.int64)))
        return replace(found, columns=pa.table(every))

    def texts(self, rows: np.ndarray, count: int) -> pa.LargeStringArray:
        return self._inner.texts(rows, count)

    def records(
        self, rows: Rows, count: int, added: Added = None, cached: Cached = None
    ) -> Records:
        return self._inner.records(rows, count, added, self._inner_cached(cached))

    def table(self, rows: Rows, count: int, added: Added = None, cached: Cached = None) -> pa.Table:
        return self._inner.table(rows, count, added, self._inner_cached(cached))

    def schema(self) -> pa.Schema:
        return self._inner.schema()

    def ask(self) -> None:
        self._inner.ask()

    def halves(self) -> list[Partition]:
        return [HivePartition(half, self._values) for half in self._inner.halves()]

    def _inner_cached(self, cached: Cached) -> Cached:
        if cached is None:
            return None
        names = [name for name in cached.columns.column_names if name not in self._values]
        return replace(cached, columns=cached.columns.select(names))
