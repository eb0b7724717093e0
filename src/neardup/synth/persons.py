"""Synthetic persons with known duplicates: typing errors, swapped names, missing fields.

A person is a function of spec and position, as a note is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.errors import SpecError
from neardup.synth.demo_notes import COMMON
from neardup.synth.note_files import Written, both_files, truth_path
from neardup.synth.synthetic_words import (
    I64,
    U64,
    Stream,
    make_words,
    permute,
    stream_keys,
    strings,
    unit,
)

ENDINGS = (".csv", ".parquet")
FIELDS = ("given_name", "surname", "birth", "street", "suburb", "postcode", "state", "phone")
_BATCH = 1 << 16
#: Characters of a value at most, with space for those that an error inserts.
_WIDTH = 32
#: Different values of names, streets and suburbs; the frequency of a value is 1 / (rank + 10).
_GIVEN, _SURNAMES, _STREETS, _SUBURBS, _STATES = 800, 30_000, 8_000, 3_000, 8
_KINDS = ("street", "road", "avenue", "place", "court", "close")
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
_DIGITS = np.frombuffer(b"0123456789", np.uint8)

U8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class PersonSpec:
    """Settings of synthetic persons.

    Attributes:
        documents: Number of records.
        seed: Another seed, other persons.
        near: Share of the records that are another record of a person, with errors.
        missing: Probability that a value is missing.
        swapped: Share of the records with errors whose names are swapped.

    Raises:
        SpecError: A value is out of range.
    """

    documents: int
    seed: int = 0
    near: float = 0.2
    missing: float = 0.05
    swapped: float = 0.05

    def __post_init__(self) -> None:
        if type(self.documents) is not int or not 1 <= self.documents < 2**31:
            raise SpecError(f"documents is {self.documents!r}; expected a number from 1 to 2**31-1")
        for name in ("near", "missing", "swapped"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value < 1:
                raise SpecError(f"{name} is {value!r}; expected a number in [0, 1)")


def persons(spec: PersonSpec, start: int = 0, stop: int | None = None) -> pa.Table:
    """Generate the records at positions [start, stop).

    Returns:
        Columns ``id`` and `FIELDS`, all string, null where a value is missing.

    >>> persons(PersonSpec(10), 3, 5)["id"].to_pylist()
    ['person-0000003', 'person-0000004']
    """
    docs = np.arange(start, spec.documents if stop is None else stop, dtype=np.int64)
    source, derived = _sources(spec, docs)
    values = _values(spec.seed, source)
    rows = np.flatnonzero(derived)
    for error in range(3):
        # One error at least; a second and a third in one half of the records each.
        changed = rows if error == 0 else rows[_draw(spec, docs[rows], 5 + error) < 0.5]
        which = (_draw(spec, docs[changed], 3 + error) * len(FIELDS)).astype(np.int64)
        for k, name in enumerate(FIELDS):
            there = changed[which == k]
            values[name][there] = _mistyped(spec, docs[there], values[name][there], error)
    swap = rows[_draw(spec, docs[rows], 9) < spec.swapped]
    given, surname = values["given_name"][swap], values["surname"][swap]
    values["given_name"][swap], values["surname"][swap] = surname, given
    columns = [_ids(spec, docs)]
    for k, name in enumerate(FIELDS):
        values[name][_draw(spec, docs, 10 + k) < spec.missing] = 0
        columns.append(_column(values[name]))
    return pa.Table.from_arrays(columns, ["id", *FIELDS])


def person_truth(spec: PersonSpec, start: int = 0, stop: int | None = None) -> pa.Table:
    """Return whose records those at positions [start, stop) are: ``id`` and ``group``."""
    docs = np.arange(start, spec.documents if stop is None else stop, dtype=np.int64)
    columns = [_ids(spec, docs), _ids(spec, _sources(spec, docs)[0])]
    return pa.Table.from_arrays(columns, ["id", "group"])


def write_persons(
    spec: PersonSpec, output: Path, truth: Path | None = None, overwrite: bool = False
) -> Written:
    """Write persons as CSV or Parquet, and their ground truth as Parquet, both by rename.

    Raises:
        SpecError: Another ending.
        OutputError: A file exists, or can't be written.
    """
    import pyarrow.csv as pcsv
    import pyarrow.parquet as pq

    size = 0
    with both_files(output, truth, ENDINGS, overwrite) as (new, known):
        first = persons(spec, 0, 0)
        opened: Any = pcsv.CSVWriter if output.suffix == ".csv" else pq.ParquetWriter
        with opened(new, first.schema) as writer:
            for low, high in _ranges(spec):
                table = persons(spec, low, high)
                size += table.nbytes
                writer.write_table(table)
        pq.write_table(person_truth(spec), known)
    return Written(spec.documents, size, output, truth_path(output, truth))


def _ranges(spec: PersonSpec) -> Iterator[tuple[int, int]]:
    for low in range(0, spec.documents, _BATCH):
        yield low, min(low + _BATCH, spec.documents)


def _sources(spec: PersonSpec, docs: I64) -> tuple[I64, npt.NDArray[np.bool_]]:
    """Return whose record each is, as a position, and which have errors."""
    derived = round(spec.near * spec.documents)
    rank = permute(docs, spec.documents, spec.seed)
    near = rank < derived
    chosen = derived + (_draw(spec, docs[near], 0) * (spec.documents - derived)).astype(np.int64)
    source = docs.copy()
    source[near] = permute(chosen, spec.documents, spec.seed, back=True)
    return source, near


def _draw(spec: PersonSpec, docs: I64, purpose: int) -> npt.NDArray[np.float64]:
    return unit(stream_keys(spec.seed, Stream.EDIT, docs * 32 + purpose))


@lru_cache(maxsize=1)
def _lexicon() -> U8:
    """Return invented names as rows of bytes, uint8[words, 32]."""
    total = _GIVEN + _SURNAMES + _STREETS + _SUBURBS
    made = [word for word in make_words(len(COMMON) + 2 * total)[len(COMMON) :] if word.isascii()]
    return np.array(made[:total], f"S{_WIDTH}").view(np.uint8).reshape(total, _WIDTH)


def _values(seed: int, source: I64) -> dict[str, U8]:
    """Return the values of persons without errors, as rows of bytes."""
    draws = {
        name: unit(stream_keys(seed, Stream.VALUE, source * 16 + k)) for k, name in enumerate(_KEYS)
    }
    words, first = _lexicon(), 0
    found = {}
    for name, size in (
        ("given_name", _GIVEN),
        ("surname", _SURNAMES),
        ("street", _STREETS),
        ("suburb", _SUBURBS),
    ):
        # Cumulative frequency of 1 / (rank + 10), inverted.
        rank = 10 * ((size + 10) / 10) ** draws[name] - 10
        found[name] = words[first + np.minimum(rank.astype(np.int64), size - 1)].copy()
        first += size
    suburb = 10 * ((_SUBURBS + 10) / 10) ** draws["suburb"] - 10
    found["postcode"] = _digits(1000 + suburb.astype(np.int64) * 2, 4)
    states = np.array([f"s{k}t" for k in range(_STATES)], f"S{_WIDTH}")
    found["state"] = _bytes(states)[suburb.astype(np.int64) % _STATES]
    year, month, day = (draws[name] for name in ("year", "month", "day"))
    birth = (1930 + (year * 80).astype(np.int64)) * 10_000
    birth += (1 + (month * 12).astype(np.int64)) * 100 + 1 + (day * 28).astype(np.int64)
    found["birth"] = _digits(birth, 8)
    found["phone"] = _digits((draws["phone"] * 90_000_000).astype(np.int64) + 10_000_000, 8)
    kinds = _bytes(np.array([f" {kind}" for kind in _KINDS], f"S{_WIDTH}"))
    number = _digits(1 + (draws["number"] * 200).astype(np.int64), 3)
    space = np.full((len(source), 1), 32, np.uint8)
    kind = kinds[(draws["kind"] * len(_KINDS)).astype(np.int64)]
    found["street"] = _left(np.hstack([number, space, found["street"], kind]))
    return {name: found[name] for name in FIELDS}


_KEYS = (
    *("given_name", "surname", "street", "suburb"),
    *("year", "month", "day", "phone", "number", "kind"),
)


def _bytes(values: npt.NDArray[np.bytes_]) -> U8:
    return values.view(np.uint8).reshape(len(values), -1)


def _digits(values: I64, width: int) -> U8:
    """Return numbers as rows of digits, with leading zeros."""
    scales = 10 ** np.arange(width - 1, -1, -1)
    found = np.zeros((len(values), _WIDTH), np.uint8)
    found[:, :width] = 48 + values[:, None] // scales % 10
    return found


def _left(rows: U8) -> U8:
    """Return rows of bytes with the zeros behind all others, cut to the width."""
    order = np.argsort(rows == 0, axis=1, kind="stable")
    return np.ascontiguousarray(np.take_along_axis(rows, order, axis=1)[:, :_WIDTH])


def _mistyped(spec: PersonSpec, docs: I64, rows: U8, error: int) -> U8:
    """Replace, delete, insert or transpose one character of each row."""
    keys: U64 = stream_keys(spec.seed, Stream.SHARE, docs * 4 + error)
    length = (rows != 0).sum(axis=1)
    offset = (unit(keys) * length).astype(np.int64)[:, None]
    kind = (keys & np.uint64(3)).astype(np.int64)[:, None]
    is_digit = (rows[:, :1] >= 48) & (rows[:, :1] <= 57)
    pick = (keys >> np.uint64(2) & np.uint64(0xFFFF)).astype(np.int64)[:, None]
    letter = np.where(is_digit, _DIGITS[pick % 10], _LETTERS[pick % 26])
    column = np.arange(_WIDTH)[None, :]
    source = np.where((kind == 1) & (column >= offset), column + 1, column)
    source = np.where((kind == 2) & (column > offset), column - 1, source)
    last = offset + 1 >= length[:, None]
    turned = (kind == 3) & ~last
    source = np.where(turned & (column == offset), column + 1, source)
    source = np.where(turned & (column == offset + 1), column - 1, source)
    found = np.take_along_axis(rows, np.clip(source, 0, _WIDTH - 1), axis=1)
    found[:, -1] = 0
    put = (column == offset) & ((kind == 0) | (kind == 2)) & (length[:, None] > 0)
    return np.where(put, letter, found).astype(np.uint8)


def _column(rows: U8) -> pa.Array[Any]:
    """Return rows of bytes as strings, null where there is none."""
    there = rows != 0
    offsets = np.append(0, np.cumsum(there.sum(axis=1))).astype(np.int32)
    valid = pa.py_buffer(np.packbits(there.any(axis=1), bitorder="little").data)
    buffers: list[pa.Buffer | None] = [
        valid,
        pa.py_buffer(offsets.data),
        pa.py_buffer(rows[there].data),
    ]
    return pa.Array.from_buffers(pa.string(), len(rows), buffers)


def _ids(spec: PersonSpec, docs: I64) -> pa.Array[Any]:
    width = max(7, len(str(spec.documents - 1)))
    return strings([f"person-{doc:0{width}}" for doc in docs.tolist()])
