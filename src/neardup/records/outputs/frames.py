"""Tables as frames of pandas and Polars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from neardup.errors import DependencyError

if TYPE_CHECKING:
    import pandas
    import polars


def as_pandas(table: pa.Table) -> pandas.DataFrame:
    """Return a table as a frame of pandas.

    Raises:
        DependencyError: pandas is not installed.
    """
    try:
        return table.to_pandas()
    except ImportError as error:
        raise DependencyError("a frame needs pandas", "pip install pandas") from error


def as_polars(table: pa.Table) -> polars.DataFrame:
    """Return a table as a frame of Polars.

    Raises:
        DependencyError: Polars is not installed.
    """
    try:
        import polars
    except ImportError as error:
        raise DependencyError("a frame needs Polars", "pip install polars") from error
    found = polars.from_arrow(table)
    assert isinstance(found, polars.DataFrame)
    return found
