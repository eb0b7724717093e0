"""A record that is damaged is refused by its key, or nothing changes: by whatever opens a folder."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import Command, some_rows, write_lines
from neardup.errors import InputError, NeardupError

Keys = tuple[str | int, ...]
Make = Callable[[Path, Path], object]


def _decontaminated(here: Path, out: Path) -> object:
    how: dict[str, Any] = {"id": "id", "out": out, "progress": False}
    return neardup.decontaminate(here / "notes.jsonl", here / "more.jsonl", **how)


def _copied(here: Path, out: Path) -> object:
    how: dict[str, Any] = {"id": "id", "by": "date", "order_by": "date", "progress": False}
    cut = {"cut": True, "boilerplate": 3, "drop_above": 0.9}
    old = here / "more.jsonl"
    return neardup.passages(here / "notes.jsonl", words=10, against=old, out=out, **cut, **how)


def _linked(here: Path, out: Path) -> object:
    run = neardup.link(here / "people.csv", id="rec_id", fields=["name", "born"], progress=False)
    return run.save(out)


def _dedup(here: Path, out: Path, **how: Any) -> neardup.Run:
    return neardup.dedup(here / "notes.jsonl", id="id", out=out, progress=False, **how)


#: How a folder of each command is made.
MADE: dict[str, Make] = {
    "dedup": _dedup,
    "pairs": lambda here, out: _dedup(
        here, out, pairs="all", cluster="bounded", order_by="date", removed=True
    ),
    "recluster": lambda here, out: _dedup(here, out / "first").recluster(
        out / "again", threshold=0.8, progress=False
    ),
    "against": lambda here, out: neardup.dedup(
        here / "more.jsonl", id="id", against=here / "notes.jsonl", old_only=True, out=out
    ),
    "frame": lambda here, out: neardup.dedup(["a b c", "a b c"], out=out, progress=False),
    "decontaminate": _decontaminated,
    "passages": _copied,
    "link": _linked,
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> Path:
    """A folder with an output of each command."""
    here = tmp_path_factory.mktemp("records")
    write_lines(here / "notes.jsonl", some_rows())
    write_lines(here / "more.jsonl", some_rows(12))
    people = (f"n{i},{'ab'[i % 2] * 3}{i - i % 2} smith,19{50 + i // 2}" for i in range(30))
    (here / "people.csv").write_text("rec_id,name,born\n" + "\n".join(people) + "\n")
    for name, make in MADE.items():
        make(here, here / name)
    (here / "recluster" / "again").rename(here / "moved")
    shutil.rmtree(here / "recluster")
    (here / "moved").rename(here / "recluster")
    return here


def keys_of(value: Any, keys: Keys = ()) -> Iterator[Keys]:
    """The keys of a record; of each list those of its first item."""
    inner: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        inner = list(enumerate(value))[:1]
    for key, found in inner:
        yield (*keys, key)
        yield from keys_of(found, (*keys, key))


def damaged(record: dict[str, Any], keys: Keys) -> Iterator[tuple[str, dict[str, Any]]]:
    """The record with another key, no key, or with a value of another type."""
    others: dict[str, Any] = {"null": None, "list": [1, 2], "text": "seventeen", "number": 17.5}
    others |= {"object": {"a": {}}, "huge": 10**400}
    for what in ("renamed", "deleted", *others):
        made = copy.deepcopy(record)
        inside: Any = made
        for key in keys[:-1]:
            inside = inside[key]
        old = inside[keys[-1]]
        if what in others:
            inside[keys[-1]] = others[what]
        else:
            del inside[keys[-1]]
            if what == "renamed" and isinstance(inside, dict):
                inside[f"{keys[-1]}_"] = old
        if made != record:
            yield what, made


def answers(folder: Path, page: Path) -> list[Any]:
    """What a result says, by all that it can be asked; an InputError is an answer too."""
    run = neardup.open(folder)
    found: list[Any] = [str(run), run.record["counts"]]
    id_ = 0 if folder.name == "frame" else "n2"
    pair = ("n2", "n3") if folder.name == "link" else (id_,)
    asked: dict[str, Callable[[], Any]] = {
        "explain": lambda: str(run.explain(*pair)),
        "audit": lambda: run.audit(sample=5, write=False, progress=False).as_dict(),
        "evaluate": lambda: dict(run.evaluate([(id_, "n1")])),
        "recluster": lambda: run.recluster(threshold=0.9, progress=False).clusters.to_pydict(),
        "pairs": lambda: run.pairs_with_texts().to_pydict(),
        "clean": lambda: run.clean().to_pydict(),
        "report": lambda: run.report(page, overwrite=True) and "written",
        "run": lambda: len(neardup.Index.from_run(folder)),
    }
    for name, ask in asked.items():
        try:
            found.append((name, ask()))
        except (NeardupError, AttributeError) as error:
            assert isinstance(error, NeardupError) or name in str(error), error
            found.append((name, str(error)))
    return found


@pytest.mark.parametrize("name", MADE)
def test_every_key_of_every_record(name: str, here: Path, tmp_path: Path) -> None:
    folder = here / name
    path = folder / "run.json"
    before = path.read_bytes()
    record, expected = json.loads(before), answers(folder, tmp_path / "page.html")
    accepted: dict[str, str] = {}
    refused = 0
    try:
        for keys in keys_of(record):
            for what, made in damaged(record, keys):
                path.write_text(json.dumps(made))
                try:
                    neardup.open(folder)
                except InputError as error:
                    key = next(k for k in reversed(keys) if isinstance(k, str))
                    assert "run.json" in str(error), (keys, what, error)
                    assert key in str(error) or str(keys[0]) in str(error), (keys, what, error)
                    assert "recursion" not in str(error)
                    refused += 1
                    continue
                accepted[".".join(map(str, keys))] = what
                again = answers(folder, tmp_path / "page.html")
                assert again == expected, (keys, what)
    finally:
        path.write_bytes(before)
    assert refused > 100 and answers(folder, tmp_path / "page.html") == expected
