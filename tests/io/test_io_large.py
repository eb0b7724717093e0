"""Documents and records that are too large: refused with their place, or left out and counted."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_samples import opened, texts_of, zst

import neardup
from neardup.errors import FormatError, SpecError
from neardup.io.source import Columns

LIMIT = 1000
SMALL = [f"text {i} of some words" for i in range(40)]
TEXTS = [*SMALL[:11], "SECRET " * 300, *SMALL[11:25], "b" * 30_000, *SMALL[25:], "c " * 600]
FITTING = [text for text in TEXTS if len(text) <= LIMIT]
PACKED = {".gz": gzip.compress, ".zst": zst}
NAMES = ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.csv", "a.csv.zst", "a.tsv", "a.parquet"]
NAMES += ["repeated.parquet", "a.arrow", "texts", "packed"]
every = pytest.mark.parametrize("name", NAMES)
cut = pytest.mark.parametrize("size", [64, 2000, 1 << 20])


def made(folder: Path, name: str, texts: list[str] = TEXTS) -> Path:
    path = folder / name
    if "." not in name:  # a folder of plain texts
        for i, text in enumerate(texts):
            file = path / f"{i:03}.txt{'.gz' if name == 'packed' and i % 2 else ''}"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(PACKED.get(file.suffix, bytes)(text.encode()))
        return path
    if path.suffix == ".parquet":
        pq.write_table(
            pa.table({"text": texts, "n": range(len(texts))}),
            path,
            row_group_size=7,
            use_dictionary=name.startswith("repeated"),
        )
        return path
    if path.suffix == ".arrow":
        table = pa.table({"text": texts})
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, 9)
        return path
    if ".jsonl" in name:
        raw = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    else:
        delimiter = "\t" if name == "a.tsv" else ","
        raw = f"n{delimiter}text\r\n" + "".join(f"1{delimiter}{text}\r\n" for text in texts)
    path.write_bytes(PACKED.get(path.suffix, bytes)(raw.encode()))
    return path


@cut
@every
def test_the_place_is_named(tmp_path: Path, name: str, size: int) -> None:
    path = made(tmp_path, name)
    with pytest.raises(FormatError, match=r"of more than 1,000 bytes") as caught:
        texts_of(opened(path, size, max_document=LIMIT, skip_large=False))
    places = {"jsonl": "line 12: a record", "csv": "line 13: a record", "tsv": "line 13: a record"}
    place = places.get(name.split(".")[1], "record 12: a text") if "." in name else "011.txt"
    assert place in str(caught.value) and "SECRET" not in str(caught.value)
    assert "`max_document`" in caught.value.hint and "`skip_large`" in caught.value.hint


@cut
@every
def test_they_are_left_out_and_counted(tmp_path: Path, name: str, size: int) -> None:
    path = made(tmp_path, name)
    source = opened(path, size, max_document=LIMIT, skip_large=True)
    documents = [part.read() for part in source.partitions()]
    assert [text for found in documents for text in found.text.to_pylist()] == FITTING
    assert sum(found.skipped.large for found in documents) == 3
    parts = list(source.partitions())
    assert sum(part.size for part in parts) == source.total_bytes
    assert [p.start for p in parts] == np.cumsum([0, *(p.size for p in parts)])[:-1].tolist()
    again: list[str] = []
    tables: list[str] = []
    for part, found in zip(parts, documents, strict=True):
        count = len(found.text)
        rows = np.arange(0, count, 2)
        assert part.texts(rows, count).to_pylist() == found.text.to_pylist()[::2]
        again += part.texts(np.arange(count), count).to_pylist()
        tables += part.table(None, count).column("text").to_pylist()
        if "." not in name:
            records: Any = part.records(rows, count)
            assert len(records.names) == len(rows)
    assert again == FITTING and tables == FITTING


def test_all_of_them_are_too_large(tmp_path: Path) -> None:
    for name in NAMES:
        source = opened(made(tmp_path, name), 64, max_document=3, skip_large=True)
        if "csv" in name or "tsv" in name:  # the header is one of them
            with pytest.raises(FormatError, match="line 1: a record of more than 3 bytes"):
                texts_of(source)
            continue
        found = [part.read() for part in source.partitions()]
        assert sum(part.skipped.large for part in found) == len(TEXTS), name
        assert sum(len(part.text) for part in found) == 0


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv"])
def test_lines_behind_them_keep_their_numbers(tmp_path: Path, name: str) -> None:
    bad = '{"text": SECRET}' if "jsonl" in name else '1,"SECRET" x'
    path = made(tmp_path, name)
    raw = gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()
    raw += bad.encode() + b"\n"
    path.write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    line = raw.count(b"\n")
    for size in (64, 4096):
        with pytest.raises(FormatError, match=f"line {line} ") as caught:
            texts_of(opened(path, size, max_document=LIMIT, skip_large=True))
        assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("packed", [False, True])
def test_records_of_csv_that_are_left_out(tmp_path: Path, packed: bool) -> None:
    """Quotes, delimiters and line ends of any kind in the records that are not held."""
    draw = random.Random(3)
    pieces = ['"', ",", "\n", "\r\n", "\r", "ab", "x" * 50, " ", 'a"b']
    for _ in range(40):
        rows = []
        for _ in range(draw.randrange(1, 15)):
            count = draw.choice([3, 3, 3, 40, 200])
            text = "".join(draw.choice(pieces) for _ in range(count))
            plain = not set(text) & set(",\n\r") and not text.startswith('"')
            text = text if plain and draw.random() < 0.5 else '"' + text.replace('"', '""') + '"'
            end = draw.choice(["\n", "\r\n", "\r", "\n\n"])
            rows.append((f"{text},1", end))
        raw = "text,n\n" + "".join(row + end for row, end in rows)
        path = tmp_path / ("a.csv.gz" if packed else "a.csv")
        path.write_bytes(gzip.compress(raw.encode()) if packed else raw.encode())
        everything = opened(path)
        sizes = [len(row) + (2 if end == "\r\n" else 1) for row, end in rows]
        expected = [t for t, size in zip(texts_of(everything), sizes, strict=True) if size <= 150]
        for size in (64, 300):
            source = opened(path, size, max_document=150, skip_large=True)
            documents = [part.read() for part in source.partitions()]
            assert [t for found in documents for t in found.text.to_pylist()] == expected
            assert sum(found.skipped.large for found in documents) == len(rows) - len(expected)


def test_a_quote_that_is_never_closed_is_no_large_record(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text\nfirst\n" + '"' + "open, " * 500)
    for name in ({}, {"skip_large": True}):
        with pytest.raises(FormatError, match=r"line 3|not closed"):
            texts_of(opened(path, 64, max_document=100, **name))


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.csv.gz", "a.txt.gz", "a.jsonl"])
def test_a_bomb_takes_no_memory(tmp_path: Path, name: str, skip: bool) -> None:
    """40 MB of one record out of some 40 kB, at a limit of 1 MB."""
    head = {"jsonl": b'{"text":"', "csv": b'text\n"', "txt": b""}[name.split(".")[1]]
    raw = head + b"a" * (40 << 20)
    raw += {"jsonl": b'"}\n{"text":"b"}\n', "csv": b'"\nb\n', "txt": b""}[name.split(".")[1]]
    path = tmp_path / name
    path.write_bytes(PACKED.get(path.suffix, bytes)(raw))
    del raw
    tracemalloc.start()
    try:
        source = opened(path, 1 << 16, max_document=1 << 20, skip_large=skip)
        if skip:
            assert texts_of(source) == ([] if "txt" in name else ["b"])
        else:
            with pytest.raises(FormatError, match="of more than 1,048,576 bytes"):
                texts_of(source)
        assert tracemalloc.get_traced_memory()[1] < 12 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.jsonl"])
def test_blank_lines_without_end(tmp_path: Path, name: str) -> None:
    """Of a compressed file, of which no length is known, they are refused; a plain one ends."""
    path = tmp_path / name
    raw = b'{"text":"a"}\n' + b"\n" * (8 << 20) + b'{"text":"b"}\n'
    path.write_bytes(PACKED.get(path.suffix, bytes)(raw))
    source = opened(path, 1 << 16, max_document=1 << 20)
    if name == "a.jsonl":
        assert texts_of(source) == ["a", "b"]
        return
    with pytest.raises(FormatError, match="more than 1,048,576 bytes of blank lines"):
        texts_of(source)


def test_a_page_of_equal_values_takes_no_memory(tmp_path: Path) -> None:
    """The indices of 20 million values, in a file of 1 kB, are not read at once."""
    rows = 20_000_000
    indices = pa.array(np.zeros(rows, np.int32))
    table = pa.table({"text": pa.DictionaryArray.from_arrays(indices, pa.array(["a b c"]))})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=rows, write_statistics=False)
    del table, indices
    tracemalloc.start()
    try:
        first = next(iter(opened(path, 1 << 16).partitions()))
        assert set(first.read(()).text.to_pylist()) == {"a b c"}
        assert tracemalloc.get_traced_memory()[1] < 50 << 20
    finally:
        tracemalloc.stop()


def test_frames_and_settings() -> None:
    table = pa.table({"text": ["a", "b" * 101]})
    with pytest.raises(FormatError, match="record 2: a text of more than 100 bytes"):
        neardup.dedup(table, max_document=100)
    with pytest.raises(FormatError, match="the list: record 2: a text of more than 100 bytes"):
        neardup.dedup(["a", "b" * 101], max_document=100)
    with pytest.raises(SpecError, match="`skip_large` is given for a frame"):
        neardup.dedup(table, max_document=100, skip_large=True)
    with pytest.raises(SpecError, match="expected at most 512 MiB"):
        neardup.dedup(table, max_document="1GB")
    with pytest.raises(SpecError, match="is not a size"):
        neardup.dedup(table, max_document="large")
    assert Columns().max_document == 256_000_000


def test_a_run_counts_them(tmp_path: Path, command: Any) -> None:
    path, out = made(tmp_path, "a.jsonl"), tmp_path / "out"
    answer = command("dedup", path, "-o", out, "--max-document", "1kB")
    assert answer.code == 1 and "line 12: a record of more than 1,000 bytes" in answer.error
    assert "--max-document" in answer.err and "--skip-large" in answer.err
    assert not out.exists()
    args = ("dedup", path, "-o", out, "--max-document", "1kB", "--skip-large", "--format", "csv")
    answer = command(*args, "--keep-run")
    assert answer.code == 0 and re.search("left out +3  documents above --max", answer.err)
    run = neardup.open(out)
    assert run.summary["counts"]["skipped"] == 3
    assert run.summary["counts"]["documents"] == len(FITTING)
    again = run.recluster(threshold=0.9, keep="longest")
    assert again.summary["counts"]["documents"] == len(FITTING)
    answer = command("dedup", path, "-o", out, "--resume", "--format", "csv", "--keep-run")
    assert answer.code == 1 and "max_document" in answer.err


def test_a_batch_and_an_index(
    tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, index = made(tmp_path, "a.csv"), tmp_path / "index"
    with neardup.Index.create(index) as found:
        with pytest.raises(FormatError, match="line 13: a record of more than 1,000 bytes"):
            found.add(path, max_document=LIMIT)
        new = neardup.against(path, found, max_document=LIMIT, skip_large=True)
    counts = new.summary["counts"]
    assert counts["skipped"] == 3 and counts["documents"] == len(FITTING)
    command("index", "add", index, path, "--max-document", "40kB")
    lines = "".join(json.dumps({"id": i, "text": "ab" * i}) + "\n" for i in (101, 102, 600, 103))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    answer = command("stream", "--index", index, "--max-document", "1kB")
    assert answer.code == 1 and "line 3 has more than 1,000 bytes" in answer.error
    assert [json.loads(line)["id"] for line in answer.out.splitlines()] == [101, 102]
