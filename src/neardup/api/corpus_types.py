"""The types that a corpus may be given as; for type checkers only."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Protocol, TypeAlias

    import datasets
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as ds

    from neardup.api.finished.documents_run import DocumentsRun
    from neardup.api.indexes.indexing import Index

    class ArrowStream(Protocol):
        """A table of any library that gives it by Arrow's C interface."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    Paths: TypeAlias = str | os.PathLike[str] | Iterable[os.PathLike[str]]
    ArrowFrame: TypeAlias = (
        pa.Table
        | pa.RecordBatch
        | pa.RecordBatchReader
        | ds.Dataset
        | pa.Array[Any]
        | pa.ChunkedArray[Any]
        | ArrowStream
    )
    OtherFrame: TypeAlias = (
        pd.DataFrame
        | pd.Series
        | pl.DataFrame
        | pl.LazyFrame
        | pl.Series
        | datasets.Dataset
        | Mapping[str, Sequence[object]]
    )
    #: Files, a frame, texts, records, or baskets, which are lists of items.
    Corpus: TypeAlias = (
        Paths
        | ArrowFrame
        | OtherFrame
        | Iterable[str | Sequence[object]]
        | Iterable[Mapping[str, object]]
    )
    #: A corpus that stays, to which a batch is compared.
    OldCorpus: TypeAlias = Corpus | Index | DocumentsRun[Any]
