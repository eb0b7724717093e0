"""Between Arrow arrays and NumPy arrays, without copies and without pandas.

`pyarrow.array` and `Array.to_numpy` import pandas where it is installed, which takes 0.4 s.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ArrowArray: TypeAlias = "pa.Array[Any]"

#: Bytes that must follow the data in every buffer that a kernel scans.
PAD = 64


def array_of(
    values: np.ndarray, type: pa.DataType | None = None, null: np.ndarray | None = None
) -> ArrowArray:
    """Return numbers (uncopied) or booleans as an Arrow array, of another type if given.

    ``null`` is bool[n]: which of them are null.
    """
    kind = type or pa.from_numpy_dtype(values.dtype)
    length = len(values)
    if values.dtype == np.bool_:
        values = np.packbits(values, bitorder="little")
    values = np.ascontiguousarray(values)
    valid = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little").data)
    return pa.Array.from_buffers(kind, length, [valid, pa.py_buffer(values.data)])


def numbers(array: ArrowArray, dtype: npt.DTypeLike | None = None) -> np.ndarray:
    """Return an Arrow array of numbers as a NumPy array, uncopied where the type is right.

    Nulls become NaN, as pyarrow has it.
    """
    if array.null_count or pa.types.is_boolean(array.type):
        found: np.ndarray = array.to_numpy(zero_copy_only=False)
    else:
        values: Any = array.buffers()[1]
        whole = np.frombuffer(values or b"", dtype=array.type.to_pandas_dtype())
        found = whole[array.offset : array.offset + len(array)]
    return found if dtype is None else found.astype(dtype, copy=False)
