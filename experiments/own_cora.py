"""The tutorial's counts on a file of Cora that somebody has, next to those of the tutorial."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv

import neardup
from experiments.markdown import count, table
from experiments.records import BANDS, HASHES, ROWS
from neardup.errors import ColumnError, FormatError, InputNotFoundError
from neardup.match.bucketing import candidate_pairs
from neardup.spec import ShingleSpec

__all__ = ["compared"]

#: Names of the three columns in the files that go round.
_COLUMNS = (("title",), ("author", "authors"), ("venue", "journal", "book_title"))
#: As in the tutorial: runs of three letters and digits, and NA where R finds no value.
_SHINGLE = ShingleSpec("char:3", alphanumeric=True)
_THERE = {
    "records": "1,879",
    "pairs of records": "1,764,381",
    "distinct shingles, NA for missing values": "3,551",
    "distinct shingles, nothing for them": "",
    f"P(candidate) at .25, {HASHES} hashes in {BANDS} bands": ".297",
    "candidates": "a histogram",
}


def compared(path: Path) -> str:
    """Return a table of the tutorial's counts, and of the same on a CSV file.

    Raises:
        ColumnError: A column is not there.
        FormatError: The file is no CSV.
        InputNotFoundError: There is no file.
    """
    try:
        source = pcsv.read_csv(path)
    except FileNotFoundError:
        raise InputNotFoundError(f"{path} does not exist", "name a CSV file of Cora") from None
    except pa.ArrowInvalid as error:
        raise FormatError(f"{path} is no CSV file", "name a CSV file of Cora") from error
    known = {name.lower().strip(): name for name in source.column_names}
    columns = []
    for names in _COLUMNS:
        name = next((name for name in names if name in known), None)
        if name is None:
            message = f"{path} has no column {' or '.join(names)}"
            raise ColumnError(message, f"its columns are {', '.join(source.column_names)}")
        columns.append([str(v or "") for v in source.column(known[name]).to_pylist()])
    records = list(zip(*columns, strict=True))
    with_na, plain = (
        [" ".join(value or missing for value in row) for row in records] for missing in ("NA", "")
    )
    sizes = [
        len(np.unique(neardup.shingle_sets(texts, _SHINGLE).values)) for texts in (with_na, plain)
    ]
    signed = neardup.signatures(with_na, HASHES, shingle=_SHINGLE)
    found = candidate_pairs(neardup.band_keys(signed, BANDS, ROWS))[0]
    chance = neardup.candidate_probability(0.25, BANDS, ROWS)
    ours = [
        count(len(records)),
        count(len(records) * (len(records) - 1) // 2),
        *map(count, sizes),
        f"{chance:.3f}".removeprefix("0"),
        count(len(found)),
    ]
    rows = [[*there, own] for there, own in zip(_THERE.items(), ours, strict=True)]
    return table(["", "tutorial", path.name], rows)
