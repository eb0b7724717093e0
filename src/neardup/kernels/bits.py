"""Mixing of 64 bits, and machine operations that Numba has no name for.

The tests have both in plain Python.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from neardup.kernels.compiling import kernel

# Odd constants without a structure: 2**64 over the golden ratio, for all hashes, and digits of pi.
TOKEN_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
TOKEN_LENGTH = np.uint64(0x243F6A8885A308D3)
#: Bytes that `classify` looks at together.
LANES = 64


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, what: Any) -> Any:
    """Return a pointer to something of that type in an array of bytes."""
    view = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(view.data, [index]), ir.PointerType(what))


def _splat(builder: Any, byte: Any, lanes: int) -> Any:
    """Return a vector of equal bytes."""
    undefined = ir.Constant(ir.VectorType(ir.IntType(8), lanes), ir.Undefined)
    one = builder.insert_element(undefined, byte, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)
    return builder.shuffle_vector(one, undefined, zeros)


@intrinsic
def load8(typing: Any, array: Any, index: Any) -> Any:
    """Return the 8 bytes of an array from an index on as one uint64, the first byte lowest."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = _pointer(context, builder, sig.args[0], args[0], args[1], ir.IntType(64))
        return builder.load(word, align=1)

    return types.uint64(array, types.int64), generate


@intrinsic
def trailing_zeros(typing: Any, value: Any) -> Any:
    """Return the number of zero bits below the lowest one bit; 64 for zero."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.uint64(types.uint64), generate


@intrinsic
def high_product(typing: Any, a: Any, b: Any) -> Any:
    """Return the upper 64 bits of the product of two uint64."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one, two = (builder.zext(arg, ir.IntType(128)) for arg in args)
        product = builder.lshr(builder.mul(one, two), ir.Constant(ir.IntType(128), 64))
        return builder.trunc(product, ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def popcount(typing: Any, value: Any) -> Any:
    """Return the number of one bits."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@intrinsic
def classify(typing: Any, source: Any, at: Any, target: Any, to: Any, lower: Any) -> Any:
    """Sort 64 bytes from ``at`` on into those that may be in a word and those that separate words.

    ``target`` gets them from ``to`` on, capitals of ASCII in lower case (plus ``lower``, 32 or 0).
    Bit ``i`` of the result is set for a letter or digit of ASCII, ``_``, and a byte above 127.
    """
    lanes = ir.VectorType(ir.IntType(8), LANES)

    def same(value: int) -> Any:
        return ir.Constant(lanes, [value] * LANES)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def within(value: Any, first: int, count: int) -> Any:
            return builder.icmp_unsigned("<", builder.sub(value, same(first)), same(count))

        read = _pointer(context, builder, sig.args[0], args[0], args[1], lanes)
        value = builder.load(read, align=1)
        capital = within(value, ord("A"), 26)
        step = _splat(builder, args[4], LANES)
        lowered = builder.select(capital, builder.add(value, step), value)
        letter = within(builder.or_(value, same(0x20)), ord("a"), 26)
        digit = within(value, ord("0"), 10)
        underscore = builder.icmp_unsigned("==", value, same(ord("_")))
        word = builder.or_(letter, builder.or_(digit, underscore))
        high = builder.icmp_signed("<", value, same(0))
        write = _pointer(context, builder, sig.args[2], args[2], args[3], lanes)
        builder.store(lowered, write, align=1)
        return builder.bitcast(builder.or_(word, high), ir.IntType(LANES))

    return types.uint64(source, types.int64, target, types.int64, types.uint8), generate


@intrinsic
def within(typing: Any, array: Any, index: Any, first: Any, count: Any) -> Any:
    """Return a bit for each of 64 bytes that is one of so many from the first on."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = ir.VectorType(ir.IntType(8), LANES)
        read = _pointer(context, builder, sig.args[0], args[0], args[1], lanes)
        below = builder.sub(builder.load(read, align=1), _splat(builder, args[2], LANES))
        hits = builder.icmp_unsigned("<", below, _splat(builder, args[3], LANES))
        return builder.bitcast(hits, ir.IntType(LANES))

    return types.uint64(array, types.int64, types.uint8, types.uint8), generate


@intrinsic
def mask32(typing: Any, array: Any, index: Any, a: Any, b: Any, c: Any, below: Any) -> Any:
    """Return a bit for each of 32 bytes that is a, b, c or under ``below``."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 32)
        pointer = _pointer(context, builder, sig.args[0], args[0], args[1], vector)
        found = builder.load(pointer, align=1)
        hits = builder.icmp_unsigned("<", found, _splat(builder, args[5], 32))
        for byte in args[2:5]:
            equal = builder.icmp_unsigned("==", found, _splat(builder, byte, 32))
            hits = builder.or_(hits, equal)
        return builder.zext(builder.bitcast(hits, ir.IntType(32)), ir.IntType(64))

    return types.uint64(array, types.int64, *[types.uint8] * 4), generate


@intrinsic
def copy32(typing: Any, source: Any, start: Any, target: Any, to: Any) -> Any:
    """Copy 32 bytes."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 32)
        read = _pointer(context, builder, sig.args[0], args[0], args[1], vector)
        write = _pointer(context, builder, sig.args[2], args[2], args[3], vector)
        builder.store(builder.load(read, align=1), write, align=1)
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64), generate


@kernel
def mix(h):
    """Return a bijective mix of a uint64 in which every input bit reaches every output bit.

    The finaliser of MurmurHash3 (A. Appleby), with constants of variant 13 by D. Stafford.

    Args:
        h: uint64: a value.
    """
    h ^= h >> np.uint64(30)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(27)
    h *= np.uint64(0x94D049BB133111EB)
    h ^= h >> np.uint64(31)
    return h


@kernel
def splitmix(seed, index):
    """Return the ``index``-th uint64 of the SplitMix64 stream of ``seed`` (Steele et al. 2014).

    Args:
        seed: uint64: the stream.
        index: uint64: position in it.
    """
    return mix(np.uint64(seed) + (np.uint64(index) + np.uint64(1)) * TOKEN_MULTIPLIER)
