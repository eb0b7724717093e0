"""Between Arrow arrays and NumPy arrays, without copies and without pandas.

`pyarrow.array` and `Array.to_numpy` import pandas where it is installed, which takes 0.4 s.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.errors import SpecError

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


def integers_of(values: Iterable[int]) -> ArrowArray:
    """Return a few integers as int64; Arrow's own conversion of lists imports pandas."""
    return _listed(pa.int64(), array("q", values))


def reals_of(values: Iterable[float]) -> ArrowArray:
    """Return a few numbers as float64."""
    return _listed(pa.float64(), array("d", values))


def _listed(kind: pa.DataType, values: "array[Any]") -> ArrowArray:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(cast(Any, values))])


def numbers(array: ArrowArray, dtype: npt.DTypeLike | None = None) -> np.ndarray:
    """Return an Arrow array of numbers as a NumPy array, uncopied where the type is right.

    Nulls become NaN, as pyarrow has it.
    """
    if array.null_count or pa.types.is_boolean(array.type):
        found: np.ndarray = array.to_numpy(zero_copy_only=False)
    else:
        values: Any = array.buffers()[1]
        all_values = np.frombuffer(values or b"", dtype=dtype_of(array.type))
        found = all_values[array.offset : array.offset + len(array)]
    return found if dtype is None else found.astype(dtype, copy=False)


def dtype_of(kind: pa.DataType) -> "np.dtype[Any]":
    """Return the type of NumPy for an Arrow type of fixed width.

    Older versions of pyarrow load pandas to say so, which may not be there.
    """
    of_letters = (
        ("f", pa.types.is_floating),
        ("u", pa.types.is_unsigned_integer),
        ("i", pa.types.is_integer),
    )
    for letter, fits in of_letters:
        if fits(kind):
            return np.dtype(f"{letter}{kind.bit_width // 8}")
    return np.dtype(kind.to_pandas_dtype())


def buffer_of(array: np.ndarray) -> pa.Buffer:
    return pa.py_buffer(cast(Any, array))


def large_strings(
    offsets: np.ndarray, data: pa.Buffer, valid: pa.Buffer | None = None
) -> pa.LargeStringArray:
    """Strings from their buffers; offsets are int64[n + 1]."""
    buffers = [valid, buffer_of(offsets), data]
    array: Any = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, cast(Any, buffers))
    return cast(pa.LargeStringArray, array)


def strings_of(values: Sequence[bytes | None]) -> pa.LargeStringArray:
    """Strings from their UTF-8; Arrow's own conversion of lists imports pandas."""
    # A query of an index makes arrays of one text; many calls of NumPy cost 1 us.
    texts = [value or b"" for value in values]
    offsets = np.array([0, *accumulate(map(len, texts))], dtype=np.int64)
    valid = validity(np.array([v is not None for v in values])) if None in values else None
    return large_strings(offsets, pa.py_buffer(b"".join(texts)), valid)


def validity(valid: np.ndarray) -> pa.Buffer | None:
    """Arrow's bits for bool[n]; None where all are true."""
    return None if valid.all() else buffer_of(np.packbits(valid, bitorder="little"))


def is_text(type: pa.DataType) -> bool:
    """Whether values of this Arrow type are strings, dictionary-encoded or not."""
    value = cast(Any, type).value_type if pa.types.is_dictionary(type) else type
    return str(value) in ("string", "large_string", "string_view")


def is_binary(type: pa.DataType) -> bool:
    """Whether values of this Arrow type are bytes, as Parquet has strings of some writers."""
    value = cast(Any, type).value_type if pa.types.is_dictionary(type) else type
    return str(value) in ("binary", "large_binary", "binary_view")


def strings_of_bytes(column: Any) -> Any:
    """Return a column of bytes as one of strings, which are not known to be UTF-8."""
    chunks = [chunk.view(pa.large_string()) for chunk in column.cast(pa.large_binary()).chunks]
    return pa.chunked_array(chunks, pa.large_string())


def without_nan(column: Any) -> Any:
    """Return an Arrow column of floats with null for NaN; as float32 where it is float16."""
    import pyarrow.compute as _pc

    pc = cast(Any, _pc)
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    nan = pc.is_nan(column)
    return pc.if_else(nan, pa.nulls(1, column.type)[0], column) if pc.any(nan).as_py() else column


def first_value(column: Any) -> int | None:
    """Return the first row of an Arrow column with a value; None if all are null or NaN."""
    import pyarrow.compute as _pc

    pc = cast(Any, _pc)
    if column.null_count == len(column):
        return None
    if pa.types.is_floating(column.type):
        column = without_nan(column)
    rows = pc.indices_nonzero(pc.is_valid(column))  # (`pc.index` would import pandas)
    return int(rows[0].as_py()) if len(rows) else None


def nulls_if_empty(column: Any) -> Any:
    """Return a chunked array; one without a value, see `first_value`, as nulls of no type."""
    is_empty = not pa.types.is_null(column.type) and first_value(column) is None
    return pa.chunked_array([pa.nulls(len(column))]) if is_empty else column


def check_matrix(name: str, values: np.ndarray, dtype: type[np.generic]) -> None:
    """Raise SpecError unless it is a two-dimensional array of that type, as kernels expect."""
    if not (isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype == dtype):
        raise SpecError(f"`{name}` is no array {dtype.__name__}[documents, columns] of NumPy")


def binary_of(rows: np.ndarray) -> ArrowArray:
    """Return uint64[n, words] as n binary values of ``8 * words`` bytes."""
    rows = np.ascontiguousarray(rows)
    kind = pa.binary(8 * rows.shape[1])
    return pa.Array.from_buffers(kind, len(rows), [None, pa.py_buffer(rows.data)])


def words(array: ArrowArray) -> np.ndarray:
    """Return binary values of one length as uint64[n, words]; the inverse of `binary_of`."""
    if not pa.types.is_fixed_size_binary(array.type):
        import pyarrow.compute as pc

        values: Any = array
        array = values.cast(pa.binary(pc.binary_length(values)[0].as_py() if len(array) else 8))
    width: int = array.type.byte_width
    data = memoryview(array.buffers()[1] or b"")
    found = np.frombuffer(data, np.uint64, len(array) * width // 8, array.offset * width)
    return found.reshape(len(array), width // 8)


def ragged_rows(begins: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return int64[]: as many rows as ``counts`` has, int[n], from each of ``begins``, int[n], on.

    >>> ragged_rows(np.array([5, 0]), np.array([2, 1])).tolist()
    [5, 6, 0]
    """
    before = np.cumsum(counts, dtype=np.int64) - counts
    return np.asarray(np.repeat(begins - before, counts) + np.arange(int(counts.sum())))
