"""Ids that an index gives: greater than every integer that was an id."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import neardup
from neardup.errors import DuplicateIdError, InputError
from neardup.serve import messages
from neardup.serve.group_commit import Decider

SPEC = neardup.Spec(shingle=neardup.ShingleSpec(n=2), threshold=0.6, num_bands=8, rows=2)
LARGEST = 2**63 - 1


def text_of(number: int) -> str:
    return f"a{number} b{number} c{number} d{number}"


def given(index: neardup.Index, *numbers: int) -> list[Any]:
    """Add documents without ids; return those that they got."""
    found = index.add_if_new([text_of(number) for number in numbers])
    assert all(found.column("kept").to_pylist())
    return found.column("id").to_pylist()


@pytest.mark.parametrize("place", [None, "index"])
def test_ids_are_above_all_that_were_there(place: str | None, tmp_path: Path) -> None:
    index = neardup.Index.create(place and tmp_path / place, spec=SPEC)
    assert index.add_if_new([text_of(1)], ids=[-7]).num_rows == 1
    assert given(index, 2, 3) == [0, 1]
    index.add([text_of(4)], ids=[40])
    index.remove(40)
    assert given(index, 5) == [41]
    assert not index.add_if_new(90, text_of(5)).kept  # noted as a duplicate
    assert given(index, 6) == [91]
    with pytest.raises(DuplicateIdError):
        index.add([text_of(7), text_of(8)], ids=[200, 91])
    if place:
        index.close()
        index = neardup.Index.open(tmp_path / place)
    index.compact(purge=True)
    assert given(index, 7) == [92]
    assert index.add([text_of(8)], ids=[7]) == 1 and given(index, 9) == [93]
    assert index.check() == []


def test_no_id_wraps_around() -> None:
    index = neardup.Index.create(spec=SPEC)
    index.add([text_of(1)], ids=[LARGEST - 2])
    with pytest.raises(InputError, match="too few above it") as refused:
        index.add([text_of(2), text_of(3), text_of(4)])
    assert "id for each" in refused.value.hint
    assert given(index, 2, 3) == [LARGEST - 1, LARGEST]
    with pytest.raises(InputError, match="too few above it"):
        given(index, 4)
    assert index.add([]) == 0
    assert index.add([text_of(4)], ids=[5]) == 1 and len(index) == 4


def test_an_index_of_strings_gives_none() -> None:
    index = neardup.Index.create(spec=SPEC)
    index.add([text_of(1)], ids=["7"])
    for add in (index.add, index.add_if_new):
        with pytest.raises(InputError, match="ids of this index are strings"):
            add([text_of(2)])
    assert index.ids().to_pylist() == ["7"]


def test_ids_go_on_behind_those_of_a_run() -> None:
    texts = [text_of(number // 2) for number in range(6)]
    positions = neardup.Index.from_run(neardup.dedup(texts, threshold=0.6, shingle="word:2"))
    assert positions.ids().to_pylist() == [0, 2, 4]
    assert given(positions, 7, 8) == [6, 7]
    table = {"text": texts, "id": [9, 3, 5, 700, 1, 2]}
    run = neardup.dedup(table, id="id", threshold=0.6, shingle="word:2")
    assert given(neardup.Index.from_run(run), 7) == [701]


def test_merged_ids_count() -> None:
    index, other = (neardup.Index.create(spec=SPEC) for _ in range(2))
    other.add([text_of(1)], ids=[5])
    other.add_if_new(99, text_of(1))
    index.merge(other)
    assert given(index, 2) == [100]


def test_records_without_ids_follow_those_with(tmp_path: Path) -> None:
    run = neardup.link({"n": ["anna bell", "ann bell", "otto"]}, fields="n", decide_at=0.4)
    with run.index(tmp_path / "people.index") as index:
        neardup.link({"n": ["carl dorn"], "id": [12]}, id="id", against=index)
        for expected in (13, 14):
            neardup.link({"n": ["paula"]}, against=index)
            assert index.clusters["id"].to_pylist()[-1] == expected
        index.remove(14)
        neardup.link({"n": ["paula"]}, against=index)
        assert index.clusters["id"].to_pylist() == [0, 1, 2, 12, 13, 15]


def test_clients_with_ids_stop_none_without() -> None:
    """Also where a call of the group is refused, and its ids are not used."""
    decider = Decider(neardup.Index.create(spec=SPEC)._core, lambda: None)
    whats: list[Any] = [
        messages.New([3], [text_of(1)]),
        messages.New(None, [text_of(2), text_of(3)]),
        messages.New([50, 3], [text_of(4), text_of(5)]),  # refused: 3 has another text
        messages.Added(None, [text_of(6)], "error"),
        messages.New([2], [text_of(7)]),
        messages.New(None, [text_of(1)]),
    ]
    replies = decider([messages.WriteRequest(i, math.inf, what) for i, what in enumerate(whats)])
    found = [getattr(reply.what, "ids", None) for reply in replies]
    assert found == [[3], [4, 5], None, None, [2], [7]]
    assert isinstance(replies[2].what, messages.Failed)
