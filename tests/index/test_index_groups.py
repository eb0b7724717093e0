"""An index within groups: its answers are those of `dedup` with ``within``, whatever asks it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import made_corpora
import numpy as np
import pyarrow as pa
import pytest

import neardup
from common import Command, write_lines
from neardup import Index, Spec
from neardup.errors import ArgumentError, ColumnError, DuplicateIdError, RecipeError, SpecError
from neardup.testing import small_corpora

SPEC = Spec(threshold=0.4, within="group").replace(n=2)
SAME = "one and the same text of seven words"


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return small_corpora.random_documents(np.random.default_rng(31), 300)


@pytest.fixture(scope="module")
def expected(rows: pa.Table) -> list[Any]:
    return answers(neardup.dedup(rows, id="id", spec=SPEC).clusters)


def answers(table: pa.Table) -> list[Any]:
    columns = ["kept", "duplicate_of", "similarity"]
    return [tuple(row[name] for name in columns) for row in table.to_pylist()]


def columns_of(rows: pa.Table) -> dict[str, list[Any]]:
    """Texts, ids and groups; None is a missing group."""
    found = rows.to_pydict()
    return {**found, "text": [text or "" for text in found["text"]]}


@pytest.mark.parametrize("how", ["jsonl", "csv", "parquet"])
def test_files(rows: pa.Table, expected: list[Any], how: str, tmp_path: Path) -> None:
    path = made_corpora.write(rows, tmp_path / "in", how, 3)
    with Index.create(tmp_path / "i", spec=SPEC) as index:
        assert answers(index.add_if_new(path, id="id")) == expected
        assert index.check() == []


def test_texts_with_their_groups(rows: pa.Table, expected: list[Any]) -> None:
    given = columns_of(rows)
    for groups in (given["group"], pa.array(given["group"]), np.array(given["group"], object)):
        index = Index.create(spec=SPEC)
        assert answers(index.add_if_new(given["text"], ids=given["id"], group=groups)) == expected
    index, found = Index.create(spec=SPEC), []
    for text, id_, group in zip(given["text"], given["id"], given["group"], strict=True):
        similar = index.first_matches(text, group=group or "")
        one = index.add_if_new(id_, text, group=group or "")
        assert index.is_duplicate(text, group=group or "") == bool(text.split() and group)
        assert similar["id"].to_pylist() == ([one.duplicate_of] if one.duplicate_of else [])
        assert index.get(one.duplicate_of or id_) in (text, index.get(one.duplicate_of or id_))
        found.append((one.kept, one.duplicate_of, one.similarity))
    assert found == expected


@pytest.mark.parametrize("store_text", [True, False])
def test_copies_of_an_index(rows: pa.Table, store_text: bool, tmp_path: Path) -> None:
    first = Index.create(tmp_path / "i", spec=SPEC, store_text=store_text)
    first.add(rows, id="id")
    found = first.query(rows, id="id")
    assert found.num_rows > 300
    merged = Index.create(spec=SPEC, store_text=False)
    assert merged.merge(first) == 300
    first.backup(tmp_path / "copy")
    for index in (merged, Index.open(tmp_path / "copy")):
        assert index.query(rows, id="id").equals(found)
        index.compact()
        assert index.query(rows, id="id").equals(found)
        assert index.check() == []
    with pytest.raises(RecipeError, match="within"):
        Index.create(spec=SPEC.replace(within="other")).merge(first)


def test_an_index_of_a_run(rows: pa.Table, expected: list[Any], tmp_path: Path) -> None:
    path = made_corpora.write(rows.slice(0, 150), tmp_path / "in", "jsonl", 2)
    run = neardup.dedup(path, id="id", spec=SPEC, out=tmp_path / "out")
    for index in (Index.from_run(run), Index.from_run(tmp_path / "out", tmp_path / "i")):
        assert index.recipe == run.recipe
        batch = neardup.against(rows.slice(150), index, id="id")
        assert answers(batch.clusters) == expected[150:]
        none = sum(not group for group in rows["group"].to_pylist()[150:])
        assert (
            f"{none} documents have no group; those without are compared with none" in batch.notes
        )
        assert answers(index.add_if_new(rows.slice(150), id="id")) == expected[150:]


def test_the_command(
    rows: pa.Table,
    expected: list[Any],
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def streamed(data: bytes) -> Any:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        return command("stream", "--index", index)

    lines = [{k: row[k] for k in ("id", "text", "group")} for row in rows.to_pylist()]
    path, index = write_lines(tmp_path / "x.jsonl", lines), str(tmp_path / "i")
    how = ("--within", "group", "--shingle", "word:2", "--threshold", "0.4")
    assert command("index", "create", index, *how, "--quiet").code == 0
    done = streamed(path.read_bytes())
    assert answers(pa.Table.from_pylist(list(map(json.loads, done.out.splitlines())))) == expected
    found = command("index", "query", index, str(path), "--id", "id")
    with Index.open(index, readonly=True) as opened:
        table = opened.query(path, id="id")
    assert [json.loads(line) for line in found.out.splitlines()] == table.to_pylist()
    for bad, what in (
        ('{"id": "new", "text": "a b"}', "line 1 has no field 'group'"),
        ('{"id": "new", "text": "a b", "group": 1.5}', "line 1: the value of 'group' forms no"),
        ('{"id": "new", "text": "a b", "group": ["a"]}', "line 1: the value of 'group' forms no"),
        ('{"id": "new", "text": "a b", "group": "\\ud800"}', "the group has half a surrogate"),
        (f'{{"id": "new", "text": "a b", "group": {2**70}}}', "type int in 'group' forms no group"),
    ):
        assert what in streamed(bad.encode()).lines[0]
    for number, group in enumerate(('"a"', "7", "true", "null", '""')):
        line = f'{{"id": "new{number}", "text": "never seen w{number}", "group": {group}}}'
        assert streamed(line.encode()).code == 0
    done = command("index", "query", index, str(path), "--within", "group")
    assert done.lines[0].startswith("error: no --within here: an index has the settings")


def test_values() -> None:
    """Equal values are one group in whatever type they come."""
    index = Index.create(spec=SPEC)
    index.add([SAME] * 4, ids=[1, 2, 3, 4], group=[7, "true", "A", None])
    for group, ids in ((7, [1]), ("7", [1]), ("007", []), (True, [2]), ("a", []), ("", [])):
        assert index.query(SAME, group=group)["id"].to_pylist() == ids
    assert index.query([SAME, SAME], group=["A", 7])["id"].to_pylist() == [3, 1]
    assert index.query([SAME, SAME], group=7)["id"].to_pylist() == [1, 1]
    assert index.query(pa.array([SAME]), group=pa.array(["A"]))["id"].to_pylist() == [3]
    assert [index.get(n) for n in (1, 2, 3, 4)] == [SAME] * 4
    with pytest.raises(DuplicateIdError, match="another text"):
        index.add_if_new(1, SAME, group=8)
    assert index.add_if_new(1, SAME, group="7").kept
    answer = index.update(1, SAME, group="A", if_new=True)
    assert (answer.kept, answer.duplicate_of) == (False, 3)


def test_an_explanation() -> None:
    index = Index.create(spec=SPEC)
    index.add([SAME, SAME], ids=["a", "b"], group=["x", None])
    assert index.explain(SAME, "a", group="x").duplicates
    for id_, group in (("a", "y"), ("a", ""), ("b", "")):
        found = index.explain(SAME, id_, group=group)
        assert (found.similarity, found.duplicates, found.other_group) == (1.0, False, True)


def test_baskets() -> None:
    index = Index.create(shingle="item", within="of", threshold=0.5)
    index.add([["a", "b"], ["a", "b"]], ids=["p", "q"], group=["x", "y"])
    assert index.query(["a", "b"], group="y")["id"].to_pylist() == ["q"]
    assert index.get("p") == ["a", "b"]
    assert index.explain(["a", "b"], "p", group="x").duplicates


def test_what_is_refused(tmp_path: Path) -> None:
    index, plain = Index.create(spec=SPEC), Index.create()
    table = pa.table({"text": [SAME], "group": ["a"]})
    calls: list[Any] = [
        lambda i, **o: i.add([SAME], **o),
        lambda i, **o: i.add("a", SAME, **o),
        lambda i, **o: i.add_if_new([SAME], **o),
        lambda i, **o: i.add_if_new("a", SAME, **o),
        lambda i, **o: i.query(SAME, **o),
        lambda i, **o: i.first_matches([SAME], **o),
        lambda i, **o: i.is_duplicate(SAME, **o),
        lambda i, **o: i.explain(SAME, "a", **o),
        lambda i, **o: i.update("a", SAME, **o),
    ]
    for call in calls:
        with pytest.raises(SpecError, match="compares within 'group', and no `group` is given"):
            call(index)
        with pytest.raises(SpecError, match="`group` is given, and this index has no groups"):
            call(plain, group="x")
        with pytest.raises(SpecError, match="there are 2 groups and 1 texts"):
            call(index, group=["a", "b"])
        for value in (1.5, b"a", {"a": 1}, 2**70, "\ud800", [1.5], [["a"]], object()):
            with pytest.raises((ColumnError, SpecError), match="group"):
                call(index, group=value)
    with pytest.raises(SpecError, match="tables have the column"):
        index.add(table, group="a")
    with pytest.raises(ColumnError, match="group"):
        index.add(table.drop(["group"]))
    with pytest.raises(ColumnError, match="group"):
        index.query(write_lines(tmp_path / "x.jsonl", [{"text": SAME}]))
    with pytest.raises(SpecError, match="`passages` of an index come from all documents"):
        Index.create(within="group", passages=25)
    with pytest.raises(SpecError, match="`within`"):
        Index.create(within="")
    with pytest.raises(ArgumentError, match="a string was given"):
        index.add("a", group="a")
    assert len(index) == 0
