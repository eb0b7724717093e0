"""A file that is gone on with is the file that is written in one go, byte for byte."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.corpus import OUTPUT_FORMATS, TableWriter
from neardup.corpus.footers import Footer
from neardup.errors import ResumeError

SEED = 11
formats = pytest.mark.parametrize("format", OUTPUT_FORMATS)


def tables(count: int = 20) -> list[pa.Table]:
    """Tables of many types; the first and another are empty."""
    chance = random.Random(SEED)
    made = []
    for number in range(count):
        rows = 0 if number in (0, 7) else chance.randint(1, 300)
        words = [" ".join(chance.choices(["one", "two", "שלוש"], k=40)) for _ in range(rows)]
        made.append(
            pa.table(
                {
                    "id": pa.array(range(rows), pa.int64()),
                    "text": pa.array(words, pa.large_string()),
                    "kind": pa.array([chance.choice("ab") for _ in range(rows)], pa.string()),
                    "score": pa.array([chance.random() for _ in range(rows)], pa.float64()),
                    "flag": pa.array([i % 3 == 0 or None for i in range(rows)], pa.bool_()),
                    "none": pa.nulls(rows, pa.int32()),
                    "list": pa.array([[i] * (i % 3) for i in range(rows)], pa.list_(pa.int64())),
                    "nested": pa.array(
                        [{"a": i, "b": ["x", None]} if i % 4 else None for i in range(rows)],
                        pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]),
                    ),
                    "time": pa.array(range(rows), pa.timestamp("us", "UTC")),
                }
            )
        )
    return made


@formats
def test_resume_at_every_checkpoint(tmp_path: Path, format: str) -> None:
    parts = tables()
    path, other = tmp_path / "a", tmp_path / "b"
    with TableWriter(path, parts[0].schema, format) as writer:
        for part in parts:
            writer.write(part)
    expected = path.read_bytes()
    states, seen = [], []
    with TableWriter(other, parts[0].schema, format) as writer:
        for part in parts:
            states.append(writer.checkpoint())
            seen.append(other.read_bytes())
            writer.write(part)
        states.append(writer.checkpoint())
        seen.append(other.read_bytes())
    assert other.read_bytes() == expected
    for number, (state, raw) in enumerate(zip(states, seen, strict=True)):
        assert state.isascii()
        for garbage in (b"", b"\0" * 10_000, expected[len(raw) :]):
            other.write_bytes(raw + garbage)
            with TableWriter(other, parts[0].schema, format, resume=state) as writer:
                for part in parts[number:]:
                    writer.write(part)
                    writer.checkpoint()
            assert other.read_bytes() == expected
        if raw:
            other.write_bytes(raw[:-1])
            with pytest.raises(ResumeError, match="shorter"):
                TableWriter(other, parts[0].schema, format, resume=state)


def test_resume_refuses(tmp_path: Path) -> None:
    schema = pa.schema([("text", pa.string())])
    path = tmp_path / "a"
    with TableWriter(path, schema, "csv") as writer:
        state = writer.checkpoint()
    with pytest.raises(ResumeError, match="begun as csv, not jsonl"):
        TableWriter(path, schema, "jsonl", resume=state)
    path.unlink()
    with pytest.raises(ResumeError, match="gone"):
        TableWriter(path, schema, "csv", resume=state)
    assert not path.exists()


@pytest.mark.parametrize("codec", ["none", "lz4", "snappy", "zstd"])
@pytest.mark.parametrize("nested", [False, True])
def test_parquet_is_what_one_writer_makes(tmp_path: Path, codec: str, nested: bool) -> None:
    # Offsets, numbers of row groups, statistics, Arrow's schema: all as Arrow writes them.
    parts = [part for part in tables(40) if len(part)]
    if not nested:
        parts = [part.select(["id", "text", "kind", "score", "flag"]) for part in parts]
    path = tmp_path / "a.parquet"
    with TableWriter(path, parts[0].schema, "parquet", codec) as writer:
        for part in parts:
            writer.write(part)
    short = [name for name in parts[0].column_names if name != "text"]
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        parts[0].schema,
        compression=codec,
        use_dictionary=short,
        write_statistics=short,
        store_schema=nested,
    ) as plain:
        for part in parts:
            plain.write_table(part)
    assert path.read_bytes() == sink.getvalue()
    table = pa.concat_tables(parts)
    assert pq.read_table(path).cast(table.schema).equals(table)
    assert pq.ParquetFile(path).num_row_groups == len(parts)


def test_the_choice_of_dictionaries_is_kept(tmp_path: Path) -> None:
    # By the tables after the checkpoint it would be the other way round.
    first, second = pa.table({"text": ["long " * 50] * 9}), pa.table({"text": ["a"] * 9})
    path = tmp_path / "a.parquet"
    with TableWriter(path, first.schema, "parquet") as writer:
        writer.write(first)
        state = writer.checkpoint()
    with TableWriter(path, first.schema, "parquet", resume=state) as writer:
        writer.write(second)
    about = pq.read_metadata(path)
    for group in range(2):
        assert not about.row_group(group).column(0).has_dictionary_page
        assert not about.row_group(group).column(0).is_stats_set


def test_footers_that_are_none() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2]}), sink, row_group_size=1)
    raw = sink.getvalue()
    footer = raw[-8 - int.from_bytes(raw[-8:-4], "little") : -8]
    assert Footer().joined() == b""
    assert Footer(footer).joined() == footer
    for bad in (footer[:-1], footer[:50], b"\x1d"):
        with pytest.raises(ValueError, match="footer"):
            Footer(bad)
