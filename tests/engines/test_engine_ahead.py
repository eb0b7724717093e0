"""The beginning of a source is read by a thread: the same partitions, documents and errors."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common import Command, files_of, some_rows, write_lines
from neardup.engines.ahead import Ahead, read_ahead
from neardup.engines.reading import Reader
from neardup.errors import FormatError
from neardup.io.opening import Reading

READING = Reading(id="id")


def _notes(path: Path, rows: int = 40_000) -> Path:
    table = pa.table(
        {
            "id": [f"n{i}" for i in range(rows)],
            "text": [f"text number {i} " * 8 for i in range(rows)],
            "year": list(range(rows)),
        }
    )
    pq.write_table(table, path, row_group_size=rows // 20, use_dictionary=False)
    return path


def _begun(path: Path, memory: int = 1 << 30) -> Ahead:
    ahead = read_ahead([path], READING, ("year",), memory)
    assert ahead is not None
    return ahead


@pytest.mark.parametrize("memory", [1 << 30, 8 << 20, 8])
def test_every_partition_comes_once_in_order(tmp_path: Path, memory: int) -> None:
    ahead = _begun(_notes(tmp_path / "a.parquet"), memory)
    source, _ = READING.open_sized([tmp_path / "a.parquet"], ("year",))
    expected = [partition.read(("id", "year")) for partition in source.partitions()]
    items = list(Reader(source, ahead).first_pass())
    assert [item.number for item in items] == list(range(len(expected)))
    assert len(items) > 4
    read = [item.documents is not None for item in items]
    assert read == sorted(read, reverse=True)  # those at the beginning
    assert read[0]
    assert all(read) == (memory == 1 << 30)
    for item, documents in zip(items, expected, strict=True):
        found = item.documents or item.partition.read(("id", "year"))
        assert found.text.equals(documents.text)
        assert found.columns.equals(documents.columns)


def test_a_thread_that_is_stopped_leaves_the_rest(tmp_path: Path) -> None:
    ahead = _begun(_notes(tmp_path / "a.parquet"))
    items = iter(ahead)
    first = next(items)
    ahead.stop()
    rest = list(items)
    numbers = [item.number for item in (first, *rest)]
    assert numbers == list(range(len(numbers)))


def test_an_error_comes_where_its_partition_is(tmp_path: Path) -> None:
    path = _notes(tmp_path / "a.parquet")
    groups = pq.read_metadata(path)
    column = groups.row_group(groups.num_row_groups - 1).column(1)
    data = bytearray(path.read_bytes())
    begin = column.data_page_offset
    data[begin : begin + 40] = b"\xff" * 40
    path.write_bytes(data)
    source, _ = READING.open_sized([path], ("year",))
    whole: list[int] = []
    with pytest.raises(FormatError, match=r"a\.parquet"):
        for number, partition in enumerate(source.partitions()):
            partition.read(("id", "year"))
            whole.append(number)
    found: list[int] = []
    with pytest.raises(FormatError, match=r"a\.parquet"):
        for item in _begun(path):
            if item.documents is None:
                item.partition.read(("id", "year"))
            found.append(item.number)
    assert found == whole
    assert len(whole) > 4


@pytest.mark.parametrize("name", ["none.parquet", "lines.jsonl"])
def test_what_is_of_no_use_is_not_read(tmp_path: Path, name: str) -> None:
    write_lines(tmp_path / "lines.jsonl", some_rows())
    assert read_ahead([tmp_path / name], READING, (), None) is None


def test_the_command_finds_the_same(tmp_path: Path, command: Command) -> None:
    _notes(tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    pq.write_table(pa.concat_tables([table, table.slice(0, 100)]), tmp_path / "a.parquet")
    lines = tmp_path / "a.jsonl"
    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    write_lines(lines, [{**row, "id": i} for i, row in enumerate(rows)])
    for name in ("a.parquet", "a.jsonl"):
        found = command("dedup", tmp_path / name, "-o", tmp_path / f"of-{name}", "--no-clean")
        assert found.code == 0, found.err
    tables = [
        pq.read_table(tmp_path / f"of-{name}" / "clusters.parquet").drop(["file"])
        for name in ("a.parquet", "a.jsonl")
    ]
    assert tables[0].equals(tables[1])


def test_an_error_before_the_work_ends_the_thread_soon(tmp_path: Path, command: Command) -> None:
    _notes(tmp_path / "a.parquet")
    (tmp_path / "out").mkdir()
    before = files_of(tmp_path)
    found = command("dedup", tmp_path / "a.parquet", "-o", tmp_path / "out")
    assert found.code == 1
    assert "exists" in found.err
    assert files_of(tmp_path) == before
