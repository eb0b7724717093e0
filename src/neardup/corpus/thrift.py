"""Structs of the Thrift compact protocol, which the heads of Parquet are written in.

A struct is a dict from the number of a field to its type and value; a list is the type of its
items with them. What a field means is not known here, so that nothing is lost on the way through.
"""

from __future__ import annotations

from typing import Any

__all__ = ["I64", "LIST", "STRUCT", "Struct", "read_struct", "write_struct"]

_TRUE, _FALSE, _I8, _I16, _I32, I64, _DOUBLE, _BINARY, LIST, _SET, _MAP, STRUCT = range(1, 13)

#: Field number to (type, value).
Struct = dict[int, tuple[int, Any]]


def read_struct(raw: bytes, at: int = 0) -> tuple[Struct, int]:
    """Return the struct that begins at a byte, and the byte after it.

    Raises:
        IndexError: It is cut off.
        ValueError: No such type.
    """
    found: Struct = {}
    number = 0
    while True:
        head, at = raw[at], at + 1
        if head == 0:
            return found, at
        if head >> 4:
            number += head >> 4
        else:
            value, at = _varint(raw, at)
            number = _signed(value)
        type = head & 15
        value, at = _value(raw, at, type)
        found[number] = type, value


def write_struct(struct: Struct) -> bytes:
    """Return the bytes of a struct."""
    out = bytearray()
    before = 0
    for number in sorted(struct):
        type, value = struct[number]
        if 0 < number - before < 16:
            out.append(number - before << 4 | type)
        else:
            out.append(type)
            out += _as_varint(_zigzag(number))
        out += _as_value(type, value)
        before = number
    out.append(0)
    return bytes(out)


def _value(raw: bytes, at: int, type: int) -> tuple[Any, int]:
    if type in (_TRUE, _FALSE):
        return type == _TRUE, at
    if type == _I8:
        return raw[at : at + 1], at + 1
    if type in (_I16, _I32, I64):
        value, at = _varint(raw, at)
        return _signed(value), at
    if type == _DOUBLE:
        return raw[at : at + 8], at + 8
    if type == _BINARY:
        size, at = _varint(raw, at)
        if at + size > len(raw):
            raise IndexError("the text is cut off")
        return raw[at : at + size], at + size
    if type in (LIST, _SET):
        return _items(raw, at)
    if type == STRUCT:
        return read_struct(raw, at)
    raise ValueError(f"no type {type}")


def _items(raw: bytes, at: int) -> tuple[tuple[int, list[Any]], int]:
    head, at = raw[at], at + 1
    count, type = head >> 4, head & 15
    if count == 15:
        count, at = _varint(raw, at)
    values = []
    for _ in range(count):
        # As an item, a boolean takes a byte; as a field, none.
        value, at = _value(raw, at, _I8 if type in (_TRUE, _FALSE) else type)
        values.append(value)
    return (type, values), at


def _as_value(type: int, value: Any) -> bytes:
    if type in (_TRUE, _FALSE):
        return b""
    if type in (_I8, _DOUBLE):
        return bytes(value)
    if type in (_I16, _I32, I64):
        return _as_varint(_zigzag(value))
    if type == _BINARY:
        return _as_varint(len(value)) + value
    if type == STRUCT:
        return write_struct(value)
    kind, values = value
    head = (
        bytes([len(values) << 4 | kind])
        if len(values) < 15
        else (bytes([0xF0 | kind]) + _as_varint(len(values)))
    )
    inner = _I8 if kind in (_TRUE, _FALSE) else kind
    return head + b"".join(_as_value(inner, item) for item in values)


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = raw[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _signed(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1
