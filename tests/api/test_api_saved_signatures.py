"""Signatures of a corpus in a file of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from neardup.errors import (
    ColumnError,
    FormatError,
    InputNotFoundError,
    OutputError,
    RecipeError,
    SpecError,
)

TEXTS = [f"note {i} of {i % 7} words and {i % 3} more" for i in range(3000)]


def test_signatures_are_saved_and_loaded(tmp_path: Path) -> None:
    source, file = tmp_path / "n.jsonl", tmp_path / "s.parquet"
    rows = [{"note": f"n{i}", "text": text} for i, text in enumerate([*TEXTS, ""])]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--id", "note", "--shingle", "word:2", "--num-hashes", "60", "--seed", "5"]
    command = [sys.executable, "-m", "neardup", "signatures", source, "-o", file, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "3,001" in done.stderr
    found = neardup.read_signatures(file)
    spec = neardup.ShingleSpec(n=2)
    expected = neardup.signatures([*TEXTS, ""], 60, shingle=spec, seed=5)
    assert found.values.dtype == np.uint32 and np.array_equal(found.values, expected)
    assert (found.values[-1] == 2**32 - 1).all()
    assert found.ids.to_pylist() == [row["note"] for row in rows]
    assert found.recipe == neardup.Recipe(spec, seed=5, num_bands=60, rows=1)
    # Banded later, they find what texts do.
    a, _ = neardup.candidate_pairs(neardup.band_keys(found.values[:300], 20, 3))
    b, _ = neardup.candidate_pairs(neardup.band_keys(expected[:300], 20, 3))
    assert len(a) and np.array_equal(a, b)
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 1 and "exists" in again.stderr
    assert neardup.save_signatures(TEXTS[:5], file, num_hashes=8, overwrite=True) == 5
    assert neardup.read_signatures(file).ids.to_pylist() == [0, 1, 2, 3, 4]
    assert neardup.save_signatures([["a"], ["b"]], tmp_path / "b.parquet", shingle="item") == 2
    assert not list(tmp_path.glob("*.partial")) and len(list(tmp_path.iterdir())) == 3


def test_what_is_no_file_of_signatures(tmp_path: Path) -> None:
    with pytest.raises(InputNotFoundError):
        neardup.read_signatures(tmp_path / "none.parquet")
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": [1]}), other)
    with pytest.raises(FormatError, match="these are no signatures"):
        neardup.read_signatures(other)
    with pytest.raises(OutputError, match="is an input"):
        neardup.save_signatures(other, other, text="id", overwrite=True)
    with pytest.raises(OutputError, match="is no file in a folder"):
        neardup.save_signatures(TEXTS, tmp_path / "no" / "s.parquet")
    with pytest.raises(SpecError, match="`num_hashes` is 0"):
        neardup.save_signatures(TEXTS, tmp_path / "s.parquet", num_hashes=0)
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "a.jsonl").write_text('{"id": 1, "text": "a"}\n')
    (mixed / "b.jsonl").write_text('{"id": "x", "text": "b"}\n')
    with pytest.raises(ColumnError, match="ids are of several types"):
        neardup.save_signatures(mixed, tmp_path / "s.parquet", id="id")
    assert not (tmp_path / "s.parquet").exists()
    made = tmp_path / "old.parquet"
    neardup.save_signatures(TEXTS[:3], made, num_hashes=4)
    table = pq.read_table(made)
    about = json.loads(table.schema.metadata[b"neardup.signatures"])
    about["versions"] = {"tokens": "0"}
    meta = {b"neardup.signatures": json.dumps(about).encode()}
    pq.write_table(table.replace_schema_metadata(meta), made)
    with pytest.raises(RecipeError, match="this file was made with tokens/0"):
        neardup.read_signatures(made)
