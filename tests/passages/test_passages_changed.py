"""Inputs that change between two passes: an error that names the file, and no result."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import neardup
from neardup.copied_passages import finding, result
from neardup.errors import FormatError

Row = dict[str, Any]


def _other_words(row: Row) -> Row:
    return row | {"text": row["text"].replace("w1", "w7")}


def _fewer_words(row: Row) -> Row:
    """As many bytes."""
    words = row["text"].split()
    return row | {"text": " ".join(words[:6]).ljust(len(row["text"]), "_")}


def _more_words(row: Row) -> Row:
    """As many bytes."""
    return row | {"text": " ".join("ab"[k % 3 % 2] for k in range(len(row["text"]) // 2 + 1))}


def _shorter(row: Row) -> Row:
    return row | {"text": row["text"][: len(row["text"]) // 2]}


EDITS = (_other_words, _fewer_words, _more_words, _shorter)
#: What is called just before the second pass, and before the third one.
PLACES = (("find repeated runs", finding, "_groups"), ("find characters", result, "Offsets"))


def _texts(folder: Path) -> tuple[Path, list[Row]]:
    rng = random.Random(3)
    made: list[list[str]] = []
    for _ in range(300):
        words = [f"w{rng.randrange(3000)}" for _ in range(rng.randrange(30, 200))]
        if made:
            other = rng.choice(made)
            words[10:10] = other[rng.randrange(20) :][:60]
        made.append(words)
    rows = [{"id": f"n{i}", "text": " ".join(words)} for i, words in enumerate(made)]
    path = folder / "notes.jsonl"
    _write(path, rows)
    return path, rows


def _write(path: Path, rows: list[Row]) -> None:
    new = path.with_suffix(".new")
    new.write_text("".join(json.dumps(row) + "\n" for row in rows))
    new.replace(path)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place[0]))
@pytest.mark.parametrize("edit", EDITS)
def test_a_file_that_changes_between_two_passes_is_named(
    edit: Callable[[Row], Row],
    place: tuple[str, Any, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, rows = _texts(tmp_path)
    _, module, name = place
    before = getattr(module, name)

    def changing(*args: Any) -> Any:
        _write(path, [edit(row) for row in rows])
        return before(*args)

    monkeypatch.setattr(module, name, changing)
    with pytest.raises(FormatError, match=r"notes\.jsonl has changed while it was read"):
        neardup.passages(path, out=tmp_path / "out", id="id", words=8, cut=True, memory="300MB")
    assert not (tmp_path / "out" / "run.json").exists()


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place[0]))
def test_fewer_words_in_a_file_with_the_same_size_and_time_are_refused(
    place: tuple[str, Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = _texts(tmp_path)
    known = path.stat()
    _, module, name = place
    before = getattr(module, name)

    def changing(*args: Any) -> Any:
        _write(path, [_fewer_words(row) for row in rows])
        os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
        return before(*args)

    monkeypatch.setattr(module, name, changing)
    with pytest.raises(FormatError, match="the input has changed while it was read"):
        neardup.passages(path, id="id", words=8, memory="300MB")


def test_the_remedy_for_a_changed_input_names_the_command_of_the_run(tmp_path: Path) -> None:
    path, rows = _texts(tmp_path)
    run = neardup.passages(path, out=tmp_path / "out", id="id", words=8)
    _write(path, rows[:-1])
    with pytest.raises(neardup.InputError, match="has changed since the run") as caught:
        neardup.open(tmp_path / "out").explain("n5", texts=True)
    assert caught.value.hint == "run neardup passages again"
    assert len(run) == len(rows)
    assert (run.summary["peak_private_memory"] > 50e6) == (sys.platform == "linux")


def test_notes_on_documents_do_not_count_those_compared_against(tmp_path: Path) -> None:
    old = [{"id": f"o{i}", "text": "two words", "who": None} for i in range(5)]
    new = [{"id": "n0", "text": "too short", "who": None}]
    new.append({"id": "n1", "text": "one two three four five six", "who": "a"})
    paths = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    for path, rows in zip(paths, (old, new), strict=True):
        _write(path, rows)
    run = neardup.passages(paths[1], against=paths[0], id="id", words=4, within="who")
    assert [note.partition(";")[0] for note in run.summary["notes"]] == [
        "1 document has no who",
        "1 document has fewer than 4 words",
    ]


def test_equal_documents_that_are_too_short_are_counted(tmp_path: Path) -> None:
    """Of the documents themselves: those compared against, and those without words, don't count."""
    texts = ["Too short.", "too  SHORT", "", "", "too short too", "too short", "one two three four"]
    rows = [{"id": f"n{i}", "text": text} for i, text in enumerate(texts)]
    paths = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    _write(paths[0], [{"id": f"o{i}", "text": "too short too"} for i in range(2)])
    _write(paths[1], rows)
    long = "6 documents have fewer than 4 words; such are never copied"
    none = "no document has 9 words; none can have a copied passage"
    equal = "; 2 of them equal another one: neardup dedup finds such"
    for words, note in ((4, long), (9, none)):
        for old in (None, paths[0]):
            run = neardup.passages(paths[1], against=old, id="id", words=words, progress=False)
            assert run.summary["notes"] == [note + equal]
    _write(paths[1], [rows[4], rows[6]])
    run = neardup.passages(paths[1], id="id", words=4, progress=False)
    assert run.summary["notes"] == ["1 document has fewer than 4 words; such are never copied"]


def test_an_output_that_is_the_input_is_refused_as_such(tmp_path: Path) -> None:
    path, _ = _texts(tmp_path)
    with pytest.raises(neardup.OutputError, match=r"notes\.jsonl is an input"):
        neardup.passages(path, out=path, id="id", words=8)


def test_a_damaged_record_of_the_corpus_compared_against_is_named(tmp_path: Path) -> None:
    path, _ = _texts(tmp_path)
    neardup.passages(path, out=tmp_path / "out", id="id", words=8, cut=True)
    (tmp_path / "out" / "run.json").write_text("{")
    with pytest.raises(neardup.InputError, match=r"out/run\.json: not readable, or damaged"):
        neardup.passages(path, against=tmp_path / "out", id="id", words=8)
