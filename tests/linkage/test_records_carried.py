"""Marks of pairs of several files, in a linkage with other settings."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from made_records import NAMES, made_persons

import neardup
from common import core
from neardup.errors import InputError, UnknownIdError

#: Numbers of both records of a mark, and both names.
Named = dict[tuple[int, int], tuple[Any, Any]]
#: Columns of the ids, and whether they are private.
IDS = [(None, False), ("id", False), ("row", False), ("row", True)]


@pytest.fixture(scope="module")
def files() -> list[pa.Table]:
    """Three files: ``id`` is there once, ``row`` is in each of them."""
    table, _ = made_persons(450, seed=2, near=0.4)
    parts = [table.slice(0, 150), table.slice(150, 160), table.slice(310)]
    return [one.append_column("row", pa.array(np.arange(len(one)) * 3)) for one in parts]


def by_page(run: neardup.LinkRun, folder: Path) -> Named:
    """Pairs that a page has for marking."""
    page = run.report(folder / "page.html", overwrite=True).read_text(encoding="utf-8")
    data = page.partition('id="data">')[2].partition("</script>")[0]
    pairs = [one["pair"] for one in json.loads(data)["items"] if one["pair"]]
    return {(a, b): (x, y) for (a, x), (b, y) in pairs}


def by_table(run: neardup.LinkRun, folder: Path) -> Named:
    """Doubtful pairs, of a linkage that was saved."""
    saved = run.save(folder / "run", overwrite=True)
    found, every = saved.doubtful(limit=30), run._linked.blocked.candidates
    rows = np.argsort(np.abs(run._linked.decision.margin(run.decide_at)), kind="stable")[:30]
    numbers = zip(every.a[rows].tolist(), every.b[rows].tolist(), strict=True)
    names = zip(found["id_a"].to_pylist(), found["id_b"].to_pylist(), strict=True)
    return dict(zip(numbers, names, strict=True))


@pytest.mark.parametrize("count", core([2, 3], 2))
@pytest.mark.parametrize("ids", core(IDS, IDS[0]))
def test_marks_are_of_the_same_records(
    files: list[pa.Table], tmp_path: Path, ids: tuple[str | None, bool], count: int
) -> None:
    how: dict[str, Any] = {"fields": NAMES[:3], "id": ids[0], "private_ids": ids[1]}
    link = functools.partial(neardup.link, *files[:count], **how)
    for across in (True, False):
        run = link(across_files_only=across)
        of = run._linked.blocked.records.file
        for pairs in (by_page(run, tmp_path), by_table(run, tmp_path)):
            crossing = {two: name for two, name in pairs.items() if of[two[0]] != of[two[1]]}
            assert len(crossing) >= 10 and (crossing == pairs) is across
            for other in (True, False):
                marked = crossing if other else pairs
                rows = [f"{a},{b},{str(not k).lower()}" for k, (a, b) in enumerate(marked.values())]
                labels = tmp_path / "labels.csv"
                labels.write_text("\n".join(["id_a,id_b,duplicate", *rows, ""]))
                found = link(labels=labels, across_files_only=other)._linked.decision.labels
                assert found is not None and not found.match[1:].all()
                assert {*zip(found.a.tolist(), found.b.tolist(), strict=True)} == {*marked}


def test_marks_that_are_of_other_records(files: list[pa.Table]) -> None:
    """None is read as those of other records without a word."""
    link = functools.partial(neardup.link, *files[:2], fields=NAMES[:3])
    marks = [(5, 7, True)]
    assert link(labels=marks)._linked.decision.labels.a.tolist() == [5]
    for id in (None, "row"):
        with pytest.raises(UnknownIdError, match="no record with the id") as wrong:
            link(labels=[(6, 9, True)], across_files_only=False, id=id)
        assert "are a:17 and b:4" in wrong.value.hint
    with pytest.raises(InputError, match="1 pair of two records of one file"):
        link(labels=[("b:1", "b:2", True)])
    for marks in ([("a:5", "b:7", True), (6, 9, False)], [(2**70, 7, True)]):
        with pytest.raises(UnknownIdError, match="no record with the id"):
            link(labels=marks)
    with pytest.raises(InputError, match="a row without its second id"):
        link(labels=[(5, 7, True), (6, None, False)])
    with pytest.raises(InputError, match="`labels`: row 2 has no id_a"):
        link(labels=[(5, 7, True), (None, 6, False)])
    one = {"id": ["x", "a:x"], "name": ["Anna Schmidt", "Otto Maier"]}
    two = {"id": ["x", "b:x"], "name": ["Anna Schmitt", "Otto Maier"]}
    with pytest.raises(InputError, match="of other records by ids than by FILE:ID"):
        neardup.link(one, two, fields="name", id="id", labels=[("a:x", "b:x", True)])
    run = neardup.link(one, two, fields="name", id="id", decide_at=0.5)
    assert run.explain("a:a:x", "b:b:x")["match"] and run.explain("a:x", "b:x")["match"]


@pytest.mark.parametrize("where", core([None, "people.index"], "people.index"))
def test_an_index_of_several_files_takes_the_marks_of_its_linkage(
    files: list[pa.Table], tmp_path: Path, where: str | None
) -> None:
    """Positions keep the letters of their files, and each file that comes later has one."""
    run = neardup.link(*files[:2], fields=NAMES[:3], across_files_only=False)
    index = run.index(where and tmp_path / where)
    assert index.clusters["id"].to_pylist() == run.clusters["id"].to_pylist()
    a, b = (run.doubtful(limit=1)[name][0].as_py() for name in ("id_a", "id_b"))
    index.mark([(a, b, True), ("a:0", "b:1", False)])
    assert index.explain(a, b)["match"] and not index.explain("a:0", "b:1")["match"]
    more = [
        neardup.link(part, against=index) for part in (files[2].slice(0, 4), files[2].slice(4, 3))
    ]
    assert [one.clusters["id"].to_pylist() for one in more] == [
        ["c:0", "c:1", "c:2", "c:3"],
        ["d:0", "d:1", "d:2"],
    ]
    index.mark([("c:1", "d:2", True)])
    assert index.explain("c:1", "d:2")["match"]
    index.remove("d:2")
    assert neardup.link(files[2].slice(7, 1), against=index).clusters["id"].to_pylist() == ["e:0"]
    assert not index.check()


def test_letters_that_are_taken_are_left_out(files: list[pa.Table]) -> None:
    index = neardup.link(*files[:2], fields=NAMES[:3], across_files_only=False).index()
    named = files[2].slice(0, 1).set_column(0, "id", pa.array(["c:0"]))
    neardup.link(named, against=index, id="id")
    more = [neardup.link(files[2].slice(k, 1), against=index) for k in (1, 2)]
    assert [one.clusters["id"].to_pylist() for one in more] == [["d:0"], ["e:0"]]
    with pytest.raises(InputError) as wrong:
        more[0].explain("z:0", "z:1")
    assert "with the letters of their files, such as " in wrong.value.hint


@pytest.mark.parametrize("empty", [0, 1])
def test_an_index_of_a_file_and_an_empty_one_counts_on(files: list[pa.Table], empty: int) -> None:
    given = [files[0], files[0].slice(0, 0)]
    first, second = given[empty], given[1 - empty]
    index = neardup.link(first, second, fields=NAMES[:3], across_files_only=False).index()
    more = neardup.link(files[1].slice(0, 2), against=index)
    assert more.clusters["id"].to_pylist() == [150, 151]


def test_an_index_of_one_file_counts_on(files: list[pa.Table]) -> None:
    index = neardup.link(files[0], fields=NAMES[:3]).index()
    assert neardup.link(files[1].slice(0, 2), against=index).clusters["id"].to_pylist() == [
        150,
        151,
    ]
