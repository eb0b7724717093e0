"""What can't be linked is refused in one clear line, which quotes no value."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import neardup
from common import SECRET, Command
from neardup.errors import (
    ColumnError,
    DuplicateIdError,
    EncodingError,
    FormatError,
    InputError,
    SpecError,
)

GOOD = {"id": ["1", "2", "3"], "name": ["anna bell", "ana bell", SECRET], "city": ["x", "", ""]}


def refused(kind: type[Exception], *args: Any, **settings: Any) -> str:
    settings = {"fields": ["name"], **settings}
    with pytest.raises(kind) as caught:
        neardup.link(*args, **settings)
    message = str(caught.value)
    assert "\n" not in message
    assert SECRET not in message
    return message


def test_a_field_that_is_missing_in_one_file() -> None:
    other = {"id": ["1"], "title": ["anna"]}
    assert refused(ColumnError, GOOD, other) == (
        "the second table: no column 'name'; there are 'id', 'title'"
    )


def test_doubled_ids() -> None:
    doubled = GOOD | {"id": ["1", "2", "1"]}
    message = refused(DuplicateIdError, doubled, id="id")
    assert message.startswith("the table: records 1 and 3 have the same 'id', as 1 of 3 records")


def test_a_missing_id() -> None:
    assert "record 2 has no id" in refused(InputError, GOOD | {"id": ["1", None, "3"]}, id="id")


def test_a_field_that_is_empty_in_most_records() -> None:
    run = neardup.link(GOOD, fields=["name", "city"], decide_at=0.5)
    assert run.notes[0] == "the table: the field 'city' is empty in 67% of the records"


def test_all_records_alike() -> None:
    message = refused(InputError, {"name": ["anna"] * 50})
    assert message == "the table: all 50 records are alike in the fields that are compared"


def test_no_values_at_all() -> None:
    assert "no record has a value" in refused(InputError, {"name": ["", None, " "]})


def test_tables_whose_strings_are_not_utf_8() -> None:
    raw = [f"{SECRET} bell".encode(), b"anna b\xffll", f"{SECRET} bel".encode()]
    damaged = pa.table({"name": pa.array(raw).view(pa.string())})
    said = "the table: record 2: column 'name' is not valid UTF-8 (byte 7 of the value)"
    assert refused(EncodingError, damaged) == said
    run = neardup.link(damaged, fields="name", encoding_errors="replace", decide_at=0.5)
    assert run.pairs.num_rows == 1


def test_a_weight_below_0() -> None:
    with pytest.raises(SpecError, match="weight of the field 'name' is -1; expected a number from"):
        neardup.Field("name", weight=-1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fields": []}, "`fields` names no field"),
        ({"fields": ["name", "name"]}, "`fields` names 'name' twice"),
        ({"fields": "name:fuzzy"}, "comparison of the field 'name' is 'fuzzy'; expected one of"),
        ({"fields": "name:text:much"}, "weight of the field 'name' is 'much'"),
        ({"fields": "name:text:0"}, "all fields have weight 0"),
        ({"fields": [3]}, "`fields` has a int"),
        ({"block_at": 0}, "`block_at` is 0"),
        ({"recall": 1}, "`recall` is 1"),
        ({"decide_at": "hill"}, "`decide_at` is 'hill'"),
        ({"similarity": "cosine"}, "similarity is 'cosine'"),
        ({"cluster": "bounded"}, "clustering of records is 'bounded'"),
        ({"one_to_one": True}, "`one_to_one` is for several files"),
        ({"threads": 0}, "`threads` is 0"),
    ],
)
def test_settings(settings: dict[str, Any], message: str) -> None:
    assert message in refused(SpecError, GOOD, **settings)


def test_columns_that_hold_lists() -> None:
    nested = pa.table({"name": [["anna"], ["bell"]]})
    assert "can't be compared" in refused(ColumnError, nested)


_NONE = "the input has no records"
_ONE = "the input has one record, and no other one to compare it with"


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("header.csv", "id,name,city\n", _NONE),
        ("none.csv", "", _NONE),
        ("none.jsonl", "", _NONE),
        ("one.csv", "id,name,city\n1,anna,x\n", _ONE),
    ],
)
def test_no_records_are_an_empty_result(
    name: str, text: str, note: str, tmp_path: Path, command: Command
) -> None:
    path, out, pairs = tmp_path / name, tmp_path / "out", tmp_path / "pairs.parquet"
    path.write_text(text, encoding="utf-8")
    records = int(note == _ONE)
    settings: dict[str, Any] = {"id": "id", "fields": ["name", "city:exact"]}
    assert neardup.blocks(path, **settings).notes == (note,)
    link = ("--id", "id", "--fields", "name,city:exact")
    done = command("link", path, *link, "-o", out, "--index", tmp_path / "index")
    assert done.code == 0 and note in done.err and "logarithmic" not in done.err
    run: Any = neardup.open(out)
    assert run.notes == neardup.link(path, **settings).notes == [note]
    assert (run.pairs.num_rows, run.clusters.num_rows) == (0, records)
    counts = run.summary["counts"]
    assert (counts["reduction_ratio"], counts["candidates_per_record"]) == (None, 0)
    assert command("report", out, "-o", tmp_path / "page.html").code == 0
    assert note in (tmp_path / "page.html").read_text(encoding="utf-8")
    truth = tmp_path / "truth.csv"
    truth.write_text("id_a,id_b\n1,2\n", encoding="utf-8")
    assert command("evaluate", out, "--truth", truth, "--missing", "skip").code == 0
    assert command("blocks", path, *link, "-o", pairs).err.endswith(f"note: {note}\n")
    truth.write_text("id_a,id_b\n", encoding="utf-8")
    assert "none" in command("evaluate", pairs, "--truth", truth).out
    people = {"id": ["7", "8"], "name": ["anna bell", "ana bell"], "city": ["", ""]}
    with neardup.RecordIndex.open(tmp_path / "index") as index:
        assert neardup.link(people, against=index).pairs.num_rows == 1
        before = index.clusters
        found = neardup.link(path, against=index) if not records else None
        assert found is None or note in found.notes
        assert index.clusters.equals(before) and not index.check()


def test_one_of_two_files_without_records() -> None:
    none: dict[str, Any] = {"name": []}
    both = {"name": ["anna bell", "anna bel"]}
    for files, note in (
        ((both, none), "the second table has no records"),
        ((none, both), "the first table has no records"),
        ((none, none), _NONE),
    ):
        run = neardup.link(*files, fields="name")
        assert run.notes == [note] and run.candidates.num_rows == 0
        assert run.evaluate([])["decision"]["brier"] is None
    # Its columns are known, and the field is none of these.
    assert "no column 'age'" in refused(ColumnError, none, fields="age")


def test_an_id_that_no_record_has() -> None:
    run = neardup.link(GOOD, id="id", fields=["name"], decide_at=0.5)
    with pytest.raises(InputError, match="no record has the id '9'"):
        run.explain("1", "9")
    with pytest.raises(InputError, match="has no document with the id"):
        run.evaluate([("1", "9")])
    assert run.evaluate([("1", "9"), ("1", "2")], missing="skip")["truth"]["skipped"] == 1


def test_a_series_has_one_field() -> None:
    run = neardup.link(pd.Series(GOOD["name"], name="full name"), fields="text")
    assert run.clusters.num_rows == 3
    assert "no column 'name'" in refused(ColumnError, pd.Series(GOOD["name"]), fields="name")


def test_commands(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"id,name\n1,anna\n2,{SECRET}\n1,otto\n", encoding="utf-8")
    link = ("link", path, "-o", tmp_path / "out", "--fields")
    assert "no column 'age'" in command(*link, "age").error
    assert "have the same 'id'" in command(*link, "name", "--id", "id").error
    assert command(*link, "name:text:-1").code == 2
    assert not (tmp_path / "out").exists()
    blocks = ("blocks", path, "--fields", "name", "-o", tmp_path / "pairs.xls")
    assert "no pairs can be written" in command(*blocks).error


def test_other_delimiters_and_encodings(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("id;name\n1;anna müller\n2;anna müler\n".encode("latin-1"))
    link = ("link", path, "-o", tmp_path / "out", "--fields", "name", "--decide-at", "0.3")
    shown = command(*link, "--encoding-errors", "replace").lines
    assert "no column 'name'; the only column is 'id;name'" in shown[0]
    assert shown[1] == "hint: --delimiter ';'"
    assert "not valid UTF-8" in command(*link, "--delimiter", ";").error
    settings = {"fields": "name", "id": "id", "delimiter": ";", "encoding_errors": "replace"}
    assert neardup.link(path, decide_at=0.3, **settings).pairs["id_b"].to_pylist() == ["2"]
    assert neardup.blocks(path, **settings).pairs.num_rows == 1
    options = ("--delimiter", ";", "--encoding-errors", "replace", "--id", "id")
    assert command(*link, *options).code == 0
    assert "`encoding_errors` is 'x'" in refused(SpecError, path, encoding_errors="x")


def test_large_records(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"id,name\n1,anna\n2,{SECRET * 20}\n3,anna\n", encoding="utf-8")
    limit = len(SECRET) * 10
    found = f"line 3: a record of more than {limit} bytes"
    assert found in refused(FormatError, path, max_document=limit)
    with pytest.raises(FormatError, match=found):
        neardup.blocks(path, fields="name", max_document=limit)
    link = ("link", path, "-o", tmp_path / "out", "--fields", "name", "--decide-at", "0.9")
    answer = command(*link, "--max-document", str(limit))
    assert answer.code == 1 and found in answer.error and SECRET not in answer.err
    assert "`max_document` is" in refused(SpecError, path, max_document="2GB")
    assert command(*link, "--max-document", "1kB").code == 0


def test_memory_is_checked_while_records_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may be small, and its records many."""
    indices = pa.array([0] * 2_000_000, pa.int32())
    table = pa.table({"name": pa.DictionaryArray.from_arrays(indices, pa.array(["ann bell"]))})
    message = refused(SpecError, table, memory="600MB")
    found = re.search(r"estimated: ([0-9,]+) records, or more", message)
    assert found and int(found[1].replace(",", "")) < 2_000_000
