"""Random small corpora: copies, changed copies, families, other scripts, short and empty texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

WORDS = [f"{a}{b}" for a in "abcdefgh" for b in ("lo", "ri", "tan", "us")]
OTHERS = ["größe", "naïve", "病院", "の検査", "αβγς", "İstanbul", "x_1", "42", "e\u0301t", "ไทย"]


def texts(rng: np.random.Generator, documents: int) -> list[str | None]:
    """Texts of which many are similar to others."""
    template = list(rng.choice(WORDS, 25))
    made: list[str | None] = []
    for _ in range(documents):
        kind = rng.random()
        if kind < 0.05:
            made.append(["", None, " \n", "...", "?!"][rng.integers(5)])
            continue
        if kind < 0.12:
            made.append(" ".join(rng.choice(WORDS, rng.integers(1, 4))))
            continue
        sources = [t for t in made if t and len(t) > 20]
        if sources and kind < 0.3:
            copy = sources[rng.integers(len(sources))]
            made.append([copy, copy.upper(), copy.replace(" ", ",  ")][rng.integers(3)])
            continue
        if sources and kind < 0.6:
            words = sources[rng.integers(len(sources))].split()
        elif kind < 0.8:
            words = list(template)
        else:
            words = list(rng.choice(WORDS, rng.integers(5, 40)))
        for _ in range(rng.integers(0, 6)):
            place = rng.integers(len(words) + 1)
            words.insert(place, str(rng.choice(OTHERS if rng.random() < 0.3 else WORDS)))
            if len(words) > 3 and rng.random() < 0.7:
                del words[rng.integers(len(words))]
        made.append(" ".join(words))
    return made


def table(rng: np.random.Generator, documents: int) -> pa.Table:
    """Texts with ids in random order, and columns to keep and to order by."""
    ids = [f"id-{n:04}" for n in rng.permutation(documents)]
    quality = rng.integers(0, 5, documents).astype(float)
    return pa.table(
        {
            "id": ids,
            "text": pa.array(texts(rng, documents), pa.string()),
            "quality": pa.array(quality, mask=rng.random(documents) < 0.1),
            "rank": pa.array(rng.permutation(documents), pa.int64()),
        }
    )


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


def shingle_sets(tokens: Sequence[Sequence[str]], n: int) -> list[set[Any]]:
    """Sets of n consecutive tokens; all of them where they are fewer."""
    return [
        {tuple(t[i : i + n]) for i in range(max(1, len(t) - n + 1))} if t else set() for t in tokens
    ]
