"""Machine operations that Numba has no name for."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

__all__ = ["load8", "popcount", "trailing_zeros"]


@intrinsic
def _load8(typing: Any, array: Any, index: Any) -> Any:
    signature = types.uint64(array, types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        view = context.make_array(sig.args[0])(context, builder, args[0])
        pointer = builder.gep(view.data, [args[1]])
        word = builder.bitcast(pointer, ir.PointerType(ir.IntType(64)))
        return builder.load(word, align=1, typ=ir.IntType(64))

    return signature, generate


@intrinsic
def _trailing_zeros(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.uint64(types.uint64), generate


@intrinsic
def _popcount(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


# Intrinsics exist only in compiled code. The twins serve runs with the JIT off, in which the
# kernels are stepped through and compared with ``reference.py``.


def _load8_python(array: Any, index: int) -> Any:
    """Return the 8 bytes of ``array`` from ``index`` on as one uint64, the first byte lowest."""
    return np.uint64(int.from_bytes(array[index : index + 8].tobytes(), "little"))


def _trailing_zeros_python(value: Any) -> Any:
    """Return the number of zero bits below the lowest one bit; 64 for zero."""
    number = int(value)
    return np.uint64((number & -number).bit_length() - 1 if number else 64)


def _popcount_python(value: Any) -> Any:
    """Return the number of one bits."""
    return np.uint64(int(value).bit_count())


load8 = _load8_python if config.DISABLE_JIT else _load8
trailing_zeros = _trailing_zeros_python if config.DISABLE_JIT else _trailing_zeros
popcount = _popcount_python if config.DISABLE_JIT else _popcount
