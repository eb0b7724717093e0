"""What the tests of the command line and of the Python API share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest

T = TypeVar("T")
#: Stands in the texts of bad inputs: no message may quote it.
SECRET = "zebrafinch"
#: Of tests of views of strings: Arrow 24 does not write them, 26 does; else strings are written.
WRITES_VIEWS = pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 26, reason="this Arrow does not write views of strings"
)


@dataclass(frozen=True)
class Answer:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What was said, but for kernels being compiled: which test is first must not matter."""
        return [line for line in self.err.splitlines() if "compil" not in line]

    @property
    def error(self) -> str:
        """The one line of an error, checked to be one and to quote no text."""
        assert self.lines and self.lines[0].startswith("error: "), self.err
        assert all(line.startswith("hint: ") for line in self.lines[1:]), self.err
        assert len(self.lines) <= 2, self.err
        assert SECRET not in self.err
        assert "\x1b" not in self.err
        return self.lines[0]


Command = Callable[..., Answer]
#: Has other bounds until the test ends, see `neardup.tuning.Tuning`.
Tune = Callable[..., None]


def tries(few: T, many: T) -> T:
    """What a test tries, or how often: many things by `make kills` and `make fuzz`."""
    return many if "NEARDUP_MANY" in os.environ else few


def core(cases: Iterable[T], *few: T) -> list[Any]:
    """The cases of a test, of which all but a few are left to `make test-long`."""
    cases = list(cases)
    assert few and set(few) <= set(cases), few
    return [case if case in few else pytest.param(case, marks=pytest.mark.long) for case in cases]


def files_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by relative path."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def some_rows(count: int = 30) -> list[dict[str, Any]]:
    """Rows with id, text, number and date; every third text nearly repeats the one before it."""
    rows = []
    for i in range(count):
        source = i - 1 if i % 3 == 2 else i
        words = [f"w{source}x{j}" for j in range(40)]
        if i % 3 == 2:
            words[-1] = "changed"
        rows.append(
            {
                "id": f"n{i}",
                "text": " ".join(words),
                "quality": i % 3 / 4 + 0.125,
                "number": 1000 + i,
                "date": f"2020-01-{28 - i % 28:02}",
            }
        )
    return rows
