"""Arrow arrays of strings; ``pa.array`` would import pandas, which takes 0.4 s."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of


def strings(values: list[str]) -> pa.Array[Any]:
    """Return a list of strings as an Arrow array."""
    data = [value.encode() for value in values]
    offsets = np.zeros(len(data) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, data), np.int32, len(data)), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets.data), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(data), buffers)


def joined(
    tokens: pa.Array[Any], codes: npt.NDArray[np.integer], bounds: npt.NDArray[np.int64]
) -> pa.Array[Any]:
    """Return the strings that runs of tokens make, by one ``take`` and no copy after it.

    Strings begin at ``bounds``, int64[n + 1], in ``codes``, positions in ``tokens``.
    """
    _, offsets, data = pc.take(tokens, array_of(codes)).buffers()
    places: Any = offsets
    at = pa.py_buffer(np.frombuffer(places, np.int32)[bounds].data)
    return pa.Array.from_buffers(pa.string(), bounds.size - 1, [None, at, data])
