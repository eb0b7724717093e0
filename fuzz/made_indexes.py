"""Indexes that are damaged, and what they are asked: of texts, of copied passages, of records."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import neardup
from neardup.errors import NeardupError, UnknownIdError
from neardup.synth.persons import PersonSpec, persons
from neardup.tuning import TUNING

KINDS = ("texts", "passages", "records")
_FIELDS = ["given_name", "surname", "birth:digits", "street", "suburb", "postcode"]
#: Documents of the first session; those that come later.
_FIRST, _LATER = 700, 160
_WORDS = [f"word{i}" for i in range(3000)]


class Made(NamedTuple):
    """An index at several times.

    Attributes:
        older: Its folder after the first session.
        folders: By name: its folder after the last session, and during it, with a log of SQLite.
        expected: The answers of each.
    """

    older: Path
    folders: dict[str, Path]
    expected: dict[str, dict[str, Any]]


@functools.cache
def texts() -> list[str]:
    """Texts of which each seventh repeats most of one before it."""
    rng = np.random.default_rng(5)
    found: list[str] = []
    for i in range(_FIRST + 2 * _LATER):
        words = rng.choice(_WORDS, 40).tolist()
        if i % 7 == 6:
            words = found[int(rng.integers(i))].split()[:38] + words[:2]
        found.append(" ".join(words))
    return found


@functools.cache
def _people() -> pa.Table:
    return persons(PersonSpec(300, 3))


#: Segments and merges of few documents.
_SMALL = {"logged_documents": 200, "logged_keys": 4000, "batched_keys": 4000}


@functools.cache
def made(kind: str) -> Made:
    """Make an index in three sessions, and ask it."""
    place = Path(tempfile.mkdtemp(prefix="neardup-fuzz-"))
    folder, older = place / "index", place / "older"
    folders = {name: place / name for name in ("closed", "open")}
    with TUNING.replaced(**_SMALL):
        first, second, third = (_record_sessions if kind == "records" else _text_sessions)(kind)
        first(folder)
        shutil.copytree(folder, older)
        with _opened(kind, folder) as index:
            second(index)
        with _opened(kind, folder) as index:
            third(index)
            shutil.copytree(folder, folders["open"], ignore=shutil.ignore_patterns("*-shm"))
        shutil.copytree(folder, folders["closed"])
    expected = {}
    for name, path in folders.items():
        copy = shutil.copytree(path, place / "asked")
        expected[name] = answers(kind, copy)
        shutil.rmtree(copy)
        assert not any(isinstance(answer, NeardupError) for answer in expected[name].values())
    return Made(older, folders, expected)


def _opened(kind: str, folder: Path, readonly: bool = False) -> Any:
    if kind == "records":
        return neardup.RecordIndex.open(folder, readonly=readonly)
    return neardup.Index.open(folder, readonly=readonly, durable="process")


def _id(kind: str, number: int) -> int | str:
    return number if kind == "texts" else f"note {number}"


def _text_sessions(kind: str) -> list[Callable[[Any], None]]:
    every = texts()
    ids = [_id(kind, number) for number in range(len(every))]

    def first(folder: Path) -> None:
        passages = 5 if kind == "passages" else None
        with neardup.Index.create(folder, threshold=0.6, passages=passages) as index:
            index.add_if_new(every[:300], ids=ids[:300])
            index.add_if_new(every[300:_FIRST], ids=ids[300:_FIRST])

    def second(index: neardup.Index) -> None:
        if kind == "texts":
            kept = index.ids().to_pylist()
            index.remove([*kept[3:300:20], *kept[-9:-2]])
            index.update(kept[10], every[-1])
        index.add_if_new(every[_FIRST : _FIRST + 60], ids=ids[_FIRST : _FIRST + 60])

    def third(index: neardup.Index) -> None:
        for number in range(_FIRST + 60, _FIRST + 80):
            index.add_if_new(ids[number], every[number])
        if kind == "texts":
            kept = index.ids().to_pylist()
            index.remove([kept[33], kept[-4]])

    return [first, second, third]


def _record_sessions(kind: str) -> list[Callable[[Any], None]]:
    people = _people()

    def first(folder: Path) -> None:
        neardup.link(people.slice(0, 250), id="id", fields=_FIELDS).index(folder).close()

    def second(index: neardup.RecordIndex) -> None:
        neardup.link(people.slice(250, 30), against=index)
        index.remove(people["id"].slice(40, 8).to_pylist())

    def third(index: neardup.RecordIndex) -> None:
        neardup.link(people.slice(280, 15), against=index)
        index.remove(people["id"].slice(90, 3).to_pylist())

    return [first, second, third]


def answers(kind: str, folder: Path) -> dict[str, Any]:
    """Ask an index, then write to it and ask again; return the answers, or errors, by name.

    After an error of a call that writes, no more are made.
    """
    found: dict[str, Any] = {}
    asked = _of_records if kind == "records" else _of_texts
    for readonly in (True, False):
        try:
            with _opened(kind, folder, readonly) as index:
                for name, call in asked(kind, index, readonly):
                    name = name if readonly else f"then {name}"
                    try:
                        found[name] = call()
                    except NeardupError as error:
                        found[name] = error
                        if not readonly:
                            break
        except NeardupError as error:
            found["open" if readonly else "then open"] = error
    return found


def _unless_unknown(call: Callable[[Any], Any], id_: Any) -> Any:
    try:
        return call(id_)
    except UnknownIdError:
        return "unknown"


_Calls = Iterator[tuple[str, Callable[[], Any]]]


def _of_texts(kind: str, index: neardup.Index, readonly: bool) -> _Calls:
    every = texts()
    ids = [_id(kind, number) for number in range(len(every))]
    if not readonly:
        new = slice(_FIRST + 60, _FIRST + _LATER)  # some are there, with the same text
        yield "add_if_new", lambda: index.add_if_new(every[new], ids=ids[new]).to_pylist()
        if kind == "texts":
            some = every[-40:-20]
            yield "add_if_new without ids", lambda: index.add_if_new(some).to_pylist()
            yield "remove", lambda: [_unless_unknown(index.remove, id_) for id_ in ids[5:600:7]]
            yield "update", lambda: repr(index.update(ids[2], every[-3]))
    yield "len", lambda: len(index)
    yield "ids", lambda: index.ids().to_pylist()
    yield "get", lambda: [_unless_unknown(index.get, id_) for id_ in ids]
    yield "contains", lambda: [id_ in index for id_ in ids[::9]]
    yield "query", lambda: index.query(every[::2]).to_pylist()
    yield "query of one", lambda: [index.query(text).to_pylist() for text in every[6:900:70]]
    yield "first_matches", lambda: index.first_matches(every[::3]).to_pylist()
    yield "buckets", lambda: sorted(map(sorted, index.buckets()))
    names = ("documents", "duplicates", "removed", "pending")
    yield "stats", lambda: [index.stats()[name] for name in names if readonly]
    if kind == "passages":
        yield "copied", lambda: index.copied(every[::3]).to_pylist()
    if not readonly:
        yield "compact", index.compact
        yield "query after it", lambda: index.query(every[::2]).to_pylist()


def _of_records(kind: str, index: neardup.RecordIndex, readonly: bool) -> _Calls:
    people = _people()
    ids = people["id"].to_pylist()

    def linked(first: int, count: int) -> Any:
        run = neardup.link(people.slice(first, count), against=index)
        return run.clusters.to_pylist(), run.pairs.to_pylist()

    def explained(a: int, b: int) -> Any:
        try:
            return repr(index.explain(ids[a], ids[b]))
        except UnknownIdError:
            return "unknown"

    if not readonly:
        yield "link", lambda: linked(295, 30)
        yield "remove", lambda: [_unless_unknown(index.remove, ids[i]) for i in (1, 41, 200, 281)]
        yield "link again", lambda: linked(325, 10)
        yield "update", lambda: index.update(people.slice(20, 4)).clusters.to_pylist()
    yield "len", lambda: len(index)
    yield "clusters", lambda: index.clusters.to_pylist()
    yield "explain", lambda: [explained(a, b) for a, b in ((0, 1), (3, 252), (281, 30), (285, 288))]
    yield "stats", lambda: [index.stats()[name] for name in ("records", "clusters", "learnt_from")]
