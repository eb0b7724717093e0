"""Texts by position, without going through the source: the same as by going through it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.corpus import Corpus, columnar, open_corpus, pages
from neardup.corpus.pages import column_rows
from neardup.corpus.thrift import read_struct, write_struct
from neardup.errors import EncodingError, FormatError, InputError, InputNotFoundError

from .conftest import texts_of
from .test_same_texts import FILES, frame, made

SMALL = 1000
COMPRESSED = [name for name in FILES if name.endswith((".gz", ".zst"))]
PLAIN = [name for name in FILES if name not in COMPRESSED and name != "stream.arrow"]


def chunks_of(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """Ends and sizes of the chunks, as a run keeps them."""
    found = [(len(chunk.read().text), chunk.size) for chunk in corpus.chunks()]
    counts, sizes = zip(*found, strict=True)
    return np.cumsum(counts, dtype=np.int64), np.array(sizes, dtype=np.int64)


def check(corpus: Corpus) -> None:
    """Every document by itself, and many together."""
    texts = texts_of(corpus)
    ends, sizes = chunks_of(corpus)
    assert len(ends) > 1
    for docs in [*([i] for i in range(len(texts))), range(0, len(texts), 3), range(len(texts)), []]:
        found = corpus.fetch(np.array(list(docs), dtype=np.int64), ends, sizes)
        assert found == [texts[doc] for doc in docs]


@pytest.mark.parametrize("name", PLAIN)
def test_each_format(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_SMALL", 0)
    check(open_corpus(made(tmp_path, name), chunk_bytes=SMALL))


def test_texts_by_file(tmp_path: Path) -> None:
    for i in range(30):
        (tmp_path / f"{i:02}.txt").write_text(f"text {i}" * i, newline="")
    check(open_corpus(tmp_path, chunk_bytes=SMALL))


def test_several_files_of_several_kinds(tmp_path: Path) -> None:
    """An empty one among them, a byte order mark, no newline at the end, blank lines."""
    long = "text " * 30
    rows = "".join(f'{{"text": "{long}{i}"}}\n' for i in range(40))
    (tmp_path / "a.jsonl").write_text(rows.rstrip("\n"))
    (tmp_path / "b.jsonl").write_text("")
    (tmp_path / "c.jsonl").write_bytes(b"\xef\xbb\xbf\n" + rows.encode() + b"\n\n")
    records = "".join(f'{i},"{long}\n""{i}"\n' for i in range(40))
    (tmp_path / "d.csv").write_bytes(b"\xef\xbb\xbfn,text\n" + records.encode())
    (tmp_path / "e.tsv").write_text("text\tn\n" + "".join(f"{long}{i}\t{i}\n" for i in range(40)))
    check(open_corpus(tmp_path, chunk_bytes=SMALL))


def test_what_has_to_be_gone_through(tmp_path: Path) -> None:
    """Compressed files, streams, frames, tables of several families, a blank line at the end."""
    one = np.zeros(1, dtype=np.int64)
    sources: list[Any] = [made(tmp_path, name) for name in [*COMPRESSED, "stream.arrow"]]
    blank = tmp_path / "blank.csv"
    blank.write_text("text\nsome text\n\n\n")
    both = [tmp_path / "x.parquet", tmp_path / "x.jsonl"]
    pq.write_table(pa.table({"text": ["a"]}), both[0])
    both[1].write_text('{"text": "b"}\n')
    for source in [*sources, both, frame("arrow")]:
        corpus = open_corpus(source)
        assert corpus.fetch(one, *chunks_of(corpus)) is None
    corpus = open_corpus(blank)
    found = corpus.fetch(one, *chunks_of(corpus))
    assert found is None or found == texts_of(corpus)[:1]


def test_a_source_that_has_other_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "b"]}), path)
    corpus = open_corpus(path)
    for ends in ([3], [1]):
        with pytest.raises(FormatError, match="has changed"):
            corpus.fetch(np.array([0]), np.array(ends), np.array([path.stat().st_size]))
    corpus = open_corpus(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match=r"a\.parquet"):
        corpus.fetch(np.array([0]), np.array([2]), np.array([1]))
    path.unlink()
    with pytest.raises(InputNotFoundError, match=r"a\.parquet"):
        corpus.fetch(np.array([0]), np.array([2]), np.array([1]))


def test_invalid_text_is_replaced_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "good"}\n{"text": "b\xffd"}\n')
    where = (np.array([1]), np.array([2]), np.array([path.stat().st_size]))
    assert open_corpus(path, encoding_errors="replace").fetch(*where) == ["b\ufffdd"]
    with pytest.raises(EncodingError, match="line 2"):
        open_corpus(path).fetch(*where)


def test_several_text_columns_and_nulls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_SMALL", 0)
    table = pa.table(
        {
            "a": [None if i % 7 == 3 else f"a {i}" for i in range(500)],
            "n": [[i] for i in range(500)],
            "b": pa.array(["x", "y", None, "z"] * 125).dictionary_encode(),
        }
    )
    for name in ("t.parquet", "t.arrow"):
        if name == "t.parquet":
            pq.write_table(table, tmp_path / name, row_group_size=300, data_page_size=500)
        else:
            with pa.ipc.new_file(tmp_path / name, table.schema) as writer:
                writer.write_table(table, max_chunksize=90)
        corpus = open_corpus(tmp_path / name, text=["b", "a"], chunk_bytes=SMALL)
        texts = texts_of(corpus)
        found = corpus.fetch(np.arange(0, 500, 17), *chunks_of(corpus))
        assert found == texts[::17]


SETTINGS = itertools.product(
    (True, False), ("snappy", "none", "zstd", "gzip"), ("1.0", "2.0"), (True, False)
)


@pytest.mark.parametrize(("dictionary", "compression", "version", "index"), list(SETTINGS))
def test_pages_of_parquet(
    tmp_path: Path,
    dictionary: bool,
    compression: str,
    version: str,
    index: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows by pages are those of the column, however it was written; none is decoded whole."""
    monkeypatch.setattr(pages, "_SMALL", 0)
    texts = [
        None if i % 7 == 3 else f"t {i % 50 if i < 900 else i} " * (i % 40) for i in range(3000)
    ]
    table = pa.table({"n": [[1, 2]] * 3000, "text": texts, "id": range(3000)})
    if index:
        table = table.set_column(1, "text", table["text"].cast(pa.large_string()))
    path = tmp_path / "t.parquet"
    pq.write_table(
        table,
        path,
        use_dictionary=dictionary,
        compression=compression,
        data_page_version=version,
        data_page_size=2000,
        dictionary_pagesize_limit=5000,
        row_group_size=1700,
        write_page_index=index,
        write_page_checksum=index,
    )
    check_pages(path, texts, monkeypatch)


