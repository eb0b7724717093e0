"""Corpora in files."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet


def write(rows: pa.Table, folder: Path, format: str, files: int = 1) -> list[Path]:
    """Write a table as one or several files of a format; null texts become what the format has."""
    folder.mkdir(parents=True, exist_ok=True)
    cuts = np.linspace(0, len(rows), files + 1).astype(int)
    paths = []
    for number, (first, last) in enumerate(pairwise(cuts)):
        part = rows.slice(first, last - first)
        path = folder / f"part{number}.{format}"
        if format == "jsonl":
            lines = [json.dumps(row, ensure_ascii=bool(number % 2)) for row in part.to_pylist()]
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        elif format == "csv":
            pyarrow.csv.write_csv(part, path)
        elif format == "parquet":
            pyarrow.parquet.write_table(part, path, row_group_size=max(1, len(part) // 3))
        else:
            pyarrow.feather.write_feather(part, path, compression="uncompressed", chunksize=7)
        paths.append(path)
    return paths
