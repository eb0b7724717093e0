"""Machine operations that Numba has no name for."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

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


@intrinsic
def _mask32(typing: Any, array: Any, index: Any, a: Any, b: Any, c: Any, below: Any) -> Any:
    signature = types.uint64(array, types.int64, *[types.uint8] * 4)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 32)
        view = context.make_array(sig.args[0])(context, builder, args[0])
        pointer = builder.bitcast(builder.gep(view.data, [args[1]]), ir.PointerType(vector))
        found = builder.load(pointer, align=1, typ=vector)

        def splat(byte: Any) -> Any:
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), byte, ir.IntType(32)(0))
            mask = ir.Constant(ir.VectorType(ir.IntType(32), 32), None)
            return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)

        hits = builder.icmp_unsigned("<", found, splat(args[5]))
        for byte in args[2:5]:
            hits = builder.or_(hits, builder.icmp_unsigned("==", found, splat(byte)))
        return builder.zext(builder.bitcast(hits, ir.IntType(32)), ir.IntType(64))

    return signature, generate


@intrinsic
def _copy32(typing: Any, source: Any, start: Any, target: Any, place: Any) -> Any:
    signature = types.void(source, types.int64, target, types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = ir.PointerType(ir.VectorType(ir.IntType(8), 32))
        read = context.make_array(sig.args[0])(context, builder, args[0])
        write = context.make_array(sig.args[2])(context, builder, args[2])
        value = builder.load(builder.bitcast(builder.gep(read.data, [args[1]]), vector), align=1)
        builder.store(value, builder.bitcast(builder.gep(write.data, [args[3]]), vector), align=1)
        return context.get_dummy_value()

    return signature, generate


# Intrinsics exist only in compiled code; these serve runs with the JIT off, in which kernels are
# stepped through and compared with their references.


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


def _mask32_python(array: Any, index: int, a: int, b: int, c: int, below: int) -> Any:
    """Return a bit for each of 32 bytes from ``index`` on that is a, b, c or under ``below``."""
    found = array[index : index + 32]
    hits = (found == a) | (found == b) | (found == c) | (found < below)
    return np.uint64(int.from_bytes(np.packbits(hits, bitorder="little").tobytes(), "little"))


def _copy32_python(source: Any, start: int, target: Any, place: int) -> None:
    """Copy 32 bytes."""
    target[place : place + 32] = source[start : start + 32]


load8 = _load8_python if config.DISABLE_JIT else _load8
trailing_zeros = _trailing_zeros_python if config.DISABLE_JIT else _trailing_zeros
popcount = _popcount_python if config.DISABLE_JIT else _popcount
classify = _classify_python if config.DISABLE_JIT else _classify
mask32 = _mask32_python if config.DISABLE_JIT else _mask32
copy32 = _copy32_python if config.DISABLE_JIT else _copy32