def test_pages_of_another_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_SMALL", 0)
    texts = [None if i % 7 == 3 else f"text {i} " * (i % 40) for i in range(3000)]
    for statistics in (True, False):
        polars.DataFrame({"n": [[1]] * 3000, "text": texts}).write_parquet(
            tmp_path / "p.parquet",
            row_group_size=2000,
            data_page_size=2000,
            statistics=statistics,
        )
        check_pages(tmp_path / "p.parquet", texts, monkeypatch)


def check_pages(path: Path, texts: list[str | None], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the column is decoded as a whole")

    with pq.ParquetFile(path) as file, monkeypatch.context() as patch:
        patch.setattr(file, "read_row_group", refuse)
        first = 0
        for group in range(file.metadata.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            for rows in ([0], [count - 1], [3, 4, 500, count - 2], [10, 11, 12]):
                found = column_rows(str(path), file, group, "text", np.array(rows))
                assert found.to_pylist() == [texts[first + row] for row in rows]
            first += count


def test_strange_pages_are_left_to_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_SMALL", 0)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"text": ["a", "b"]}), path)

    def strange(*_: Any) -> None:
        raise KeyError(5)

    monkeypatch.setattr(pages, "_pages", strange)
    with pq.ParquetFile(path) as file:
        assert column_rows(str(path), file, 0, "text", np.array([1])).to_pylist() == ["b"]


def test_footers_come_back_as_they_were(tmp_path: Path) -> None:
    """Read and written again, a footer is the same bytes."""
    path = tmp_path / "t.parquet"
    table = pa.table({f"c{i}": [i, None, i] for i in range(20)} | {"b": [True, False, None]})
    pq.write_table(
        table,
        path,
        row_group_size=1,
        write_page_index=True,
        sorting_columns=[
            pq.SortingColumn(0),
            pq.SortingColumn(3, descending=True, nulls_first=True),
        ],
    )
    raw = path.read_bytes()
    footer = raw[-8 - int.from_bytes(raw[-8:-4], "little") : -8]
    struct, end = read_struct(footer)
    assert end == len(footer)
    assert write_struct(struct) == footer
    for cut in range(0, len(footer), 61):
        with pytest.raises((IndexError, ValueError)):
            read_struct(footer[:cut])


def test_large_groups_are_split_and_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "_LARGE_GROUP", 100)
    monkeypatch.setattr(pages, "_SMALL", 0)
    table = pa.table({"text": [f"t{i} " * 9 for i in range(250)]})
    pq.write_table(table, tmp_path / "a.parquet")
    check(open_corpus(tmp_path / "a.parquet", chunk_bytes=SMALL))


def test_one_text(tmp_path: Path) -> None:
    from neardup.corpus import read_text

    path = tmp_path / "note[1].md"
    path.write_bytes(b"\xef\xbb\xbfa text\r\n")
    assert read_text(path, 100) == "a text\r\n"
    with pytest.raises(InputError, match=r"note\[1\]\.md: larger than 0 MiB"):
        read_text(path, 5)
    with pytest.raises(InputError, match="is a folder"):
        read_text(tmp_path, 5)
    with pytest.raises(InputNotFoundError, match=r"no\*pe"):
        read_text(tmp_path / "no*pe", 5)
    path.write_bytes(b"caf\xe9")
    with pytest.raises(EncodingError, match="byte 4"):
        read_text(path, 100)
    assert read_text(path, 100, "replace") == "caf\ufffd"
