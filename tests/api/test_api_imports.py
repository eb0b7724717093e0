"""What a run imports: not pandas, which takes longer than a small run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from common import write_lines

RUN = """
import sys
import neardup
for number, path in enumerate(sys.argv[2:]):
    for preset in ("web", "clinical"):
        out = f"{sys.argv[1]}/{number} {preset}"
        neardup.dedup(path, id="id", out=out, keep="max:quality", preset=preset)
        heavy = ("pandas", "polars", "matplotlib", "igraph")
        print(path, preset, [name for name in heavy if name in sys.modules])
"""
ROWS = [
    {"id": i, "text": f"a note of {i % 7} words on Anna's knees, {i}", "quality": 0.5, "kind": "a"}
    for i in range(40)
]


@pytest.mark.long
def test_no_run_imports_pandas(tmp_path: Path) -> None:
    """All in one process: what one of them imports, the line of that run names first."""
    pytest.importorskip("pandas", reason="without pandas nothing can import it")
    rows = pa.Table.from_pylist(ROWS)
    rows = rows.set_column(3, "kind", rows["kind"].dictionary_encode())
    paths = [tmp_path / f"a.{kind}" for kind in ("jsonl", "csv", "parquet", "arrow")]
    write_lines(paths[0], ROWS)
    pa.csv.write_csv(rows.drop_columns(["kind"]), paths[1])
    pa.parquet.write_table(rows, paths[2])
    pa.feather.write_feather(rows, paths[3])
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path), *map(str, paths)],
        capture_output=True,
        check=True,
        text=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(str(tmp_path))]
    assert lines == [f"{path} {preset} []" for path in paths for preset in ("web", "clinical")]
