"""Blocks drawn from all over a source: every document as likely as any other, none twice."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.corpus import Spread, columnar, open_corpus, open_frame
from neardup.corpus.spread import draw
from neardup.errors import ColumnError, FormatError

COUNT = 2000


def numbers(spread: Spread) -> list[int]:
    """Numbers of the documents that were drawn."""
    return [int(t.split()[0]) for c in spread.chunks for t in c.read().text.to_pylist()]


def texts(count: int = COUNT) -> list[str]:
    return [f"{i} " + "word " * (1 + i * 7 % 23) for i in range(count)]


def written(folder: Path, name: str) -> Path:
    rows = [json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts())]
    table = pa.table({"id": range(COUNT), "text": texts()})
    path = folder / name
    if name == "folder":
        for i, text in enumerate(texts(300)):
            (folder / "folder").mkdir(exist_ok=True)
            (folder / "folder" / f"{i:04}.txt").write_text(text)
    elif name == "bom.jsonl":
        path.write_bytes(b"\xef\xbb\xbf" + "".join(rows).encode())
    elif name.endswith(".jsonl"):
        path.write_text("".join(rows))
    elif name.endswith(".gz"):
        with gzip.open(path, "wt") as file:
            file.writelines(rows)
    elif name.endswith(".csv"):
        path.write_text("id,text\n" + "".join(f"{i},{t}\n" for i, t in enumerate(texts())))
    elif name == "one.parquet":
        pq.write_table(table, path)
    elif name.endswith(".parquet"):
        pq.write_table(table, path, row_group_size=50)
    elif name == "stream.arrow":
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=100)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=100)
    return path


WHOLE = ["plain.jsonl", "bom.jsonl", "packed.jsonl.gz", "table.csv", "groups.parquet"]
WHOLE += ["one.parquet", "file.arrow", "stream.arrow", "folder"]


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_source(tmp_path: Path, name: str) -> None:
    """Where all blocks are wanted, each document comes once."""
    corpus = open_corpus(written(tmp_path, name))
    spread = corpus.spread(10**9, 4096)
    assert spread is not None and spread.whole and spread.everywhere
    found = numbers(spread)
    assert sorted(found) == list(range(len(found))) and len(found) in (300, COUNT)
    size = sum(chunk.size for chunk in spread.chunks)
    assert size == pytest.approx(corpus.total_bytes, rel=0.05)  # those of Arrow IPC are estimates


@pytest.mark.parametrize("name", ["plain.jsonl", "bom.jsonl", "groups.parquet", "file.arrow"])
def test_blocks_from_everywhere(tmp_path: Path, name: str) -> None:
    corpus = open_corpus(written(tmp_path, name))
    spread = corpus.spread(20, 1000)
    assert spread is not None and not spread.whole and spread.everywhere
    found = numbers(spread)
    assert len(set(found)) == len(found) < COUNT / 2
    assert min(found) < COUNT / 10 and max(found) > COUNT * 9 / 10
    gaps = np.diff(sorted(found))
    assert gaps.max() < COUNT / 5
    # The same ones each time.
    again = corpus.spread(20, 1000)
    assert again is not None and numbers(again) == found
    # By their bytes, they stand for all.
    size = sum(chunk.size for chunk in spread.chunks)
    assert len(found) * (corpus.total_bytes or 0) / size == pytest.approx(COUNT, rel=0.2)


def test_lines_side_by_side(tmp_path: Path) -> None:
    """Blocks that together are all of a file have each line once, wherever they are cut."""
    path = tmp_path / "lines.jsonl"
    path.write_text(
        "".join(json.dumps({"text": f"{i} " + "x" * (i * 37 % 400)}) + "\n" for i in range(300))
    )
    size = path.stat().st_size
    for block_bytes in (64, 100, 333, 5000):
        corpus = open_corpus(path)
        total = -(-size // block_bytes)
        spread = corpus.spread(total - 1, block_bytes)  # one is left out
        assert spread is not None and not spread.whole
        found = numbers(spread)
        assert len(set(found)) == len(found)
        assert 300 - len(found) <= block_bytes // 16 + 1


def test_a_line_longer_than_blocks(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"text": "0 " + "x" * 50_000}) + "\n" + '{"text": "1 y"}\n' * 50)
    spread = open_corpus(path).spread(40, 1000)
    assert spread is not None
    assert set(numbers(spread)) <= {0, 1}


@pytest.mark.parametrize("name", ["packed.jsonl.gz", "table.csv", "stream.arrow"])
def test_what_can_be_read_from_its_begin_only(tmp_path: Path, name: str) -> None:
    corpus = open_corpus(written(tmp_path, name))
    spread = corpus.spread(2, 100)
    assert spread is not None and not spread.whole and not spread.everywhere
    assert 0 in numbers(spread)


def test_many_files_are_places_enough(tmp_path: Path) -> None:
    for i in range(30):
        with gzip.open(tmp_path / f"{i:02}.jsonl.gz", "wt") as file:
            file.write("".join(json.dumps({"text": f"{i * 100 + k} x"}) + "\n" for k in range(100)))
    spread = open_corpus(tmp_path).spread(20, 10)
    assert spread is not None and spread.everywhere and not spread.whole


def test_large_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one large row group only so much is decoded, and that is said."""
    path = written(tmp_path, "one.parquet")
    spread = open_corpus(path).spread(10, 100)
    assert spread is not None and spread.everywhere and spread.documents == COUNT
    assert max(numbers(spread)) > COUNT / 2
    monkeypatch.setattr(columnar, "_DECODED", 10_000)
    spread = open_corpus(path).spread(10, 100)
    assert spread is not None and not spread.everywhere
    assert max(numbers(spread)) < COUNT / 2


def test_frames() -> None:
    table = pa.table({"text": texts()})
    for frame in (table, texts(), table.to_batches()[0]):
        spread = open_frame(frame).spread(20, 1000)
        assert spread is not None and spread.documents == COUNT and not spread.whole
        found = numbers(spread)
        assert len(set(found)) == len(found) and max(found) > COUNT * 9 / 10
        every = open_frame(frame).spread(10**9, 1000)
        assert every is not None and every.whole and sorted(numbers(every)) == list(range(COUNT))


def test_other_frames_tell_their_rows() -> None:
    pandas = pytest.importorskip("pandas")
    spread = open_frame(pandas.DataFrame({"text": texts()})).spread(20, 1000)
    assert spread is not None and spread.documents == COUNT and spread.chunks == []


def test_what_can_be_read_once() -> None:
    assert open_frame(iter(texts())).spread(20, 1000) is None


def test_errors(tmp_path: Path) -> None:
    path = written(tmp_path, "groups.parquet")
    with pytest.raises(ColumnError, match="note"):
        open_corpus(path, text=["note"]).spread(5, 100)
    path.write_bytes(b"PAR1" + b"x" * 5000)
    with pytest.raises(FormatError, match="Parquet"):
        open_corpus(path).spread(5, 100)


def test_draw() -> None:
    """One of each stretch."""
    for total in (1, 7, 100, 12345):
        for wanted in (1, 3, 64, 20_000):
            found = draw(total, wanted)
            assert len(np.unique(found)) == len(found) == min(total, wanted)
            assert found.min() >= 0 and found.max() < total
            if wanted < total:
                ends = [k * total // wanted for k in range(1, wanted + 1)]
                assert np.searchsorted(ends, found, side="right").tolist() == list(range(wanted))
