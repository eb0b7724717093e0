"""Calls that keep much in memory refuse too little before the work, and say what they need."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

import neardup
from neardup import memory_plan
from neardup.errors import SpecError

TEXTS = [f"some words of a text that has the number {n} and others behind it" for n in range(50)]
TABLE = pa.table({"id": list(range(50)), "text": TEXTS})


def against(memory: int) -> Any:
    old = neardup.dedup(TEXTS[:10])
    return neardup.against(TABLE, old, id="id", memory=memory, threads=2)


def decontaminate(memory: int) -> Any:
    return neardup.decontaminate(TABLE, TEXTS[:3], memory=memory, threads=2)


def link(memory: int) -> Any:
    return neardup.link(TABLE, id="id", fields="text", memory=memory, threads=2)


def dedup(memory: int) -> Any:
    return neardup.dedup(TABLE, id="id", memory=memory, threads=16)


@pytest.mark.parametrize("call", [against, decontaminate, link, dedup])
def test_too_little_memory_is_refused(call: Callable[[int], Any]) -> None:
    with pytest.raises(SpecError, match=r"`memory` is 1 MB; at least \d+ MB are needed") as found:
        call(10**6)
    needed = re.search(r"at least (\d+) MB", str(found.value))
    assert needed is not None and found.value.hint
    call(int(needed[1]) * 10**6)  # as much as was said suffices


def test_nothing_is_written_where_memory_is_refused(tmp_path: Path) -> None:
    for call in (
        lambda out: neardup.against(TABLE, neardup.dedup(TEXTS), memory="1MB", out=out),
        lambda out: neardup.decontaminate(TABLE, TEXTS, memory="1MB", out=out),
    ):
        with pytest.raises(SpecError, match="`memory` is 1 MB"):
            call(tmp_path / "out")
        assert not list(tmp_path.iterdir())


def test_an_old_run_is_not_read_before_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = neardup.dedup(TEXTS)
    monkeypatch.setattr("neardup.corpora.old_first.Both.decide", None)
    with pytest.raises(SpecError, match="`memory` is 1 MB"):
        neardup.against(TEXTS, old, memory="1MB")


@pytest.mark.long
def test_the_texts_of_an_old_run_count() -> None:
    needed = []
    for old in (["a b c d e f"] * 2, ["a long text " * 5_000_000, "another text"]):
        with pytest.raises(SpecError) as found:
            neardup.against(TABLE, neardup.dedup(old), memory="1MB")
        needed.append(int(re.findall(r"at least (\d+) MB", str(found.value))[0]))
    assert needed[1] >= needed[0] + 100  # twice 60 MB, less those of the short text


def test_records_of_an_index_count(tmp_path: Path) -> None:
    index = neardup.link(TABLE, id="id", fields="text").index(tmp_path / "index")
    new = {"id": [99], "text": ["a text"]}
    with pytest.raises(SpecError, match="`memory` is 1 MB"):
        neardup.link(new, against=index, memory="1MB")
    assert neardup.link(new, against=index, memory="4GB").clusters.num_rows == 1
    index.close()


@pytest.mark.parametrize(("limit", "found"), [("5000\n", 5000), ("max\n", None), (None, None)])
def test_the_limit_of_a_container_counts(
    limit: str | None, found: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.max"
    if limit is not None:
        path.write_text(limit)
    monkeypatch.setattr(memory_plan, "_LIMIT", path)
    expected = psutil.virtual_memory().total if found is None else found
    assert memory_plan.memory_of_machine() == expected
