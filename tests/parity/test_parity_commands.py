"""What every command has: a class for each command, which inherits each promise about its output.

A command that lacks something is in `LACKS`, with the reason; the test of that cell must fail then,
and the mark goes with the mend.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from killing import Forge
from parity_cells import CELLS, LACKS
from remote_servers import BUCKET, Store, object_store

import neardup
from common import some_rows, write_lines
from neardup.commands import COMMANDS
from neardup.testing import CommandContract
from neardup.testing.command_contract import succeed


def some_people(count: int) -> str:
    """Records of persons, of which every second one is the one before with another letter."""
    rows = ["id,name,born"]
    for i in range(count):
        of = i - i % 2
        name = f"{chr(97 + of % 26) * 3}{of * 37 % 91}er {chr(122 - of % 26) * 4}{of}"
        rows.append(f"p{i},{name}{'x' * (i % 2)},19{50 + of}-0{1 + of % 9}-1{of % 10}")
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def forge(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    found = Forge(tmp_path_factory.mktemp("forge"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with object_store() as found:
        yield found


class Row(CommandContract):
    """A command of this package, in processes that the tests fork, and with a store.

    Attributes:
        name: In `LACKS`.
        command: In the record.
    """

    name: str
    command: str
    ids = [f"n{i}" for i in range(40)]

    def __init_subclass__(cls) -> None:
        cls.lacks = {cell: row[cls.name] for cell, row in LACKS.items() if cls.name in row}

    @pytest.fixture(autouse=True)
    def with_forge(self, forge: Forge) -> None:
        self.forge = forge

    @pytest.fixture
    def url(self, store: Store) -> str:
        self.store = store
        return f"s3://{BUCKET}/{self.name}"

    def files_at(self, url: str) -> set[str]:
        return set(self.store.files(self.name))

    def fill(self, folder: Path, version: int = 0) -> Path:
        """Make the inputs of all commands."""
        rows = some_rows(60 + 3 * version)
        for row in rows:
            row["text"] = row["text"].replace("x", f"y{version}x" if version else "x")
        write_lines(folder / "notes.jsonl", rows)
        new = [{"id": f"m{i}", "text": f"a new text of number {i} {version}"} for i in range(5)]
        write_lines(folder / "more.jsonl", [*rows[20 : 40 + version], *new])
        (folder / "people.csv").write_text(some_people(40 + 2 * version))
        neardup.dedup(folder / "notes.jsonl", id="id", out=folder / "first")
        return folder

    def run_apart(self, *line: object, killed: bool = False) -> None:
        self.forge.folder = Path.cwd()
        if killed:
            self.forge.run(*line, crash=16).check(-signal.SIGKILL)
        else:
            self.forge.run(*line).check()


class TestDedup(Row):
    name = command = "dedup"
    line, tables = "dedup notes.jsonl --id id", ("clusters",)

    def call(self, **how: Any) -> Any:
        return neardup.dedup("notes.jsonl", id="id", **how)


class TestRecluster(Row):
    name = command = "recluster"
    line, tables = "recluster first --threshold 0.9", ("clusters",)

    def call(self, **how: Any) -> Any:
        return neardup.open("first").recluster(threshold=0.9, **how)

    def private_line(self) -> list[str]:
        succeed(*["dedup", "notes.jsonl", "--id", "id", "-o", "secret", "--private-ids"])
        return self.line.replace("first", "secret").split()


class TestAgainst(Row):
    name, command = "against", "dedup --against"
    line, tables = "dedup more.jsonl --id id --against first", ("clusters",)

    def call(self, **how: Any) -> Any:
        return neardup.against("more.jsonl", "first", id="id", **how)


class TestPassages(Row):
    name = command = "passages"
    line = "passages notes.jsonl --id id --words 10 --cut"
    tables = ("passages", "documents")

    def call(self, **how: Any) -> Any:
        return neardup.passages("notes.jsonl", id="id", words=10, cut=True, **how)


class TestDecontaminate(Row):
    name = command = "decontaminate"
    line = "decontaminate notes.jsonl --id id --against more.jsonl --test-id id"
    tables = ("matches",)

    def call(self, **how: Any) -> Any:
        return neardup.decontaminate("notes.jsonl", "more.jsonl", id="id", test_id="id", **how)


class TestLink(Row):
    name = command = "link"
    line, tables = "link people.csv --id id --fields name,born", ("pairs", "clusters")
    ids = [f"p{i}" for i in range(40)]

    def call(self, **how: Any) -> Any:
        return neardup.link("people.csv", id="id", fields="name,born", **how)


def test_the_matrix_is_complete() -> None:
    """Every command has a class here, or runs elsewhere; every column of the docs has a test."""
    expected = set(COMMANDS)
    assert {row.command for row in Row.__subclasses__()} == expected
    tests = {name.removeprefix("test_") for name in dir(CommandContract) if name[:5] == "test_"}
    assert CELLS.keys() == tests
    names = {row.name for row in Row.__subclasses__()}
    assert all(lacks.keys() <= names for lacks in LACKS.values())
