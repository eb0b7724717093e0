"""Every valid Parquet file is read: encodings, codecs, types, and programs that write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_samples import opened, rows_of, texts_of

import neardup
from common import WRITES_VIEWS
from fuzz import parquet_files as files
from neardup.errors import ColumnError, EncodingError, FormatError

_WORDS = ["the quick brown fox jumps over the lazy dog"]
DELTA = ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]


def _check_all(cells: Any, folder: Path) -> int:
    count = 0
    for name, write in cells:
        path = folder / f"{name}.parquet"
        write(path)
        try:
            files.check(path)
        except Exception as error:
            raise AssertionError(f"{name}: {error}") from error
        count += 1
    return count


@pytest.mark.long
def test_files_of_arrow(tmp_path: Path) -> None:
    assert _check_all(files.cells_of_pyarrow(False), tmp_path) >= 50


@pytest.mark.long
def test_files_with_rare_types_and_pages(tmp_path: Path) -> None:
    assert _check_all(files.cells_of_oddities(), tmp_path) == 15


def test_files_of_duckdb(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    assert _check_all(files.cells_of_duckdb(False), tmp_path) == 18


def test_files_of_polars_and_pandas(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    pytest.importorskip("pandas")
    assert _check_all(files.cells_of_polars(False), tmp_path) == 8
    assert _check_all(files.cells_of_pandas(False), tmp_path) >= 2


def _lines(folder: Path, table: pa.Table) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


def _kinds(folder: Path) -> list[Path]:
    """Files in which a string column has what Arrow makes no dictionary of."""
    made = []
    for place in ("text", "other"):
        for kind in ("string", "dictionary"):
            table = files.table_of(kind, place).select(["id", "text", "other"])
            for encoding in (*DELTA, "fallback"):
                if encoding == "fallback":
                    how: dict[str, Any] = {"dictionary_pagesize_limit": 64}
                else:
                    how = {"use_dictionary": False, "column_encoding": {place: encoding}}
                made.append(folder / f"{place}-{kind}-{encoding}.parquet")
                pq.write_table(table, made[-1], row_group_size=50, **how)
    return made


def _pairs(run: neardup.LinkRun | neardup.Blocks) -> list[Any]:
    return run.pairs.to_pylist()


def _index(path: Path) -> Any:
    with neardup.Index.create(shingle="word:2") as index:
        index.add([path], id="id")
        return index.query(files.TEXTS[2:3]).to_pylist()


def _clusters(path: Path) -> Any:
    found = neardup.dedup(path, id="id", shingle="word:2").clusters
    return found.drop_columns(["file"]).to_pylist()


COMMANDS: dict[str, Callable[[Path], Any]] = {
    "dedup": _clusters,
    "passages": lambda path: neardup.passages(path, id="id", words=4).passages.to_pylist(),
    "plan": lambda path: neardup.plan(path, shingle="word:2").sampled,
    "decontaminate": lambda path: neardup.decontaminate(
        path, _WORDS, id="id", test_id=None
    ).matches.to_pylist(),
    "index": _index,
    "link": lambda path: _pairs(neardup.link(path, fields="text", id="id")),
    "blocks": lambda path: _pairs(neardup.blocks(path, fields="text", id="id")),
}


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_answer_as_from_json_lines(tmp_path: Path, command: str) -> None:
    do = COMMANDS[command]
    expected = do(
        _lines(tmp_path, files.table_of("string", "text").select(["id", "text", "other"]))
    )
    assert expected
    for path in _kinds(tmp_path):
        assert do(path) == expected, path.name


@pytest.mark.parametrize("kind", ["string", "dictionary"])
@pytest.mark.parametrize("encoding", DELTA)
def test_truth(tmp_path: Path, kind: str, encoding: str) -> None:
    run = neardup.dedup({"id": ["a", "b", "c"], "text": ["one two", "one two", "three"]}, id="id")
    ends = pa.array(["a", "b"]), pa.array(["b", "a"])
    columns = [array.dictionary_encode() if kind == "dictionary" else array for array in ends]
    how = {"use_dictionary": False, "column_encoding": {"a": encoding, "b": encoding}}
    pq.write_table(pa.table(columns, names=["a", "b"]), tmp_path / "truth.parquet", **how)  # type: ignore[arg-type]
    assert run.evaluate(tmp_path / "truth.parquet", columns=["a", "b"])["removed"]["recall"] == 1


@pytest.mark.parametrize("encoding", [*DELTA, "fallback"])
def test_clean_corpus_has_the_types_of_the_input(tmp_path: Path, encoding: str) -> None:
    table = files.table_of("dictionary", "text")
    path = tmp_path / "a.parquet"
    files._written(path, table, encoding, "text")
    neardup.dedup(path, id="id", out=tmp_path / "out")
    (clean,) = (tmp_path / "out" / "clean").iterdir()
    assert pq.read_schema(clean).types == table.schema.types
    kept = set(pq.read_table(clean).column("id").to_pylist())
    rows = [row for row in table.to_pylist() if row["id"] in kept]
    assert pq.read_table(clean).to_pylist() == rows


def test_what_differences_expand_to_counts(tmp_path: Path) -> None:
    """A value in DELTA_BYTE_ARRAY may have a few bytes in the file, and a megabyte in memory."""
    texts = ["word " * 4000 + str(row % 3) for row in range(2000)]
    path = tmp_path / "a.parquet"
    how = {"use_dictionary": False, "column_encoding": {"text": DELTA[0], "more": DELTA[0]}}
    pq.write_table(pa.table({"text": texts, "more": texts, "id": range(2000)}), path, **how)  # type: ignore[arg-type]
    assert path.stat().st_size < 1_000_000
    parts = list(opened(path, 1 << 20, id="id").partitions())
    assert len(parts) > 40  # of 80 MB
    found = parts[3].read(("id",))
    before = pa.total_allocated_bytes()
    records = parts[3].records(None, len(found.text), cached=found)
    assert pa.total_allocated_bytes() - before < 20 << 20
    rows = found.columns.column("id").to_pylist()
    assert isinstance(records, pa.Table)
    assert records.column("more").to_pylist() == [texts[row] for row in rows]


def test_repeated_values_of_the_type_dictionary_have_their_real_size(tmp_path: Path) -> None:
    for kind in (pa.string(), pa.large_string()):
        texts = pa.array(["words " * 3000, "other " * 3000] * 2000, kind).dictionary_encode()
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({"text": texts}), path)
        sizes = [part.read().text.nbytes for part in opened(path, 1 << 20).partitions()]
        assert sum(sizes) > 70_000_000 and max(sizes) < 4 << 20


@pytest.mark.parametrize(
    "kind",
    ["binary", "large_binary", pytest.param("binary_view", marks=WRITES_VIEWS), "dictionary"],
)
def test_texts_that_are_noted_as_bytes(tmp_path: Path, kind: str) -> None:
    """Some writers do not note that a column has strings."""
    texts = [*("ä text of eight words with one that differs " + w for w in "abab"), None, ""]
    array = pa.array([t if t is None else t.encode() for t in texts], pa.binary())
    column = array.dictionary_encode() if kind == "dictionary" else array.cast(kind)
    path, same = tmp_path / "a.parquet", tmp_path / "a.jsonl"
    pq.write_table(pa.table({"text": column, "born": column}), path)
    same.write_text("".join(json.dumps({"text": t, "born": t}) + "\n" for t in texts))
    for ask in (
        lambda source: neardup.dedup(source).clusters.drop_columns("file"),
        lambda source: neardup.passages(source, words=4).passages,
        lambda source: neardup.decontaminate(source, ["a text of eight words with one"]).matches,
        lambda source: neardup.link(source, fields=["text", "born"]).clusters,
    ):
        assert ask(path).equals(ask(same))
    run = neardup.dedup(path, out=tmp_path / "out")
    (clean,) = (tmp_path / "out/clean").iterdir()
    assert pq.read_schema(clean).field("text").type == pq.read_schema(path).field("text").type
    assert run.clean().column("text")[0].as_py() == texts[0]
    pq.write_table(pa.table({"text": [b"bad \xff"]}), path)
    with pytest.raises(EncodingError, match="record 1: column 'text' is not valid UTF-8"):
        neardup.dedup(path)


@pytest.mark.parametrize(
    ("column", "says"),
    [("a.b", None), ("text.more", None), ("Größe 漢", None), ("struct", "expected strings")],
)
def test_names_of_text_columns(tmp_path: Path, column: str, says: str | None) -> None:
    path = tmp_path / "a.parquet"
    (write,) = [write for name, write in files.cells_of_oddities() if name == "odd-delta"]
    write(path)
    for size in (8 << 20, 900):
        if says is None:
            assert texts_of(opened(path, size, text=column)) == [v or "" for v in files.OTHERS]
            continue
        with pytest.raises(ColumnError, match=says):
            texts_of(opened(path, size, text=column))


@pytest.mark.parametrize(
    "name", ["uint64", "decimal", "date", "nano", "zone", "bool", "double", "fixed", "half"]
)
def test_columns_of_all_types_are_ids_and_decide_the_order(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.parquet"
    (write,) = [write for cell, write in files.cells_of_oddities() if cell == "odd-packed"]
    write(path)
    expected = pq.read_table(path, columns=[name]).column(name).to_pylist()
    source = opened(path, 900, id=name)
    assert [row[name] for row in rows_of(source, (name,))] == expected
    run = neardup.dedup(path, keep="max:" + name, shingle="word:2")
    assert run.summary["counts"]["documents"] == files.COUNT


@pytest.mark.parametrize("name", ["list", "map", "struct"])
def test_nested_columns_are_no_ids(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.parquet"
    (write,) = [write for cell, write in files.cells_of_oddities() if cell == "odd-all"]
    write(path)
    with pytest.raises(ColumnError, match="which can't be an id"):
        neardup.dedup(path, id=name)
    with pytest.raises(ColumnError, match="which can't be compared"):
        neardup.dedup(path, keep="max:" + name)


def test_files_without_rows(tmp_path: Path) -> None:
    table = files.table_of("string", "text")
    for number, groups in enumerate(([], [0], [0, 0])):
        with pq.ParquetWriter(tmp_path / f"{number}.parquet", table.schema) as writer:
            for rows in groups:
                writer.write_table(table.slice(0, rows))
    assert texts_of(opened(tmp_path)) == []
    pq.write_table(table, tmp_path / "9.parquet")
    assert len(texts_of(opened(tmp_path, id="id"))) == files.COUNT


def test_folders_of_hive(tmp_path: Path) -> None:
    for year in (2023, 2024):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        files._written(folder / "a.parquet", files.table_of("string", "text"), DELTA[0], "text")
    found = rows_of(opened(tmp_path, 900, id="id", extra=("year",)), ("year",))
    assert [row["year"] for row in found] == ["2023"] * files.COUNT + ["2024"] * files.COUNT


def _with_codec(path: Path, codec: int) -> None:
    """Write Parquet whose notes name another codec than that of its pages."""
    pq.write_table(pa.table({"text": ["SECRET words"] * 9}), path, compression="brotli")
    raw = path.read_bytes()
    size = int.from_bytes(raw[-8:-4], "little")
    foot = raw[-8 - size :]
    at = foot.rindex(b"text\x15\x08") + 5
    path.write_bytes(raw[: -8 - size] + foot[:at] + bytes([2 * codec]) + foot[at + 1 :])


def test_what_arrow_can_not_do_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    _with_codec(path, 3)
    for do in (lambda: texts_of(opened(path)), lambda: neardup.link(path, fields="text")):
        with pytest.raises(FormatError, match=r"a\.parquet: .*LZO.*can't read") as caught:
            do()
        assert "zstd" in caught.value.hint and "damaged" not in str(caught.value)


def test_encrypted_files_are_named(tmp_path: Path) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[name-defined,misc]
        def wrap_key(self, key: bytes, name: str) -> bytes:
            return key.hex().encode()

        def unwrap_key(self, key: bytes, name: str) -> bytes:
            return bytes.fromhex(key.decode())

    factory = encryption.CryptoFactory(lambda _: Keys())
    for plain in (False, True):
        how = encryption.EncryptionConfiguration("k", column_keys={"l": ["text"]})
        how.plaintext_footer = plain
        properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), how)
        path = tmp_path / f"{plain}.parquet"
        table = pa.table({"text": ["SECRET"] * 9, "more": ["x"] * 9})
        with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
            writer.write_table(table)
        with pytest.raises(FormatError, match=r"encrypted Parquet, which is not read"):
            texts_of(opened(path))


def test_an_older_arrow_says_what_it_can_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neardup.io.formats import parquet

    monkeypatch.setattr(parquet, "_NO_DICTIONARIES", {})
    path = tmp_path / "a.parquet"
    files._written(path, files.table_of("dictionary", "text"), "dictionary", "text")
    assert len(texts_of(opened(path, 900))) == files.COUNT
    files._written(path, files.table_of("dictionary", "text"), DELTA[0], "text")
    with pytest.raises(FormatError, match="Not yet implemented: DecodeArrow") as caught:
        texts_of(opened(path))
    assert "newer pyarrow" in caught.value.hint and "damaged" not in str(caught.value)


def test_partitions_are_read_in_another_process(tmp_path: Path) -> None:
    import pickle

    for path in _kinds(tmp_path):
        for part in opened(path, 900).partitions():
            again = pickle.loads(pickle.dumps(part))
            count = len(part.read().text)
            rows = np.arange(0, count, 2)
            assert again.records(rows, count).equals(part.records(rows, count))
