"""Which document is kept does not hang on how a format spells a number."""

from __future__ import annotations

import pyarrow as pa
import pytest

import neardup
from neardup.spec import Spec

TEXT = "the same text of a few words"


@pytest.mark.parametrize("type", [pa.int64(), pa.string()])
def test_large_numbers_are_compared_exactly(type: pa.DataType) -> None:
    values = pa.array([2**53, 2**53 + 1, 7]).cast(type)
    table = pa.table({"text": [TEXT, TEXT, TEXT], "q": values})
    for keep, kept in (("max:q", 1), ("min:q", 2)):
        result = neardup.dedup(table, spec=Spec(keep=keep))
        assert result.clusters["kept"].to_pylist().index(True) == kept


def test_decimals_in_text_are_compared_as_numbers() -> None:
    table = pa.table({"text": [TEXT, TEXT], "q": ["9.5", "10.25"]})
    result = neardup.dedup(table, spec=Spec(keep="max:q"))
    assert result.clusters["kept"].to_pylist() == [False, True]
