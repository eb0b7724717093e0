"""Kernels for JSON lines and CSV against their references, on valid, broken and arbitrary bytes."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import reference_records as reference
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import config

from common import tries
from neardup.kernels import scanning as kernels

pytestmark = pytest.mark.jit_off

PAD = kernels.PAD
DEPTH = 12
#: Plain Python, to check every index, takes a hundred times as long.
SLOW = bool(config.DISABLE_JIT)


def padded(data: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(data + bytes(PAD)), np.uint8)


def lines_of(data: bytes) -> np.ndarray:
    lines = np.empty((len(data) // 2 + 1, 3), np.int32)
    count = kernels.json_lines(padded(data), len(data), lines)
    for most in {0, count // 2, count - 1} & set(range(count)):  # a table that is too small
        assert kernels.json_lines(padded(data), len(data), lines[:most].copy()) == -1
    return lines[:count]


def fields_of(data: bytes, names: list[str], every: bool = False) -> Any:
    """The wanted members of each line as spans with their kinds, and how the scan ended."""
    keys = [name.encode() for name in names]
    lines = lines_of(data)
    values = np.zeros((len(keys), len(lines), 2), np.int32)
    kinds = np.zeros((len(keys), len(lines)), np.uint8)
    ended = kernels.json_fields(
        padded(data),
        lines,
        np.frombuffer(bytearray(b"".join(keys)), np.uint8),
        np.cumsum([0, *map(len, keys)]),
        every,
        values,
        kinds,
        np.empty(DEPTH + 1, np.uint8),
        np.empty(6 * max(map(len, keys), default=0) + PAD, np.uint8),
    )
    return values, kinds, ended


def gathered(
    data: bytes,
    values: np.ndarray,
    kinds: np.ndarray,
    columns: list[int],
    escape: int = kernels.NO_ESCAPE,
) -> Any:
    count = kinds.shape[1]
    size = int((values[columns, :, 1] - values[columns, :, 0]).sum()) + count * len(columns)
    out = np.empty(size + PAD, np.uint8)
    ends, lone = np.empty(count + 1, np.int64), np.empty(count, np.uint8)
    kernels.gather_values(padded(data), values, kinds, np.array(columns), escape, out, ends, lone)
    raw = out.tobytes()
    return [raw[a:b] for a, b in pairwise(ends)], lone.astype(bool).tolist()


MIXED = st.text(st.sampled_from('{}[]",:\\ntu09-.eE \t\r\nabé漢😀\x00\ufeff'), max_size=60)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
NAMES = st.sampled_from(["text", "id", "é", "", "a\nb", "t"])


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=4), st.booleans(), MIXED)
@settings(max_examples=30 if SLOW else tries(75, 300), deadline=None)
def test_members_of_valid_lines(rows: list[dict[str, Any]], ascii: bool, tail: str) -> None:
    data = b"".join(json.dumps(row, ensure_ascii=ascii).encode() + b" \r\n\n" for row in rows)
    names = ["text", "id", "é"]
    lines = lines_of(data)
    assert [tuple(line) for line in lines.tolist()] == reference.json_lines(data)
    values, kinds, ended = fields_of(data, names)
    deep = [i for i, row in enumerate(rows) if reference.nesting(row) > DEPTH]
    if deep:
        assert ended[:2] == (deep[0], kernels.DEEP)
        return
    assert ended[0] == len(rows) and not ended[1]
    for k, name in enumerate(names):
        found, _ = gathered(data, values, kinds, [k])
        for row, value, kind in zip(rows, found, kinds[k].tolist(), strict=True):
            if name not in row:
                assert kind == kernels.ABSENT and value == b""
            elif row[name] is None:
                assert kind == kernels.NULL and value == b""
            elif isinstance(row[name], str):
                assert kind in (kernels.PLAIN, kernels.ESCAPED)
                assert value == row[name].encode()
            else:
                expected = {
                    bool: kernels.BOOLEAN,
                    int: kernels.INTEGER,
                    float: kernels.NUMBER,
                    list: kernels.ARRAY,
                    dict: kernels.OBJECT,
                }[type(row[name])]
                assert kind == expected
                assert value == json.dumps(row[name], ensure_ascii=ascii).encode()


@given(st.binary(max_size=80) | MIXED.map(str.encode))
@example(b'{"text":"a"} {"text":"b"}')
@example(b'{"a":1}{"b":2}\n{"u":\n{"x":1}}')
@example(b'{"text":"\\u12g4"}')
@example(b'{"text":"a')
@example(b'{"text":"a"' + b" " * 40 + b"x")
@settings(max_examples=100 if SLOW else tries(125, 500), deadline=None)
def test_lines_are_refused_as_python_refuses_them(data: bytes) -> None:
    spans = reference.json_lines(data)
    assert [tuple(line) for line in lines_of(data).tolist()] == spans
    _, _, ended = fields_of(data, ["text", "id"])
    refused = [
        i
        for i, span in enumerate(spans)
        if reference.json_fields(data[span.start : span.middle + 1], ["text", "id"], DEPTH) is None
    ]
    assert ended[0] == (refused[0] if refused else len(spans))
    assert (ended[1] != 0) == bool(refused)


def test_mutated_objects() -> None:
    generator = random.Random(3)
    good = (
        b'{"id":-12.5e+3,"text":"a\\u00e9\\ud83d\\ude00\\n\\\\ b","t":[1,{"x":null},true,false,[]],'
        b'"n":NaN,"i":-Infinity,"o":{}}'
    )
    assert fields_of(good, ["text"])[2][0] == 1
    alphabet = bytes(set(good)) + b"\x00\x1f\xff Eu+"
    for _ in range(1_000 if SLOW else 20_000):
        line = bytearray(good)
        for _ in range(generator.randint(1, 2)):
            at = generator.randrange(len(line))
            what = generator.random()
            if what < 0.4:
                line[at] = generator.choice(alphabet)
            elif what < 0.7:
                del line[at]
            else:
                line.insert(at, generator.choice(alphabet))
        data = bytes(line).replace(b"\n", b" ")
        expected = reference.json_fields(data.strip(reference.SPACES), ["text", "id"], DEPTH)
        _, _, ended = fields_of(data, ["text", "id"])
        assert (ended[0] == 1) == (expected is not None), data


@pytest.mark.parametrize("depth", [DEPTH, DEPTH + 1])
def test_depth(depth: int) -> None:
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        line = b'{"a":' + opening * (depth - 1) + b"1" + closing * (depth - 1) + b"}"
        _, _, ended = fields_of(line, [])
        assert ended[:2] == ((1, 0) if depth == DEPTH else (0, kernels.DEEP))


def test_members_that_are_not_wanted_are_named() -> None:
    data = b'{"a":1}\n{"a":2,"b\\"c":{"z":1}}'
    _, _, ended = fields_of(data, ["a"], every=True)
    assert ended[:2] == (1, kernels.UNKNOWN)
    assert data[ended[2] : ended[3]] == b'b\\"c'
    assert fields_of(data, ["a", 'b"c'], every=True)[2][0] == 2


@given(st.text(st.characters(codec=None), max_size=50))
@settings(max_examples=50 if SLOW else tries(50, 200), deadline=None)
def test_strings_without_their_escapes(text: str) -> None:
    data = json.dumps({"text": text}).encode()
    values, kinds, _ = fields_of(data, ["text"])
    (value,), (lone,) = gathered(data, values, kinds, [0])
    assert value == reference.unescape(json.dumps(text)[1:-1].encode())
    assert lone == any("\ud800" <= c <= "\udfff" for c in text)


def test_columns_are_joined_with_a_space() -> None:
    data = b'{"a":"x","b":"1\\n"}\n{"b":"2"}\n{"a":null}'
    values, kinds, _ = fields_of(data, ["a", "b"])
    assert gathered(data, values, kinds, [1, 0])[0] == [b"1\n x", b"2 ", b" "]


def scanned(
    data: bytes, final: bool, fields: int, expected: int, escape: int = kernels.NO_ESCAPE
) -> Any:
    most = len(data) // 2 + 1
    lines = np.empty((most, 3), np.int32)
    values, kinds = np.empty((fields, most, 2), np.int32), np.zeros((fields, most), np.uint8)
    count, why, position, found = kernels.csv_records(
        padded(data), len(data), np.uint8(44), np.uint8(escape), final, np.arange(fields), expected,
        lines, values, kinds,
    )  # fmt: skip
    return lines[:count], values[:, :count], kinds[:, :count], why, position, found


CSV = st.text(st.sampled_from('",\n\r\\ab é\ufeff'), max_size=70).map(str.encode)
ESCAPES = st.sampled_from([b'"', b"\\"])


@given(CSV, ESCAPES)
@example(b'a,"x\ny",c\r\n\r\nd\ne,f', b'"')
@example(b'"ab cd" ef,1\n', b'"')
@example(b'"a""b","",\n"" ""x,y', b'"')
@example(b'a,b\n\xef\xbb\xbf\xef\xbb\xbf"c\n",d\n\xef\xbb\xbf\n\xef\xbb', b'"')
@example(b'a,"' + b"x" * 31 + b'""' + b"y" * 64 + b'"', b'"')
@example(b'"a\\"b","c\\\\",\\"\n"d\\e"', b"\\")
@settings(max_examples=100 if SLOW else tries(125, 500), deadline=None)
def test_csv_records_and_fields(data: bytes, escape: bytes) -> None:
    expected, open_quote = reference.csv_records(data, b",", escape)
    lines, values, kinds, why, position, _ = scanned(data, True, 3, 0, escape[0])
    assert [tuple(line) for line in lines.tolist()] == [span for span, _ in expected]
    assert (why == kernels.OPEN_QUOTE) == (open_quote is not None)
    if open_quote is not None:
        assert position == open_quote
    for k in range(3):
        values_k, kinds_k = np.ascontiguousarray(values), np.ascontiguousarray(kinds)
        for number, (_, fields) in enumerate(expected):
            if k >= len(fields):
                kinds_k[k, number] = kernels.ABSENT
                values_k[k, number] = 0
        found, _ = gathered(data, values_k, kinds_k, [k], escape[0])
        for (_, fields), value, kind in zip(expected, found, kinds_k[k].tolist(), strict=True):
            field = fields[k] if k < len(fields) else None
            assert value == (field or b"")
            assert (kind == kernels.ABSENT) == (field is None)


@given(CSV, st.integers(1, 9), ESCAPES)
@settings(max_examples=80 if SLOW else tries(75, 300), deadline=None)
def test_csv_is_cut_in_blocks_where_records_end(data: bytes, size: int, escape: bytes) -> None:
    """A scan that does not see the end of the file gives the first of the same records."""
    every, _ = reference.csv_records(data, b",", escape)
    for end in range(0, len(data), size):
        lines, _, _, why, _, _ = scanned(data[:end], False, 0, 0, escape[0])
        assert not why
        found = [tuple(line) for line in lines.tolist()]
        assert found == [span for span, _ in every][: len(found)]
        # Only what ends right before the end may be left for the next block.
        assert all(span.end >= end for span, _ in every[len(found) :])


def test_csv_records_that_are_refused() -> None:
    for data, why, position, fields in (
        (b"a,b\nc\nd,e\n", kernels.RAGGED, 4, 1),
        (b"a,b\nc,d,e", kernels.RAGGED, 4, 3),
        (b'a,b\n"c" d,e\n', kernels.AFTER_QUOTE, 4, 0),
        (b'a,b\nc,"d', kernels.OPEN_QUOTE, 6, 1),
    ):
        lines, _, _, *ended = scanned(data, True, 0, 2)
        assert ended == [why, position, fields] and len(lines) == 1


@given(st.lists(st.text("ab{}é\r", max_size=40), max_size=8), st.randoms(), st.booleans())
@settings(max_examples=50 if SLOW else tries(50, 200), deadline=None)
def test_records_are_copied(texts: list[str], generator: random.Random, with_extra: bool) -> None:
    data = "\n".join(texts).encode()
    spans = [span for span in reference.json_lines(data) if generator.random() < 0.7]
    extra = [generator.randbytes(generator.randint(0, 50)) for _ in spans] if with_extra else None
    joined = b"".join(extra or [])
    ends = np.cumsum([0, *map(len, extra)]) if extra is not None else np.empty(0, np.int64)
    expected = reference.copy_records(data, spans, extra)
    out = np.empty(len(data) + len(joined) + 1 + PAD, np.uint8)
    lines = np.array(spans, np.int32).reshape(-1, 3)
    size = kernels.copy_records(padded(data), lines, padded(joined), ends, out)
    assert out[:size].tobytes() == expected
