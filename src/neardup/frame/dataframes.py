"""Tables as data frames of pandas and Polars, which need not be installed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from neardup.errors import DependencyError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def as_pandas(table: pa.Table, nullable: bool = False) -> pd.DataFrame:
    """Return a table as a frame of pandas.

    Args:
        table: The table.
        nullable: Whether integers have pandas' types that can be missing.

    Raises:
        DependencyError: pandas is not installed.
    """
    pd = imported("pandas")
    kinds = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    return table.to_pandas(types_mapper=cast(Any, kinds.get) if nullable else None)


def as_polars(table: pa.Table) -> pl.DataFrame:
    """Return a table as a frame of Polars.

    Raises:
        DependencyError: Polars is not installed.
    """
    return cast("pl.DataFrame", imported("polars").from_arrow(table))


def imported(name: str) -> Any:
    """Return a package that need not be installed.

    Raises:
        DependencyError: It is not.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DependencyError(f"{name} is not installed", f"pip install {name}") from error
