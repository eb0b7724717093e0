"""A record that is damaged is refused by its key, or changes nothing, whatever opens a folder."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import Command, some_rows, write_lines
from neardup.errors import InputError
from neardup.result_record.decoding import header_of, require_members

Keys = tuple[str | int, ...]
#: Values of another type.
OTHERS: dict[str, Any] = {
    "null": None,
    "list": [1, 2],
    "text": "seventeen",
    "number": 17.5,
    "object": {"a": {}},
    "huge": 10**400,
}
#: Members that say how a result was made: another value does not change an answer.
ABOUT = {
    *("seconds", "bytes", "disk", "peak_private_memory", "bucket_sizes", "run", "notes"),
    *(
        "by_value",
        "by_year",
        "by_month",
        "cut",
        "test_files",
        "test_source",
        "probabilities",
        "step_before",
    ),
    *("threshold", "files"),
}


def _dedup(here: Path, out: Path, **how: Any) -> neardup.DedupRun:
    return neardup.dedup(here / "notes.jsonl", id="id", out=out, progress=False, **how)


def _recluster(here: Path, out: Path) -> None:
    _dedup(here, here / "first").recluster(out, threshold=0.8, progress=False)


def _copied(here: Path, out: Path) -> object:
    how: dict[str, Any] = {"id": "id", "by": "date", "order_by": "date", "progress": False}
    cut: dict[str, Any] = {"cut": True, "boilerplate": 3, "drop_above": 0.9}
    old = here / "more.jsonl"
    return neardup.passages(here / "notes.jsonl", words=10, against=old, out=out, **cut, **how)


def _linked(here: Path, out: Path) -> object:
    run = neardup.link(here / "people.csv", id="rec_id", fields=["name", "born"], progress=False)
    return run.save(out)


#: How a folder of each command is made.
MADE: dict[str, Callable[[Path, Path], object]] = {
    "dedup": _dedup,
    "pairs": lambda here, out: _dedup(
        here, out, pairs="all", cluster="bounded", order_by="date", removed=True
    ),
    "recluster": _recluster,
    "against": lambda here, out: neardup.against(
        here / "more.jsonl", here / "notes.jsonl", id="id", old_only=True, out=out
    ),
    "frame": lambda here, out: neardup.dedup(["a b c", "a b c"], out=out, progress=False),
    "decontaminate": lambda here, out: neardup.decontaminate(
        here / "notes.jsonl", here / "more.jsonl", id="id", out=out, progress=False
    ),
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
    (here / "truth.csv").write_text("id_a,id_b\nn1,n2\n")
    for name, make in MADE.items():
        make(here, here / name)
    return here


def keys_of(value: Any, keys: Keys = ()) -> Iterator[Keys]:
    """The keys of a record; of each list those of its first item."""
    inner: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        inner = list(enumerate(value))[:1]
    for key, found in inner:
        yield (*keys, key)
        yield from keys_of(found, (*keys, key))


def _type(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(type(value))
    return {int: "number", float: "number", str: "text", list: "list"}.get(type(value), "object")


def damaged(record: dict[str, Any], keys: Keys) -> Iterator[tuple[str, dict[str, Any]]]:
    """The record with another key, without the key, or with a value of another type."""
    for what in ("renamed", "deleted", *OTHERS):
        made = copy.deepcopy(record)
        inside: Any = made
        for key in keys[:-1]:
            inside = inside[key]
        old = inside[keys[-1]]
        if what == _type(old):
            continue
        if what in OTHERS:
            inside[keys[-1]] = OTHERS[what]
        elif isinstance(inside, dict):
            del inside[keys[-1]]
            if what == "renamed":
                inside[f"{keys[-1]}_"] = old
        if made != record:
            yield what, made


@pytest.mark.parametrize("name", MADE)
def test_every_key_of_every_record(name: str, here: Path, tmp_path: Path) -> None:
    """It is refused, by its key; or what it says is asked, and answers are the same."""
    folder = tmp_path / name
    shutil.copytree(here / name, folder)
    path = folder / "run.json"
    record = json.loads(path.read_bytes())
    expected = str(neardup.open(folder)), neardup.open(folder).summary["counts"]
    refused = accepted = 0
    for number, keys in enumerate(keys_of(record)):
        for turn, (what, made) in enumerate(damaged(record, keys)):
            try:
                data = json.dumps(made).encode()
                require_members(header_of(data, "out/run.json"), "out/run.json")
            except InputError as error:
                _check_named(error, keys, what)
                refused += 1
                if (number + turn) % 17:
                    continue
            path.write_bytes(data)
            try:
                run = neardup.open(folder)
            except InputError as error:
                _check_named(error, keys, what)
                continue
            accepted += 1
            if keys[0] not in ABOUT:
                assert run.summary["counts"] == expected[1], (keys, what)
    assert refused > 300 and accepted < refused / 10


@pytest.mark.parametrize("name", MADE)
def test_other_texts(name: str, here: Path, tmp_path: Path) -> None:
    """A name that nobody knows is refused, or shown as it is."""
    folder = tmp_path / name
    shutil.copytree(here / name, folder)
    record = json.loads((folder / "run.json").read_bytes())
    for keys in keys_of(record):
        made = copy.deepcopy(record)
        inside: Any = made
        for key in keys[:-1]:
            inside = inside[key]
        if isinstance(inside[keys[-1]], str):
            inside[keys[-1]] = "seventeen"
            (folder / "run.json").write_text(json.dumps(made))
            with suppress(InputError):
                assert str(neardup.open(folder)), keys


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("counts", "documents"), 7),
        (("counts", "kept"), 7),
        (("source", "partition_documents"), "7"),
        (("source", "partition_documents"), ""),
        (("recipe", "rows"), 0),
    ],
)
def test_numbers_that_contradict_others(
    keys: tuple[str, str], value: object, here: Path, tmp_path: Path
) -> None:
    shutil.copytree(here / "dedup", tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_bytes())
    record[keys[0]][keys[1]] = value
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="does not agree with"):
        neardup.open(tmp_path / "run")


def _check_named(error: InputError, keys: Keys, what: str) -> None:
    key = next(key for key in reversed(keys) if isinstance(key, str))
    if what == "text" and keys == ("command",):
        key = "seventeen"
    if what == "huge":
        key = "a number is too large"
    assert "run.json" in str(error) and str(key).replace("_", " ") in str(error).replace(
        "_", " "
    ), (keys, what, error)
    assert "`" not in str(error) and len(str(error)) < 500


#: Files that are no record, and what is wrong with each.
NO_RECORDS = {
    b"": "not JSON",
    b"\xff{}": "not UTF-8",
    b"{": "not JSON",
    b"[" * 100_000: "nested too deeply",
    b"[]": "expected object, got array",
    b'{"command": "dedup", "command": "link"}': "'command' is there twice",
    b'{"command": NaN}': "NaN is no number",
    b'{"command": -Infinity}': "-Infinity is no number",
    b'{"command": 1e999}': "a number is too large",
    b'{"command": %s}' % (b"9" * 5000): "a number is too large",
    b'{"command": "dedup"}': "at files: missing",
    b'{"command": "dedup", "files": {"../notes.jsonl": null}}': "at files",
    b'{"command": "dedup", "files": {"clean": ["../../notes.jsonl"]}}': "at files.clean",
    b'{"command": "dedup", "files": {}, "format": [4]}': "at format: expected int",
    b'{"command": "dedup", "files": {}}': "at format: missing",
    b'{"command": "x", "files": {}}': "at command: 'x' is no command of this version",
}


@pytest.mark.parametrize("data", NO_RECORDS, ids=range(len(NO_RECORDS)))
def test_what_is_no_record(data: bytes, here: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(data)
    with pytest.raises(InputError) as caught:
        neardup.open(tmp_path)
    assert "run.json is damaged" in str(caught.value) and NO_RECORDS[data] in str(caught.value)
    # Nothing is replaced by the list of files of a record that is damaged.
    before = (here / "notes.jsonl").read_bytes()
    with pytest.raises(neardup.NeardupError, match=r"run\.json"):
        _dedup(here, tmp_path, overwrite=True)
    assert (here / "notes.jsonl").read_bytes() == before
    assert (tmp_path / "run.json").read_bytes() == data


def _without(record: dict[str, Any], *keys: str) -> dict[str, Any]:
    made = copy.deepcopy(record)
    inside = made
    for key in keys[:-1]:
        inside = inside[key]
    inside[f"{keys[-1]}_"] = inside.pop(keys[-1])
    return made


@pytest.mark.parametrize("keys", [("counts", "kept"), ("spec",), ("source", "given")])
def test_every_command_that_opens_a_folder(
    keys: tuple[str, ...], here: Path, command: Command, tmp_path: Path, monkeypatch: Any
) -> None:
    """Each says what is damaged; none asks to report an error."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "run"
    shutil.copytree(here / "dedup", folder)
    record = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_text(json.dumps(_without(record, *keys)))
    notes = here / "notes.jsonl"
    commands: list[list[Any]] = [
        ["report", "run", "-o", "page.html"],
        ["explain", "run", "n2"],
        ["audit", "run"],
        ["evaluate", "run", "--truth", here / "truth.csv"],
        ["recluster", "run", "-o", "again"],
        ["pairs", "run"],
        ["dedup", here / "more.jsonl", "--against", "run", "-o", "batch"],
        ["index", "create", "new.index", "--from-run", "run"],
        ["dedup", notes, "--id", "id", "-o", "run", "--resume"],
    ]
    named = ".".join(keys)
    for line in commands:
        answer = command(*line)
        assert answer.code == 1, line
        assert f"run/run.json is damaged at {named}" in answer.error, (line, answer.err)
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


def test_a_list_of_files_that_is_damaged(here: Path, command: Command, tmp_path: Path) -> None:
    """Without it nobody knows which files may be replaced, or are documents."""
    folder = tmp_path / "run"
    shutil.copytree(here / "dedup", folder)
    record = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_text(json.dumps(record | {"files": ["clean"]}))
    notes = here / "notes.jsonl"
    commands: list[list[Any]] = [
        ["report", folder, "-o", tmp_path / "page.html"],
        ["dedup", notes, "-o", folder, "--overwrite"],
        ["dedup", notes, "-o", folder, "--resume"],
        ["dedup", folder, "-o", tmp_path / "out"],
        ["passages", notes, "-o", folder, "--overwrite"],
        ["passages", notes, "--against", folder, "-o", tmp_path / "out"],
        ["decontaminate", notes, "--against", notes, "-o", folder, "--overwrite"],
        ["link", here / "people.csv", "--fields", "name", "-o", folder, "--overwrite"],
    ]
    for line in commands:
        answer = command(*line)
        assert answer.code == 1, line
        assert "run.json is damaged at files: expected object" in answer.error, (line, answer.err)
    assert json.loads((folder / "run.json").read_bytes())["files"] == ["clean"]
