"""Columns of `keep`, with the order that one machine has, and Spark too, or the error there."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

DAY, HOUR = datetime.timedelta(1), datetime.timedelta(hours=1)
NOON = datetime.datetime(1999, 12, 31, 12)


class Values(NamedTuple):
    """Values of a column, and how they are ordered."""

    values: pa.Array
    ranks: list[int]  # of each value, equal for ties; the highest are of nulls and empty text
    one_machine: bool = True  # whether it can order them
    spark: bool = True


def text(*values: str | None) -> pa.Array:
    return pa.array(values, pa.string())


BIG = 2**53
COLUMNS: dict[str, Values] = {
    "whole": Values(text("10", "9", "-1", None), [2, 1, 0, 3]),
    "hex": Values(text("0x10", "0x9", "0xa", "0XB"), [1, 2, 3, 0]),  # as text
    "hex among numbers": Values(text("0x10", "9", "10"), [0, 2, 1]),
    "hex digests": Values(text("1e3", "ff", "0a"), [1, 2, 0]),
    "exponents": Values(text("1e3", "999", "1E-2", "1.e+1", ".5e1"), [4, 3, 0, 2, 1]),
    "zeros before": Values(text("007", "8", "0010", "7"), [0, 1, 2, 0]),
    "decimals": Values(text("9.5", "10.25", "10.250", "-.5"), [1, 2, 2, 0]),
    "signs": Values(text("+5", "-5", "5", "-0", "0"), [2, 0, 2, 1, 1]),
    "signs and text": Values(text("+5", "-5", "--5"), [0, 2, 1]),
    "blank before": Values(text(" 5", "10", "7"), [0, 1, 2]),
    "blank after": Values(text("5 ", "10", "7"), [1, 0, 2]),
    "line break": Values(text("5\n", "10", "7"), [1, 0, 2]),
    "tab": Values(text("\t5", "10", "7"), [0, 1, 2]),
    "nothing": Values(text("", "10", "9"), [2, 1, 0]),
    "nothing, and words": Values(text("", "b", None, "a"), [2, 1, 2, 0]),
    "blank only": Values(text(" ", "10", "9"), [0, 1, 2]),
    "underscore": Values(text("1_0", "9", "10"), [1, 2, 0]),
    "comma": Values(text("1,5", "9", "10"), [0, 2, 1]),
    "letters of Java": Values(text("1d", "9", "10f"), [1, 2, 0]),
    "other digits": Values(text("٣", "10", "9"), [2, 0, 1]),
    "words": Values(text("b", "a", "B", "é", "e", "z"), [2, 1, 0, 5, 3, 4]),
    "above 16 bits": Values(text("\U0001f600", "\ufffd", "z"), [2, 1, 0]),
    "infinite": Values(text("inf", "1", "-Infinity", "+INF"), [2, 1, 0, 2]),
    "not a number": Values(text("nan", "1", "NaN", None), [1, 0, 1, 2]),
    "signed nan": Values(text("-nan", "10", "9"), [0, 1, 2]),
    "beyond double": Values(text("1e400", "1", "inf"), [1, 0, 1]),
    "below double": Values(text("1e-400", "0", "1"), [0, 0, 1]),
    "2^53": Values(text(str(BIG), str(BIG + 1), "7"), [1, 2, 0]),
    "2^53 with a sign": Values(text(f"+{BIG}", str(BIG + 1), "7"), [1, 2, 0]),
    "64 bits": Values(text(str(2**63 - 1), str(2**63 - 2), str(-(2**63))), [2, 1, 0]),
    "beyond 64 bits": Values(text("12345678901234567890", "12345678901234567891", "-1"), [1, 2, 0]),
    "38 digits": Values(text("9" * 38, "9" * 37 + "8", "1"), [2, 1, 0]),
    "39 digits": Values(text("9" * 39, "1"), [1, 0], one_machine=False, spark=False),
    "2^53 and a fraction": Values(text(str(BIG), str(BIG + 1), "0.5"), [1, 2, 0], spark=False),
    "large exponent": Values(text("0.25", "1e300"), [0, 1], one_machine=False, spark=False),
    "nulls only": Values(text(None, None), [0, 0]),
    "dates as text": Values(text("2020-01-10", "2020-01-9", "2019-12-31"), [1, 2, 0]),
    "bigint": Values(pa.array([BIG, BIG + 1, -1, None], pa.int64()), [1, 2, 0, 3]),
    "tinyint": Values(pa.array([1, -128, 127, None], pa.int8()), [1, 0, 2, 3]),
    "double": Values(pa.array([0.0, -0.0, np.nan, np.inf, -np.inf, None]), [1, 1, 3, 2, 0, 4]),
    "float": Values(pa.array([1.5, np.nan, -1.5, None], pa.float32()), [1, 2, 0, 3]),
    "boolean": Values(pa.array([True, False, None]), [1, 0, 2]),
    "decimal": Values(
        pa.array([Decimal("10.25"), Decimal("-9.5"), Decimal("9.5"), None], pa.decimal128(38, 2)),
        [2, 0, 1, 3],
    ),
    "date": Values(pa.array([NOON.date(), NOON.date() - DAY, None]), [1, 0, 2]),
    "timestamp": Values(
        pa.array([NOON, NOON + datetime.timedelta(microseconds=1), None], pa.timestamp("us")),
        [0, 1, 2],
    ),
    "timestamp of a zone": Values(
        pa.array([NOON + HOUR, NOON, datetime.datetime(1, 1, 1), None], pa.timestamp("us", "UTC")),
        [2, 1, 0, 3],
    ),
    "binary": Values(pa.array([b"\xff", b"a", b"", b"ab", None]), [3, 1, 0, 2, 4]),
    "duration": Values(pa.array([DAY, HOUR, -HOUR, None], pa.duration("us")), [2, 1, 0, 3]),
}  # fmt: skip


def in_order(ranks: list[int], descending: bool, nulls: int) -> list[int]:
    """Return rows in order; ties by row, nulls last."""

    def place(row: int) -> tuple[bool, int, int]:
        return row in null_rows, -ranks[row] if descending else ranks[row], row

    highest = sorted(range(len(ranks)), key=lambda row: ranks[row])
    null_rows = set(highest[len(ranks) - nulls :])
    return sorted(range(len(ranks)), key=place)


def expected_order(column: Values, descending: bool) -> list[Any]:
    """Return the rows of a column in keep order.

    NaN, among numbers, is next to null in both directions.
    """
    values = column.values
    missing = values.null_count + values.to_pylist().count("")
    found = in_order(column.ranks, descending, missing)
    unordered = [
        row
        for row, value in enumerate(values.to_pylist())
        if value is not None and str(value).lower() == "nan"
    ]
    if not unordered or not descending:
        return found
    rest = [row for row in found if row not in unordered]
    return [*rest[: len(rest) - missing], *unordered, *rest[len(rest) - missing :]]
