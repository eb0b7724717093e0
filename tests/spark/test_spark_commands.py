"""What every command promises about its output, on Spark; see `test_parity_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from parity_cells import SPARK_LACKS
from spark_parts import NO_SPARK

from common import some_rows, write_lines
from neardup.testing import CommandContract

pytestmark = pytest.mark.skipif(bool(NO_SPARK), reason=NO_SPARK)


class OnSpark(CommandContract):
    """The command, in this process and on the Spark of the module."""

    ids = [f"n{i}" for i in range(40)]
    lacks, page = SPARK_LACKS, ("--no-text",)

    @pytest.fixture(autouse=True)
    def with_session(self, spark: Any) -> None:
        self.spark = spark

    def call(self, **how: Any) -> Any:
        pytest.fail("the function has DataFrames, of which Spark writes an output")

    def fill(self, folder: Path, version: int = 0) -> Path:
        rows = some_rows(40 + 3 * version)
        for row in rows:
            row["text"] = row["text"].replace("x", f"y{version}x" if version else "x")
        write_lines(folder / "notes.jsonl", rows)
        return folder

    def run_apart(self, *line: object, killed: bool = False) -> None:
        pytest.fail("the driver needs a checkpoint")


class TestDedup(OnSpark):
    line = "spark notes.jsonl --id id --single-file --quiet"
    tables = ("clusters",)


class TestPassages(OnSpark):
    line = "spark notes.jsonl --id id --passages --words 10 --single-file --quiet"
    tables = ("passages", "documents")
