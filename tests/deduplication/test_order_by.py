"""The order of the documents: by a column, up or down, or by the length of the texts."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from common import Command, write_lines
from neardup.errors import ColumnError, NeardupError, SpecError
from neardup.spec import LENGTH, Order

WORDS = "one two three four five six seven eight"
DAY = datetime.date
#: Values of a column, and the documents in ascending and in descending order.
VALUES: dict[str, tuple[list[Any], str, str]] = {
    "numbers": ([2, None, 10, 10], "acdb", "cdab"),
    "floats": ([2.5, float("nan"), 10.0, 10.0], "acdb", "cdab"),
    "texts": (["b", "", "c", "c"], "acdb", "cdab"),
    "numbers as text": (["2", "", "10", "10"], "acdb", "cdab"),
    "dates": ([DAY(2020, 1, 2), None, DAY(2021, 1, 1), DAY(2021, 1, 1)], "acdb", "cdab"),
    "dates as text": (["2020-01-02", None, "2021-01-01", "2021-01-01"], "acdb", "cdab"),
    "equal": ([1, 1, 1, 1], "abcd", "abcd"),
    "nothing": ([None] * 4, "abcd", "abcd"),
}


def _rows(values: list[Any], name: str = "by") -> pa.Table:
    """Four documents with the same words; their lengths are 5, 3, 5, 4 more."""
    texts = [WORDS + " " * more for more in (5, 3, 5, 4)]
    return pa.table({"id": list("abcd"), "text": texts, name: values})


def _kept(table: Any, order_by: str) -> list[str]:
    """The document that each command keeps, or copies the others from."""
    old = pa.table({"id": ["z"], "text": ["other words of an old corpus, five and more"]})
    dedup = neardup.dedup(table, id="id", order_by=order_by)
    against = neardup.against(table, old, id="id", order_by=order_by)
    passages = neardup.passages(table, id="id", words=5, order_by=order_by)
    origins = passages.to_pandas("passages")["origin_id"].unique().tolist()
    return [*dedup.kept, *against.kept, *origins]


@pytest.mark.parametrize("kind", VALUES)
def test_values_up_and_down(kernels: None, tmp_path: Path, kind: str) -> None:
    values, up, down = VALUES[kind]
    table = _rows(values)
    for order_by, expected in (("by", up), ("-by", down)):
        assert _kept(table, order_by) == [expected[0]] * 3
        out = tmp_path / order_by
        neardup.dedup(table, id="id", order_by=order_by, out=out)
        assert pq.read_table(out / "clusters.parquet")["doc_id"].to_pylist() == list(expected)


def test_lengths(kernels: None) -> None:
    table = _rows([0] * 4)
    assert _kept(table, "length") == ["b"] * 3
    assert _kept(table, "-length") == ["a"] * 3
    assert neardup.dedup(table, id="id", keep="longest").kept.tolist() == ["a"]


def test_columns_of_such_names(kernels: None) -> None:
    for name in ("length", "-by", "column:x"):
        table = _rows([3, 4, 1, 2], name)
        assert _kept(table, f"column:{name}") == ["c"] * 3
        assert _kept(table, f"-column:{name}") == ["b"] * 3
    assert Order.of("length") == (LENGTH, False) and Order.of("-length") == (LENGTH, True)
    nested = pa.table({"id": ["a", "b"], "text": [WORDS] * 2, "m": [{"r": 1}, {"r": 2}]})
    assert neardup.dedup(nested, id="id", order_by="-m.r").kept.tolist() == ["b"]


def test_the_command_takes_them(tmp_path: Path, command: Command) -> None:
    path = write_lines(tmp_path / "a.jsonl", _rows([2, 1, 3, None]).to_pylist())
    for number, (value, kept) in enumerate((("-by", "c"), ("-length", "a"), ("length", "b"))):
        out = tmp_path / str(number)
        done = command("dedup", path, "-o", out, "--id", "id", "--order-by", value, "--quiet")
        assert done.code == 0, done.err
        run: Any = neardup.open(out)
        assert run.kept.tolist() == [kept]
        assert run.summary["spec"]["order_by"] == value
        again = run.recluster(threshold=0.9)
        assert again.kept.tolist() == [kept]


@pytest.mark.parametrize("value", ["", "-", "column:", "-column:"])
def test_no_column_is_refused(value: str) -> None:
    for call in (neardup.dedup, neardup.passages):
        with pytest.raises(SpecError, match="expected the name of a column"):
            call([WORDS], order_by=value)


def test_a_column_that_is_not_there(kernels: None, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", _rows([1] * 4).to_pylist())
    for source in (path, _rows([1] * 4)):
        with pytest.raises(ColumnError, match="no column 'buy'; there are"):
            neardup.dedup(source, order_by="-buy")
    with neardup.Index.create() as index, pytest.raises(NeardupError, match="order_by"):
        neardup.against([WORDS], index, order_by="-length")
