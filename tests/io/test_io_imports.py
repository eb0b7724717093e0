"""What `neardup.io` imports: nothing heavy that a run does not need, nothing only POSIX has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from io_samples import made

RUN = """
import sys
for name in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[name] = None
import numpy as np
from pathlib import Path
from neardup.io.opening import open_source
from neardup.io.outputs import plan_outputs
from neardup.io.source import Columns
from neardup.io.writers import open_writer
source = open_source(sys.argv[1], Columns(id="id"))
parts = list(source.partitions())
(output,) = plan_outputs(source, [(part.file, part.start) for part in parts])
with open_writer(Path(sys.argv[2]), output.layout) as writer:
    for part in parts:
        count = len(part.read(("id",)).text)
        part.texts(np.arange(0, count, 2), count)
        writer.write(writer.prepare(part.records(np.arange(0, count, 3), count)))
heavy = {"pandas", "polars", "datasets", "pyarrow.dataset", "pyarrow.json", "pyarrow.csv"}
heavy |= set(sys.argv[3:])
print(sorted(heavy & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("name", "also"),
    [
        ("a.jsonl", ["pyarrow.parquet"]),
        ("a.csv", ["pyarrow.parquet", "pyarrow.compute"]),
        ("a.parquet", []),
    ],
)
def test_a_run_imports_what_it_needs(tmp_path: Path, name: str, also: list[str]) -> None:
    path = made(tmp_path, name)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path), str(tmp_path / "out"), *also],
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.split("\n")[0] == "[]"
