"""Machine operations that Numba has no name for."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

__all__ = ["LANES", "classify", "load8", "popcount", "trailing_zeros"]

#: Bytes that `classify` looks at together.
LANES = 64


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


def _bytes(value: int) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(8), LANES), [value] * LANES)


@intrinsic
def _classify(typing: Any, source: Any, at: Any, target: Any, to: Any, lower: Any) -> Any:
    """64 bytes in one step, by vector instructions of whatever processor there is."""
    signature = types.uint64(source, types.int64, target, types.int64, types.uint8)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = ir.VectorType(ir.IntType(8), LANES)
        undefined = ir.Constant(lanes, ir.Undefined)
        pointer = ir.PointerType(lanes)

        def place(kind: Any, array: Any, index: Any) -> Any:
            view = context.make_array(kind)(context, builder, array)
            return builder.bitcast(builder.gep(view.data, [index]), pointer)

        def within(value: Any, first: int, count: int) -> Any:
            return builder.icmp_unsigned("<", builder.sub(value, _bytes(first)), _bytes(count))

        value = builder.load(place(sig.args[0], args[0], args[1]), align=1, typ=lanes)
        step = builder.insert_element(undefined, args[4], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        step = builder.shuffle_vector(step, undefined, zeros)
        capital = within(value, ord("A"), 26)
        lowered = builder.select(capital, builder.add(value, step), value)
        letter = within(builder.or_(value, _bytes(0x20)), ord("a"), 26)
        digit = within(value, ord("0"), 10)
        underscore = builder.icmp_unsigned("==", value, _bytes(ord("_")))
        word = builder.or_(letter, builder.or_(digit, underscore))
        high = builder.icmp_signed("<", value, _bytes(0))
        out = builder.select(word, lowered, builder.select(high, _bytes(255), _bytes(0)))
        builder.store(out, place(sig.args[2], args[2], args[3]), align=1)
        return builder.bitcast(builder.or_(word, high), ir.IntType(LANES))

    return signature, generate


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


def _classify_python(source: Any, at: int, target: Any, to: int, lower: Any) -> Any:
    """Sort 64 bytes into what may be in a word and what separates words.

    Args:
        source: uint8[]: the bytes ``source[at : at + 64]`` are looked at.
        at: Where they begin.
        target: uint8[]: gets, from ``to`` on, the lower case of each ASCII letter, digit and ``_``,
            255 for a byte above 127, and 0 for every other byte.
        to: Where that begins.
        lower: uint8: 32 to turn capitals into small letters, 0 to keep them.

    Returns:
        uint64: bit ``i`` is set where byte ``i`` of the target is not 0.
    """
    value = source[at : at + LANES]
    capital = (value >= ord("A")) & (value <= ord("Z"))
    small = (value >= ord("a")) & (value <= ord("z"))
    digit = (value >= ord("0")) & (value <= ord("9"))
    word = capital | small | digit | (value == ord("_"))
    out = np.where(word, value + np.where(capital, np.uint8(lower), np.uint8(0)), 0)
    out = np.where(value >= 128, 255, out).astype(np.uint8)
    target[to : to + LANES] = out
    return np.packbits(out != 0, bitorder="little").view(np.uint64)[0]


load8 = _load8_python if config.DISABLE_JIT else _load8
trailing_zeros = _trailing_zeros_python if config.DISABLE_JIT else _trailing_zeros
popcount = _popcount_python if config.DISABLE_JIT else _popcount
classify = _classify_python if config.DISABLE_JIT else _classify
