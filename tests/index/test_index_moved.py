"""The folder of an open index that is moved, deleted or replaced: nothing is written anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import Tune
from neardup.errors import IndexMovedError
from neardup.index.storing.transactions import Batch
from neardup.sketch.texts import as_text

TEXTS = [f"some words {number} {number} and {number}" for number in range(50)]


def aside(folder: Path) -> Path:
    return folder.with_name(folder.name + ".aside")


def move(folder: Path) -> None:
    folder.rename(aside(folder))


def replace_by_a_copy(folder: Path) -> None:
    move(folder)
    shutil.copytree(aside(folder), folder)


def replace_by_another(folder: Path) -> None:
    move(folder)
    neardup.Index.create(folder, shingle="word:2", threshold=0.5).close()


def replace_by_a_link(folder: Path) -> None:
    replace_by_a_copy(folder)
    folder.rename(folder.with_name("target"))
    folder.symlink_to(folder.with_name("target"))


def replace_by_a_file(folder: Path) -> None:
    move(folder)
    folder.write_bytes(b"a file")


def replace_the_database(folder: Path) -> None:
    shutil.copytree(folder, aside(folder))
    database = folder / "index.sqlite"
    shutil.copy(database, folder / "new")
    (folder / "new").replace(database)


def delete(folder: Path) -> None:
    shutil.rmtree(folder)


CHANGES = [
    move, replace_by_a_copy, replace_by_another, replace_by_a_link, replace_by_a_file,
    replace_the_database, delete,
]  # fmt: skip


def put_back(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
    move_back(folder)


def move_back(folder: Path) -> None:
    aside(folder).rename(folder)


def content(root: Path) -> dict[str, bytes]:
    """Return all files, but for the memory that SQLite shares between processes."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.endswith("-shm")
    }


def filled(folder: Path) -> neardup.Index:
    index = neardup.Index.create(folder, shingle="word:2", threshold=0.5)
    index.add(TEXTS, ids=list(range(len(TEXTS))))
    return index


WRITES: dict[str, Callable[[neardup.Index], Any]] = {
    "add": lambda index: index.add(["a new one"], ids=[1000]),
    "add_if_new": lambda index: index.add_if_new(1000, "a new one"),
    "remove": lambda index: index.remove(3),
    "update": lambda index: index.update(3, "another text"),
    "compact": lambda index: index.compact(),
    "purge": lambda index: index.compact(purge=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_written_until_it_is_put_back(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = tmp_path / "i"
    with filled(folder) as index:
        change(folder)
        before = content(tmp_path)
        for name, write in WRITES.items():
            with pytest.raises(IndexMovedError, match="was moved, deleted or replaced"):
                write(index)
            assert content(tmp_path) == before, name
        with pytest.raises(IndexMovedError):
            index.check()
        assert len(index) == len(TEXTS)  # what is open can be read
        if change is move:
            put_back(folder)
            assert index.add_if_new(1000, "a new one").kept
            assert index.check() == []
    if change is move:
        with neardup.Index.open(folder, readonly=True) as again:
            assert 1000 in again


def test_an_index_that_was_just_made(tmp_path: Path) -> None:
    with neardup.Index.create(tmp_path / "i", shingle="word:2", threshold=0.5) as index:
        replace_by_another(tmp_path / "i")
        with pytest.raises(IndexMovedError):
            index.add(["a"], ids=["a"])
    with neardup.Index.open(tmp_path / "i", readonly=True) as other:
        assert len(other) == 0


@pytest.mark.parametrize("change", [move, replace_by_another, delete])
def test_a_folder_that_goes_in_the_middle_of_a_transaction(
    change: Callable[[Path], None], tmp_path: Path, tune: Tune
) -> None:
    """Segments are files that have their names before the commit."""
    tune(logged_documents=4)
    folder, before = tmp_path / "i", dict[str, bytes]()
    with filled(folder) as index:

        def batches() -> Iterator[Batch]:
            yield Batch([901], as_text(["some that stays in the log"], False))
            change(folder)
            before.update(content(tmp_path))
            texts = [f"o{number} p{number} q" for number in range(9)]
            yield Batch(list(range(910, 919)), as_text(texts, False))

        with pytest.raises(IndexMovedError):
            index._insert(batches(), "error")
        left = {name: data for name, data in content(tmp_path).items() if "-wal" not in name}
        assert left == {name: data for name, data in before.items() if "-wal" not in name}
        if change is not delete:
            put_back(folder)
            assert 901 not in index
            assert index.check() == []


def test_a_process_that_was_forked_does_not_open_another_one(tmp_path: Path) -> None:
    with filled(tmp_path / "i") as index:
        replace_by_another(tmp_path / "i")
        process = os.fork()
        if not process:
            try:
                len(index)
            except IndexMovedError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 7


@pytest.mark.long
def test_a_stream(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    filled(folder).close()
    command = [sys.executable, "-m", "neardup", "stream", "--index", str(folder)]
    with subprocess.Popen(
        [*command, "--line-buffered"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b'{"id": 2000, "text": "quite a new one"}\n')
        process.stdin.flush()
        assert b'"kept": true' in process.stdout.readline()
        replace_by_a_copy(folder)
        before = content(tmp_path)
        process.stdin.write(b'{"id": 2001, "text": "one more that is new"}\n')
        process.stdin.close()
        said = process.stderr.read().decode()
    assert process.returncode == 1
    assert "was moved, deleted or replaced" in said and "hint: put it back" in said
    assert content(tmp_path) == before


def test_an_index_of_records(tmp_path: Path) -> None:
    rows = [f"p{n},Ann{n % 7} Smith{n % 5},190{n % 9}-01-0{1 + n % 8}" for n in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["id,name,born", *rows]) + "\n")
    (tmp_path / "b.csv").write_text("id,name,born\nq1,Ann1 Smith1,1901-01-02\n")
    run = neardup.link(tmp_path / "a.csv", id="id", fields=["name", "born"])
    folder = tmp_path / "i"
    run.index(folder).close()
    with neardup.RecordIndex.open(folder) as index:
        replace_by_a_copy(folder)
        before = content(tmp_path)
        with pytest.raises(IndexMovedError):
            neardup.link(tmp_path / "b.csv", against=index)
        with pytest.raises(IndexMovedError):
            index.remove("p1")
        with pytest.raises(IndexMovedError):
            index.update(tmp_path / "b.csv")
        assert content(tmp_path) == before
        put_back(folder)
        neardup.link(tmp_path / "b.csv", against=index)
        assert len(index) == 61
        assert index.check() == []
