"""Documents that one corpus removes from another: checks, and how they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.corpora.corpus import InputCorpus
from neardup.io.outputs import check_output
from neardup.output.clean import Form


def check_added(corpus: InputCorpus, format: str | None, names: list[str]) -> None:
    """Refuse an output that can't have these columns added, as that of removed documents has."""
    fields: list[pa.Field[Any]] = [pa.field(name, pa.int64()) for name in names]
    check_output(corpus.source, format, pa.schema(fields))


def form_of_removed(format: str | None, added: pa.Table, rows: np.ndarray) -> Form:
    """Return how removed documents are written: with columns of which ``rows`` has the positions.

    These, int64[], ascend.
    """

    def adding(positions: np.ndarray) -> pa.Table:
        return added.take(array_of(np.searchsorted(rows, positions)))

    return Form(format, adding=adding, added=added.schema)
