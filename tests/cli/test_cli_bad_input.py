"""Every kind of bad input: one clear line, exit code 1 or 2, and an output that is not touched."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from common import SECRET, Command, files_of, some_rows, write_lines

Make = Callable[[Path], tuple[list[Any], int, list[str]]]
CASES: dict[str, Make] = {}


def case(make: Make) -> Make:
    CASES[make.__name__.strip("_")] = make
    return make


def table(rows: int = 300) -> pa.Table:
    return pa.table({"id": range(rows), "text": [f"{SECRET} {i} {i * i}" for i in range(rows)]})


@case
def no_such_file(d: Path) -> tuple[list[Any], int, list[str]]:
    return [d / "nope.jsonl"], 1, ["nope.jsonl: no such file"]


@case
def no_match(d: Path) -> tuple[list[Any], int, list[str]]:
    return [d / "*.csv"], 1, ["*.csv: no file matches"]


@case
def an_empty_folder(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "none").mkdir()
    return [d / "none"], 1, ["none: no files in this folder"]


@case
def unknown_ending(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "notes.docx").write_text(SECRET)
    return [d / "notes.docx"], 1, ["notes.docx: unknown ending '.docx'", "--input-format"]


@case
def missing_text_column(d: Path) -> tuple[list[Any], int, list[str]]:
    path = write_lines(d / "a.jsonl", [{"id": 1, "body": SECRET}])
    return [path], 1, ["a.jsonl: no column 'text'; there are id, body", "--text"]


@case
def missing_id_column(d: Path) -> tuple[list[Any], int, list[str]]:
    pq.write_table(table(), d / "a.parquet")
    return [d / "a.parquet", "--id", "key"], 1, ["a.parquet: no column 'key'; there are id, text"]


@case
def missing_second_text_column(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.csv").write_text(f"text,id\n{SECRET},1\n")
    return [d / "a.csv", "--text", "text,body"], 1, ["a.csv: no column 'body'; there are text, id"]


@case
def missing_column_in_the_second_file(d: Path) -> tuple[list[Any], int, list[str]]:
    one = write_lines(d / "a.jsonl", some_rows())
    two = write_lines(d / "b.jsonl", [{"body": SECRET}])
    return [one, two], 1, ["b.jsonl: no column 'text'; there is body"]


@case
def missing_column_to_keep_by(d: Path) -> tuple[list[Any], int, list[str]]:
    path = write_lines(d / "a.jsonl", some_rows())
    return [path, "--keep", "max:stars"], 1, ["column", "'stars'", "quality"]


@case
def numbers_for_text(d: Path) -> tuple[list[Any], int, list[str]]:
    path = write_lines(d / "a.jsonl", [{"text": SECRET}, {"text": 12}])
    return [path], 1, ["a.jsonl: line 2: column 'text' is a number, expected a string"]


@case
def integers_for_text(d: Path) -> tuple[list[Any], int, list[str]]:
    pq.write_table(table(), d / "a.parquet")
    return [d / "a.parquet", "--text", "id"], 1, ["a.parquet: column 'id' holds int64, expected"]


@case
def lists_for_text(d: Path) -> tuple[list[Any], int, list[str]]:
    feather.write_feather(pa.table({"text": [[SECRET]]}), d / "a.arrow")
    return [d / "a.arrow"], 1, ["a.arrow: column 'text' holds list<", "expected strings"]


@case
def malformed_json(d: Path) -> tuple[list[Any], int, list[str]]:
    lines = [json.dumps(row) for row in some_rows(9)]
    lines[6] = f'{{"text": "{SECRET}" "id": 3}}'
    (d / "a.jsonl").write_text("\n".join(lines))
    return [d / "a.jsonl"], 1, ["a.jsonl: line 7 is not valid JSON at character"]


@case
def malformed_json_far_behind(d: Path) -> tuple[list[Any], int, list[str]]:
    line = json.dumps({"text": " ".join(f"w{j}" for j in range(3000))})
    (d / "a.jsonl").write_text(f"{line}\n" * 1000 + f'{{"text": "{SECRET}\n')
    return [d / "a.jsonl"], 1, ["a.jsonl: line 1001 is not valid JSON"]


@case
def a_json_array(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.json").write_text(json.dumps([{"text": SECRET}]))
    return [d / "a.json"], 1, ["a.json: line 1 is a JSON array", "jq"]


@case
def a_json_string(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.jsonl").write_text(f'{{"text": "a"}}\n"{SECRET}"\n')
    return [d / "a.jsonl"], 1, ["a.jsonl: line 2 is a string, not an object"]


@case
def ragged_csv(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.csv").write_text(f"id,text\n1,a\n2,{SECRET},c\n")
    return [d / "a.csv"], 1, ["a.csv: line 3 has 3 fields, the header 2"]


@case
def an_open_quote(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.csv").write_text(f'id,text\n1,a\n2,"{SECRET}\n3,b\n')
    return [d / "a.csv"], 1, ["a.csv: a quote opened in line 3 is not closed"]


@case
def bad_utf8_in_json(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.jsonl").write_bytes(f'{{"text":"a"}}\n{{"text":"{SECRET} \xe4"}}\n'.encode("latin-1"))
    return [d / "a.jsonl"], 1, ["a.jsonl: line 2 is not valid UTF-8", "--encoding-errors replace"]


@case
def bad_utf8_in_csv(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.csv").write_bytes(f"id,text\n1,a\n2,{SECRET} \xe4\n".encode("latin-1"))
    return [d / "a.csv"], 1, ["a.csv: line 3", "not valid UTF-8", "--encoding-errors replace"]


@case
def bad_utf8_in_parquet(d: Path) -> tuple[list[Any], int, list[str]]:
    bad = pa.array([b"a", f"{SECRET} \xe4".encode("latin-1")]).view(pa.string())
    pq.write_table(pa.table({"text": bad}), d / "a.parquet")
    return [d / "a.parquet"], 1, ["a.parquet: record 2: column 'text' is not valid UTF-8"]


@case
def bad_utf8_in_a_text(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.txt").write_bytes(f"{SECRET} \xe4".encode("latin-1"))
    return [d / "a.txt"], 1, ["a.txt: not valid UTF-8"]


@case
def utf16(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.csv").write_bytes(f"id,text\n1,{SECRET}\n".encode("utf-16"))
    return [d / "a.csv"], 1, ["a.csv: the file is UTF-16"]


@case
def truncated_gzip(d: Path) -> tuple[list[Any], int, list[str]]:
    whole = gzip.compress("".join(json.dumps(row) + "\n" for row in some_rows(99)).encode())
    (d / "a.jsonl.gz").write_bytes(whole[: len(whole) * 2 // 3])
    return [d / "a.jsonl.gz"], 1, ["a.jsonl.gz: the gzip data is cut off or damaged"]


@case
def no_gzip_at_all(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.csv.gz").write_text(f"text\n{SECRET}\n")
    return [d / "a.csv.gz"], 1, ["a.csv.gz: the gzip data is cut off or damaged"]


@case
def truncated_zstd(d: Path) -> tuple[list[Any], int, list[str]]:
    raw = "".join(json.dumps(row) + "\n" for row in some_rows(99)).encode()
    whole = pa.Codec("zstd").compress(raw, asbytes=True)
    (d / "a.jsonl.zst").write_bytes(whole[: len(whole) * 2 // 3])
    return [d / "a.jsonl.zst"], 1, ["a.jsonl.zst: the zstd data is cut off or damaged"]


@case
def truncated_parquet(d: Path) -> tuple[list[Any], int, list[str]]:
    pq.write_table(table(), d / "a.parquet")
    raw = (d / "a.parquet").read_bytes()
    (d / "a.parquet").write_bytes(raw[: len(raw) * 2 // 3])
    return [d / "a.parquet"], 1, ["a.parquet: not Parquet, or cut off or damaged"]


@case
def parquet_with_damaged_pages(d: Path) -> tuple[list[Any], int, list[str]]:
    pq.write_table(table(), d / "a.parquet", compression="zstd")
    raw = bytearray((d / "a.parquet").read_bytes())
    raw[8 : len(raw) // 2] = bytes(len(raw) // 2 - 8)
    (d / "a.parquet").write_bytes(raw)
    return [d / "a.parquet"], 1, ["a.parquet: not Parquet, or cut off or damaged"]


@case
def truncated_arrow(d: Path) -> tuple[list[Any], int, list[str]]:
    feather.write_feather(table(), d / "a.arrow")
    raw = (d / "a.arrow").read_bytes()
    (d / "a.arrow").write_bytes(raw[: len(raw) * 2 // 3])
    return [d / "a.arrow"], 1, ["a.arrow: not Arrow IPC, or cut off or damaged"]


@case
def duplicate_ids(d: Path) -> tuple[list[Any], int, list[str]]:
    ids = ["a", "b", "c", "b", "a"]
    path = write_lines(d / "a.jsonl", [{"id": i, "text": SECRET} for i in ids])
    return [path, "--id", "id"], 1, ["a.jsonl: record 4 has the id 'b' of record 2 in column 'id'"]


@case
def duplicate_ids_in_two_files(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.csv").write_text(f"id,text\n7,{SECRET}\n8,x\n")
    (d / "b.csv").write_text(f"id,text\n9,{SECRET}\n8,x\n")
    what = f"b.csv: record 2 has the id 8 of {d / 'a.csv'}: record 2 in column 'id'"
    return [d / "a.csv", d / "b.csv", "--id", "id"], 1, [what]


@case
def duplicate_ids_that_are_texts(d: Path) -> tuple[list[Any], int, list[str]]:
    path = write_lines(d / "a.jsonl", [{"text": SECRET}, {"text": SECRET}])
    return [path, "--id", "text"], 1, ["a.jsonl: record 2 has the id of record 1 in column 'text'"]


@case
def a_missing_id(d: Path) -> tuple[list[Any], int, list[str]]:
    path = write_lines(d / "a.jsonl", [{"id": 1, "text": "a"}, {"text": SECRET}])
    return [path, "--id", "id"], 1, ["a.jsonl: record 2 has no id in column 'id'"]


@case
def ids_that_are_lists(d: Path) -> tuple[list[Any], int, list[str]]:
    pq.write_table(pa.table({"id": [[1], [2]], "text": ["a", "b"]}), d / "a.parquet")
    return [d / "a.parquet", "--id", "id"], 1, ["column 'id' holds list<", "can't be an id"]


@case
def an_empty_file(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.jsonl").touch()
    return [d / "a.jsonl"], 1, ["no documents"]


@case
def only_a_header(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.csv").write_text("id,text\n")
    return [d / "a.csv"], 1, ["no documents"]


@case
def an_empty_table(d: Path) -> tuple[list[Any], int, list[str]]:
    pq.write_table(table(0), d / "a.parquet")
    return [d / "a.parquet"], 1, ["no documents"]


@case
def texts_and_tables(d: Path) -> tuple[list[Any], int, list[str]]:
    (d / "a.txt").write_text(SECRET)
    return [d / "a.txt", write_lines(d / "a.jsonl", some_rows())], 1, ["mixed"]


@case
def the_same_file_twice(d: Path) -> tuple[list[Any], int, list[str]]:
    path = write_lines(d / "a.jsonl", some_rows())
    return [path, path], 1, ["a.jsonl: given twice"]


def setting(*options: Any, says: str) -> Make:
    return lambda d: ([write_lines(d / "a.jsonl", some_rows()), *options], 2, [says])


CASES |= {
    "edge-above-1": setting("--edge-threshold", 1.5, says="edge threshold is 1.5; expected"),
    "edge-0": setting("--edge-threshold", 0, says="edge threshold is 0.0; expected"),
    "edge-nan": setting("--edge-threshold", "nan", says="edge threshold is nan; expected"),
    "edge-word": setting("--edge-threshold", "high", says="'--edge-threshold'"),
    "tree-negative": setting("--tree-threshold", -0.1, says="tree threshold is -0.1; expected"),
    "tree-above-edge": setting(
        "--edge-threshold", 0.5, "--tree-threshold", 0.6, says="0.6 is above the edge threshold 0.5"
    ),
    "edge-below-preset-tree": setting("--edge-threshold", 0.3, says="below the preset's tree"),
    "recall-1": setting("--recall", 1, says="recall is 1.0; expected"),
    "bands-alone": setting("--bands", 9, says="bands and rows must be given together"),
    "rows-alone": setting("--rows", 9, says="bands and rows must be given together"),
    "bands-0": setting("--bands", 0, "--rows", 1, says="bands is 0; expected"),
    "too-many-hashes": setting("--bands", 4096, "--rows", 64, says="at most 8192"),
    "bands-and-recall": setting("--bands", 9, "--rows", 3, "--recall", 0.9, says="exclude each"),
    "shingle": setting("--shingle", "words:5", says="expected word:N or char:N"),
    "shingle-0": setting("--shingle", "word:0", says="shingle length is 0"),
    "stem": setting("--stem", "klingon", says="no stemmer for 'klingon'"),
    "stem-char": setting("--shingle", "char:3", "--stem", "english", says="unit is char"),
    "raw-word": setting("--raw", says="raw needs the unit char"),
    "keep": setting("--keep", "best", says="keep is 'best'; expected first"),
    "keep-nothing": setting("--keep", "max:", says="keep is 'max:'; expected first"),
    "seed": setting("--seed", -1, says="seed is -1"),
    "threads": setting("--threads", 0, says="--threads"),
    "text-twice": setting("--text", "text,text", says="twice"),
    "option": setting("--nonsense", says="--nonsense"),
    "preset": setting("--preset", "legal", says="--preset"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("there", [False, True], ids=["new", "overwrite"])
def test_bad_input(name: str, there: bool, tmp_path: Path, command: Command) -> None:
    args, code, said = CASES[name](tmp_path)
    out = tmp_path / "deep" / "out"
    if there:
        out.mkdir(parents=True)
        (out / "clusters.parquet").write_bytes(b"of an earlier run")
        (out / "mine.txt").write_bytes(b"of the user")
        args = [*args, "--overwrite"]
    before = files_of(tmp_path)
    answer = command("dedup", *args, "-o", out)
    assert answer.error
    assert answer.code == code, answer.err
    assert answer.out == ""
    for part in said:
        assert part in answer.err
    assert files_of(tmp_path) == before
    assert out.exists() == there and (tmp_path / "deep").exists() == there


def test_out_exists(notes: Path, tmp_path: Path, command: Command) -> None:
    for name, make in {
        "folder": lambda p: p.mkdir(),
        "file": lambda p: p.write_text("mine"),
        "link": lambda p: p.symlink_to(tmp_path / "nowhere"),
    }.items():
        out = tmp_path / name
        make(out)
        answer = command("dedup", notes, "-o", out)
        assert answer.code == 1
        assert f"{out} exists" in answer.error
    assert (tmp_path / "file").read_text() == "mine"
    answer = command("dedup", notes, "-o", tmp_path / "file", "--overwrite")
    assert answer.code == 1 and "is not a folder" in answer.error
    answer = command("dedup", notes, "-o", tmp_path / "file" / "out")
    assert answer.code == 1 and "is not a folder that can be written to" in answer.error
    answer = command("dedup", notes, "-o", tmp_path / ("x" * 300))
    assert answer.code == 1 and "name too long" in answer.error


def test_an_input_is_never_replaced(tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name, format in (("clean.jsonl", "jsonl"), ("clean.jsonl", "parquet")):
        path = write_lines(out / name, some_rows())
        before = files_of(out)
        answer = command("dedup", path, "-o", out, "--overwrite", "--format", format)
        assert answer.code == 1 and "is an input" in answer.error
        assert files_of(out) == before


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "txt"])
def test_encoding_errors_replace(kind: str, tmp_path: Path, command: Command) -> None:
    path = tmp_path / f"a.{kind}"
    texts = [b"one fine text", b"caf\xe9 \xff au lait", b"caf\xe9 noir"]
    if kind == "jsonl":
        path.write_bytes(b"".join(b'{"text":"' + t + b'"}\n' for t in texts))
    elif kind == "csv":
        path.write_bytes(b"text\n" + b"\n".join(texts) + b"\n")
    elif kind == "parquet":
        pq.write_table(pa.table({"text": pa.array(texts).view(pa.string())}), path)
    else:
        path = tmp_path / "texts"
        path.mkdir()
        for i, text in enumerate(texts):
            (path / f"{i}.txt").write_bytes(text)
    out = tmp_path / "out"
    answer = command("dedup", path, "-o", out, "--encoding-errors", "replace")
    assert answer.code == 0, answer.err
    assert json.loads((out / "run.json").read_text())["counts"]["encoding_replaced"] == 2
    (line,) = [line for line in answer.lines if line.startswith("replaced")]
    assert line.split()[1] == "2"
    clean = pq.read_table(out / "clean.parquet")["text"].to_pylist()
    assert clean == [t.decode(errors="replace") for t in texts]


def test_null_and_odd_texts(tmp_path: Path, command: Command) -> None:
    texts = [
        None,
        "",
        "bell \x07 escape \x1b[31m and \x00 nul",
        "שלום עולם \u202e abc",
        "👩‍👩‍👧 😀 👍🏽",
        "e\u0301 a\u0308",
        "漢字かな交じり文です",
        "\u200b",
        "漢字かな交じり文です",
        None,
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    out = tmp_path / "out"
    answer = command("dedup", path, "-o", out, "--format", "jsonl")
    assert answer.code == 0, answer.err
    counts = json.loads((out / "run.json").read_text())["counts"]
    assert counts["documents"] == len(texts)
    assert counts["removed"] == counts["exact_duplicates"] == 1
    assert counts["empty"] >= 3
    rows = [json.loads(line) for line in (out / "clean.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == [*texts[:8], None]


def test_debug_shows_the_traceback(tmp_path: Path, command: Command) -> None:
    answer = command("dedup", tmp_path / "nope.jsonl", "-o", tmp_path / "out", "--debug")
    assert answer.code == 1
    assert answer.lines[0].startswith("Traceback ")
    assert any(line.startswith("error: ") for line in answer.lines)
    answer = command("dedup", tmp_path, "-o", tmp_path / "out", "--rows", "x", "--debug")
    assert answer.code == 2
    assert answer.lines[0].startswith("Traceback ")


@pytest.mark.parametrize(
    "raised",
    [
        ValueError(f"{SECRET} is odd"),
        pa.ArrowInvalid(f"can't parse {SECRET}"),
        OSError(5, SECRET),
        KeyError(SECRET),
        MemoryError(),
        RecursionError(),
    ],
    ids=repr,
)
def test_what_nobody_foresaw(
    raised: Exception, notes: Path, tmp_path: Path, command: Command, monkeypatch: Any
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise raised

    monkeypatch.setattr("neardup.api.run", fail)
    answer = command("dedup", notes, "-o", tmp_path / "out")
    assert answer.code == 1
    assert answer.error
    if not isinstance(raised, MemoryError):
        assert "--debug" in answer.err
    assert not (tmp_path / "out").exists()
    answer = command("dedup", notes, "-o", tmp_path / "out", "--debug")
    assert "Traceback" in answer.err


def test_usage(command: Command) -> None:
    for args in (["dedup"], []):
        answer = command(*args)
        assert answer.code in (0, 2)
        assert answer.err.startswith("Usage: ") or answer.out.startswith("Usage: ")
    for args in (["nothing"], ["dedup", "a"], ["dedup", "-o", "a"]):
        answer = command(*args)
        assert answer.code == 2
        assert "--help" in answer.lines[1]
        assert answer.error
    assert command("--version").code == 0
    assert command("--help").code == 0


def test_a_name_can_not_break_the_line(tmp_path: Path, command: Command) -> None:
    answer = command("dedup", tmp_path / "two\nlines\x1b[2J.jsonl", "-o", tmp_path / "out")
    assert answer.code == 1
    assert "two\\nlines\\x1b[2J.jsonl" in answer.error


def test_a_real_process(tmp_path: Path) -> None:
    from cli_process import NEARDUP

    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "{SECRET}" oops\n')
    done = subprocess.run(
        [*NEARDUP, "dedup", path, "-o", tmp_path / "out"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "a.jsonl: line 1 is not valid JSON" in done.stderr
    assert len(done.stderr.splitlines()) <= 2 and SECRET not in done.stderr
