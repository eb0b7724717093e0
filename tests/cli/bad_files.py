"""Inputs that can't be read: each makes its files, and says how the command is to end."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from common import SECRET, some_rows, write_lines

REPLACE = "--encoding-errors replace compares"
#: From a folder to the arguments of ``neardup dedup``, its exit code, and parts of what it says.
Case = tuple[list[Any], int, list[str]]
Make = Callable[[Path], Case]
FILES: dict[str, Make] = {}


def case(make: Make) -> Make:
    FILES[make.__name__.strip("_")] = make
    return make


def table(rows: int = 300) -> pa.Table:
    return pa.table({"id": range(rows), "text": [f"{SECRET} {i} {i * i}" for i in range(rows)]})


@case
def no_such_file(d: Path) -> Case:
    return [d / "nope.jsonl"], 1, ["nope.jsonl: no such file"]


@case
def no_match(d: Path) -> Case:
    return [d / "*.csv"], 1, ["*.csv: no file matches"]


@case
def an_empty_folder(d: Path) -> Case:
    (d / "none").mkdir()
    return [d / "none"], 1, ["none: no files in this folder"]


@case
def unknown_ending(d: Path) -> Case:
    (d / "notes.docx").write_text(SECRET)
    return [d / "notes.docx"], 1, ["notes.docx: unknown ending '.docx'", "pandoc -t plain"]


@case
def missing_text_column(d: Path) -> Case:
    path = write_lines(d / "a.jsonl", [{"id": 1, "body": SECRET}])
    return [path], 1, ["a.jsonl: no column 'text'; there are id, body", "--text"]


@case
def missing_id_column(d: Path) -> Case:
    pq.write_table(table(), d / "a.parquet")
    return [d / "a.parquet", "--id", "key"], 1, ["a.parquet: no column 'key'; there are id, text"]


@case
def missing_second_text_column(d: Path) -> Case:
    (d / "a.csv").write_text(f"text,id\n{SECRET},1\n")
    return [d / "a.csv", "--text", "text,body"], 1, ["a.csv: no column 'body'; there are text, id"]


@case
def missing_column_in_the_second_file(d: Path) -> Case:
    one = write_lines(d / "a.jsonl", some_rows())
    two = write_lines(d / "b.jsonl", [{"body": SECRET}])
    return [one, two], 1, ["b.jsonl: no column 'text'; there is body"]


@case
def missing_column_to_keep_by(d: Path) -> Case:
    path = write_lines(d / "a.jsonl", some_rows())
    return [path, "--keep", "max:stars"], 1, ["column", "'stars'", "quality"]


@case
def numbers_for_text(d: Path) -> Case:
    path = write_lines(d / "a.jsonl", [{"text": SECRET}, {"text": 12}])
    return [path], 1, ["a.jsonl: line 2: column 'text' is a number, expected a string"]


@case
def integers_for_text(d: Path) -> Case:
    pq.write_table(table(), d / "a.parquet")
    return (
        [d / "a.parquet", "--text", "id"],
        1,
        ["a.parquet: record 1: column 'id' has the type int64"],
    )


@case
def lists_for_text(d: Path) -> Case:
    feather.write_feather(pa.table({"text": [[SECRET]]}), d / "a.arrow")
    return (
        [d / "a.arrow"],
        1,
        ["a.arrow: record 1: column 'text' has the type list<", "expected strings"],
    )


@case
def malformed_json(d: Path) -> Case:
    lines = [json.dumps(row) for row in some_rows(9)]
    lines[6] = f'{{"text": "{SECRET}" "id": 3}}'
    (d / "a.jsonl").write_text("\n".join(lines))
    return [d / "a.jsonl"], 1, ["a.jsonl: line 7 is not valid JSON at character"]


@case
def malformed_json_far_behind(d: Path) -> Case:
    line = json.dumps({"text": " ".join(f"w{j}" for j in range(3000))})
    (d / "a.jsonl").write_text(f"{line}\n" * 1000 + f'{{"text": "{SECRET}\n')
    return [d / "a.jsonl"], 1, ["a.jsonl: line 1001 is not valid JSON"]


@case
def a_json_array(d: Path) -> Case:
    (d / "a.json").write_text(json.dumps([{"text": SECRET}]))
    return [d / "a.json"], 1, ["a.json: line 1 is a JSON array", "jq"]


@case
def a_json_string(d: Path) -> Case:
    (d / "a.jsonl").write_text(f'{{"text": "a"}}\n"{SECRET}"\n')
    return [d / "a.jsonl"], 1, ["a.jsonl: line 2 is a string, not an object"]


@case
def ragged_csv(d: Path) -> Case:
    (d / "a.csv").write_text(f"id,text\n1,a\n2,{SECRET},c\n")
    return [d / "a.csv"], 1, ["a.csv: line 3 has 3 fields, the header 2"]


@case
def an_open_quote(d: Path) -> Case:
    (d / "a.csv").write_text(f'id,text\n1,a\n2,"{SECRET}\n3,b\n')
    return [d / "a.csv"], 1, ["a.csv: a quote opened in line 3 is not closed"]


@case
def bad_utf8_in_json(d: Path) -> Case:
    (d / "a.jsonl").write_bytes(f'{{"text":"a"}}\n{{"text":"{SECRET} \xe4"}}\n'.encode("latin-1"))
    return [d / "a.jsonl"], 1, ["a.jsonl: not valid UTF-8 (line 2, byte ", REPLACE]


@case
def bad_utf8_in_csv(d: Path) -> Case:
    (d / "a.csv").write_bytes(f"id,text\n1,a\n2,{SECRET} \xe4\n".encode("latin-1"))
    return [d / "a.csv"], 1, ["a.csv: not valid UTF-8 (line 3, byte ", REPLACE]


@case
def bad_utf8_in_parquet(d: Path) -> Case:
    bad = pa.array([b"a", f"{SECRET} \xe4".encode("latin-1")]).view(pa.string())
    pq.write_table(pa.table({"text": bad}), d / "a.parquet")
    return [d / "a.parquet"], 1, ["a.parquet: record 2: column 'text' is not valid UTF-8"]


@case
def bad_utf8_in_a_text(d: Path) -> Case:
    (d / "a.txt").write_bytes(f"{SECRET} \xe4".encode("latin-1"))
    (d / "b.txt").write_text(SECRET)
    return [d / "a.txt", d / "b.txt"], 1, ["a.txt: not valid UTF-8"]


@case
def utf16(d: Path) -> Case:
    (d / "a.csv").write_bytes(f"id,text\n1,{SECRET}\n".encode("utf-16-le"))
    said = "a.csv: UTF-16 without a byte order mark"
    return [d / "a.csv"], 1, [said, "--encoding utf-16-le"]


@case
def truncated_gzip(d: Path) -> Case:
    whole = gzip.compress("".join(json.dumps(row) + "\n" for row in some_rows(99)).encode())
    (d / "a.jsonl.gz").write_bytes(whole[: len(whole) * 2 // 3])
    return [d / "a.jsonl.gz"], 1, ["a.jsonl.gz: the gzip data is cut off or damaged"]


@case
def no_gzip_at_all(d: Path) -> Case:
    (d / "a.csv.gz").write_text(f"text\n{SECRET}\n")
    return [d / "a.csv.gz"], 1, ["a.csv.gz: not compressed by gzip", "rename it to a.csv"]


@case
def truncated_zstd(d: Path) -> Case:
    raw = "".join(json.dumps(row) + "\n" for row in some_rows(99)).encode()
    whole = pa.Codec("zstd").compress(raw, asbytes=True)
    (d / "a.jsonl.zst").write_bytes(whole[: len(whole) * 2 // 3])
    return [d / "a.jsonl.zst"], 1, ["a.jsonl.zst: the zstd data is cut off or damaged"]


@case
def truncated_parquet(d: Path) -> Case:
    pq.write_table(table(), d / "a.parquet")
    raw = (d / "a.parquet").read_bytes()
    (d / "a.parquet").write_bytes(raw[: len(raw) * 2 // 3])
    return [d / "a.parquet"], 1, ["a.parquet: not Parquet, or cut off or damaged"]


@case
def parquet_with_damaged_pages(d: Path) -> Case:
    pq.write_table(table(), d / "a.parquet", compression="zstd")
    raw = bytearray((d / "a.parquet").read_bytes())
    raw[8 : len(raw) // 2] = bytes(len(raw) // 2 - 8)
    (d / "a.parquet").write_bytes(raw)
    return [d / "a.parquet"], 1, ["a.parquet: not Parquet, or cut off or damaged"]


@case
def truncated_arrow(d: Path) -> Case:
    feather.write_feather(table(), d / "a.arrow")
    raw = (d / "a.arrow").read_bytes()
    (d / "a.arrow").write_bytes(raw[: len(raw) * 2 // 3])
    return [d / "a.arrow"], 1, ["a.arrow: not Arrow IPC, or cut off or damaged"]


@case
def duplicate_ids(d: Path) -> Case:
    ids = ["a", "b", "c", "b", "a"]
    path = write_lines(d / "a.jsonl", [{"id": i, "text": SECRET} for i in ids])
    return [path, "--id", "id"], 1, ["a.jsonl: record 4 has the id 'b' that", "record 2 has too"]


@case
def duplicate_ids_in_two_files(d: Path) -> Case:
    (d / "a.csv").write_text(f"id,text\n7,{SECRET}\n8,x\n")
    (d / "b.csv").write_text(f"id,text\n9,{SECRET}\n8,x\n")
    what = f"b.csv: record 2 has the id '8' that {d / 'a.csv'}: record 2 has too, in column 'id'"
    return [d / "a.csv", d / "b.csv", "--id", "id"], 1, [what]


@case
def duplicate_ids_that_are_texts(d: Path) -> Case:
    path = write_lines(d / "a.jsonl", [{"text": SECRET}, {"text": SECRET}])
    return [path, "--id", "text"], 1, ["a.jsonl: record 2 has an id that", "record 1 has too"]


@case
def a_missing_id(d: Path) -> Case:
    path = write_lines(d / "a.jsonl", [{"id": 1, "text": "a"}, {"text": SECRET}])
    return [path, "--id", "id"], 1, ["a.jsonl: record 2 has no id in column 'id'"]


@case
def missing_column_to_order_by(d: Path) -> Case:
    path = write_lines(d / "a.jsonl", some_rows())
    return [path, "--order-by", "stars"], 1, ["no column 'stars'", "quality"]


@case
def a_column_of_the_name_of_one_that_is_added(d: Path) -> Case:
    path = write_lines(d / "a.jsonl", [{"text": SECRET, "kept": 1}])
    return [path, "--annotate"], 1, ["kept"]


@case
def the_name_of_a_folder_for_a_store(d: Path) -> Case:
    path = write_lines(d / "a.jsonl", some_rows())
    return [path, "--store", f"sqlite:{d / 'nowhere' / 'bands'}"], 1, ["nowhere"]


@case
def a_run_that_is_not_in_the_store(d: Path) -> Case:
    path = write_lines(d / "a.jsonl", some_rows())
    return [path, "--store", f"sqlite:{d / 'bands'}", "--run", "none"], 1, ["bands: has no run"]


@case
def ids_that_are_lists(d: Path) -> Case:
    pq.write_table(pa.table({"id": [[1], [2]], "text": ["a", "b"]}), d / "a.parquet")
    return [d / "a.parquet", "--id", "id"], 1, ["column 'id' has the type list<", "can't be an id"]


@case
def texts_and_tables(d: Path) -> Case:
    (d / "a.txt").write_text(SECRET)
    return [d / "a.txt", write_lines(d / "a.jsonl", some_rows())], 1, ["mixed"]


@case
def the_same_file_twice(d: Path) -> Case:
    path = write_lines(d / "a.jsonl", some_rows())
    return [path, path], 1, ["a.jsonl: given twice"]
