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
neardup.dedup(sys.argv[1], id="id", out=sys.argv[2], keep="max:quality", preset=sys.argv[3])
print([name for name in ("pandas", "polars", "matplotlib", "igraph") if name in sys.modules])
"""
ROWS = [
    {"id": i, "text": f"a note of {i % 7} words on Anna's knees, {i}", "quality": 0.5, "kind": "a"}
    for i in range(40)
]


@pytest.mark.parametrize("preset", ["web", "clinical"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "a.arrow"])
def test_a_run_does_not_import_pandas(tmp_path: Path, name: str, preset: str) -> None:
    pytest.importorskip("pandas", reason="without pandas nothing can import it")
    path = tmp_path / name
    rows = pa.Table.from_pylist(ROWS)
    rows = rows.set_column(3, "kind", rows["kind"].dictionary_encode())
    if path.suffix == ".jsonl":
        write_lines(path, ROWS)
    elif path.suffix == ".csv":
        pa.csv.write_csv(rows.drop_columns(["kind"]), path)
    elif path.suffix == ".parquet":
        pa.parquet.write_table(rows, path)
    else:
        pa.feather.write_feather(rows, path)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path), str(tmp_path / "out"), preset],
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
