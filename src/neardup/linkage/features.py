"""Values of fields to shingles: those of a record together, and those of each field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of, buffer_of, large_strings, numbers
from neardup.io.columns import string_scalar
from neardup.kernels.jaccard import Sets
from neardup.linkage.fields import Field, LinkSpec
from neardup.match.prefix_index import count_shingles
from neardup.match.verifying import make_sets
from neardup.sketch.texts import Ragged, composed_texts, text_buffers
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec
from neardup.threads import Pool
from neardup.tuning import TUNING

#: Characters that are no part of any value: its beginning and its end.
_BEGIN, _END = "\x02", "\x03"
RECORD = ShingleSpec(unit="char", n=3, nfkc=True, strip_accents=True)
_VALUE = ShingleSpec(unit="char", n=2, nfkc=True, strip_accents=True)
_EXACT = ShingleSpec(unit="char", n=2, keep_case=True, raw=True)
#: A mark belongs to the character before it, of a word or none.
_NO_WORD, _NO_DIGIT = r"(?:[^\p{L}\p{M}\p{N}]|^\p{M})[^\p{L}\p{N}]*", r"[^\p{Nd}]+"
#: Which characters of ASCII these leave.
_COUNT = {
    _NO_WORD: np.array([chr(code).isalnum() for code in range(128)]),
    _NO_DIGIT: np.array([chr(code).isdigit() for code in range(128)]),
}
_NUMBER = r"^\s*[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"
_TAG = np.uint64(0x9E3779B97F4A7C15)


class Features(NamedTuple):
    """Sets, hashes and numbers of n records with k fields, which are compared.

    Attributes:
        records: Sets of shingles of each record, 3-grams; those of its fields together.
        values: Sets of 2-grams of each value: that of field f of record r is number ``r * k + f``.
        hashes: uint64[n, k]: a hash of each value; 0 where it is missing.
        numbers: float64[n, numeric fields]: values of these; NaN where there is none.
        weights: float32[power of two]: the weight of a shingle of a record, by its last bits: the
            logarithm of the records over those that have it.
        distinct: int64[k]: distinct values of each field.
        counted: Records that weights and distinct values are counted in.
        words: float64[k]: mean number of words of the values of a text field; 0 of others.
        wordiness: The same of all text fields together.
        swapped: Pairs of fields whose values are swapped in some records.
    """

    records: Sets
    values: Sets
    hashes: np.ndarray
    numbers: np.ndarray
    weights: np.ndarray
    distinct: np.ndarray
    counted: int
    words: np.ndarray
    wordiness: float
    swapped: tuple[tuple[int, int], ...] = ()

    @property
    def present(self) -> np.ndarray:
        """bool[n, k]: which values are there."""
        return np.asarray(self.hashes != 0)


class _Features(NamedTuple):
    """Values of `Features` of a batch of records."""

    records: Ragged
    values: Ragged
    hashes: np.ndarray
    numbers: np.ndarray
    words: np.ndarray


class _Gathered:
    """Rows that are appended to an array that has capacity for all of them, most likely.

    Memory that is not filled is not used.
    """

    def __init__(self, capacity: int) -> None:
        self._values, self._filled = np.empty(capacity, np.uint64), 0
        self._sizes = [np.zeros(1, np.int64)]

    def append(self, rows: Ragged) -> None:
        end = self._filled + len(rows.values)
        if end > len(self._values):
            # One character may become several, as a ligature does.
            larger = np.empty(2 * end, np.uint64)
            larger[: self._filled] = self._values[: self._filled]
            self._values = larger
        self._values[self._filled : end] = rows.values
        self._filled = end
        self._sizes.append(np.diff(rows.offsets))

    def rows(self) -> Ragged:
        return Ragged(self._values[: self._filled], np.concatenate(self._sizes).cumsum())


def make_features(
    columns: tuple[pa.LargeStringArray, ...],
    spec: LinkSpec,
    pool: Pool,
    shingle: ShingleSpec = RECORD,
) -> Features:
    """Prepare records for candidates and comparisons.

    Args:
        columns: Values of each field.
        spec: Settings of the call.
        pool: Threads.
        shingle: How the values of a record become its shingles.
    """
    documents = len(columns[0])
    tokenisers = Tokeniser(shingle), Tokeniser(_VALUE), Tokeniser(_EXACT)

    def work(first: int, last: int) -> _Features:
        return _features_of(
            [column.slice(first, last - first) for column in columns], spec, tokenisers
        )

    # Each shingle begins at a character, or before the first one.
    most = documents * len(columns)
    for column in columns:
        _, offsets = text_buffers(column)
        most += int(offsets[-1] - offsets[0])
    of_records, of_values, rest = _Gathered(most), _Gathered(most), []
    step = TUNING.prepared_records
    slices = range(0, max(documents, 1), step)
    with pool.stage("prepare records", documents, "records") as advance:
        for part in pool.ordered(lambda low: work(low, min(low + step, documents)), slices):
            of_records.append(part.records)
            of_values.append(part.values)
            rest.append((part.hashes, part.numbers, part.words))
            advance(len(part.hashes))
        records, values = make_sets(of_records.rows()), of_values.rows()
        # Values are never ruled out by their bitmaps, and have none.
        bare = Sets(
            values.values,
            values.offsets[:-1],
            np.diff(values.offsets).astype(np.int32),
            np.zeros((0, 1), np.uint64),
        )
        hashes, numbers = (np.concatenate([part[k] for part in rest]) for k in range(2))
        distinct = np.array(list(pool.ordered(_distinct, hashes.T)))
        counts = count_shingles(records, np.arange(documents, dtype=np.int32), pool)
        weights = np.log((documents + 1) / np.maximum(counts, 1)).astype(np.float32)
        weights = np.maximum(weights, 1e-6)
        words = np.sum([part[2] for part in rest], axis=0)
        of_text = np.array([field.compare == "text" for field in spec.fields])
        filled = (hashes != 0).sum(axis=0) * of_text
        means = np.divide(words, filled, out=np.zeros(len(words)), where=filled > 0)
        wordiness = float(words.sum() / max(int(filled.sum()), 1))
        return Features(
            records, bare, hashes, numbers, weights, distinct, documents, means, wordiness
        )


def _distinct(hashes: np.ndarray) -> int:
    """Return the number of distinct values, of uint64[n]; 0 is no value."""
    ordered = np.sort(hashes)
    first = np.diff(ordered, prepend=np.uint64(0)) != 0
    return int(np.count_nonzero(first))


def _features_of(
    columns: list[pa.LargeStringArray], spec: LinkSpec, tokenisers: tuple[Tokeniser, ...]
) -> _Features:
    of_records, of_values, exact = tokenisers
    rows, fields = len(columns[0]), len(columns)
    plain = [
        plain_values(column, field) for column, field in zip(columns, spec.fields, strict=True)
    ]
    numeric = [c for c, f in zip(plain, spec.fields, strict=True) if f.compare == "numeric"]
    # Record by record: the values of a record are contiguous.
    order = np.arange(rows * fields).reshape(fields, rows).T.ravel()
    text = pa.concat_arrays([_bordered(column) for column in plain]).take(array_of(order))
    tokens, _ = of_values.tokens(*of_values.normalise(text))
    hashes = np.empty((rows * fields, 2), np.uint64)
    values = of_values.to_sets(of_values.shingles(tokens, hashes))
    if replace(of_records.spec, n=_VALUE.n) != _VALUE:
        tokens = of_records.documents(*of_records.normalise(text))
    grams = of_records.shingles(tokens)
    if spec.tagged:
        tags = np.tile(np.arange(1, fields + 1, dtype=np.uint64) * _TAG, rows)
        mixed = (grams.values ^ np.repeat(tags, np.diff(grams.offsets))) * _TAG
        grams = Ragged(mixed ^ mixed >> np.uint64(32), grams.offsets)
    records = of_records.to_sets(Ragged(grams.values, grams.offsets[::fields].copy()))
    present = np.diff(values.offsets) > 0
    for k, (column, field) in enumerate(zip(plain, spec.fields, strict=True)):
        if field.compare == "exact":
            hashes[k::fields] = _hashes(column, exact)
    return _Features(
        Ragged(records.values.copy(), records.offsets),
        Ragged(values.values.copy(), values.offsets),
        np.where(present, hashes[:, 0] | np.uint64(1), np.uint64(0)).reshape(rows, fields),
        np.column_stack([np.empty((rows, 0)), *(_numbers(column) for column in numeric)]),
        np.array(
            [
                _words(c) if f.compare == "text" else 0
                for c, f in zip(plain, spec.fields, strict=True)
            ]
        ),
    )


def plain_values(column: pa.LargeStringArray, field: Field) -> Any:
    """Return the parts of values that count: letters and digits, digits, a number, or all.

    All values are in canonical composition, without characters that are not compared.
    """
    column = composed_texts(column)
    if field.compare == "digits":
        return _replaced(column, _NO_DIGIT, "")
    if field.compare == "numeric":
        column = pc.if_else(pc.match_substring_regex(column, _NUMBER), column, string_scalar(""))
        # 1e999 is no number that can be compared.
        finite = array_of(np.isfinite(_numbers(column)))
        return pc.if_else(finite, column, string_scalar(""))
    if field.compare == "exact":
        return pc.utf8_trim_whitespace(column)
    return pc.utf8_trim_whitespace(_replaced(column, _NO_WORD, " "))


def _words(plain: Any) -> int:
    """Return the number of words of values, which single spaces separate."""
    spaces: Any = pc.sum(pc.count_substring(plain, " "))
    filled: Any = pc.sum(pc.not_equal(plain, string_scalar("")))
    return int((spaces.as_py() or 0) + (filled.as_py() or 0))


def _hashes(column: Any, tokeniser: Tokeniser) -> np.ndarray:
    """Return uint64[values, 2]: hashes of values as they are written."""
    hashes = np.empty((len(column), 2), np.uint64)
    tokeniser.shingles(tokeniser.tokens(*tokeniser.normalise(column))[0], hashes)
    return hashes


def _replaced(column: Any, pattern: str, replacement: str) -> Any:
    """Replace the characters that do not count, which a pattern matches."""
    data, offsets = text_buffers(column)
    part = data[offsets[0] : offsets[-1]]
    if not column.null_count and part.max(initial=0) < len(_COUNT[pattern]):
        return _replaced_bytes(part, offsets - offsets[0], _COUNT[pattern][part], replacement)
    if not pc.any(pc.match_substring_regex(column, pattern)).as_py():
        return column
    return pc.replace_substring_regex(column, pattern, replacement)


def _replaced_bytes(
    data: np.ndarray, offsets: np.ndarray, counts: np.ndarray, replacement: str
) -> pa.LargeStringArray:
    """Do the same to values in ASCII, of which `counts` has the characters that stay."""
    stays = counts
    if replacement:
        # Of a run of others the first one becomes a space; a run ends with its value.
        stays = np.append(True, counts)[:-1]
        stays[offsets[:-1][offsets[:-1] < len(data)]] = True
        stays |= counts
        data = np.where(counts, data, np.uint8(ord(replacement)))
    ends = np.append(0, np.cumsum(stays))[offsets]
    return large_strings(ends, buffer_of(data[stays]))


def _bordered(column: Any) -> Any:
    joined: Any = cast(Any, pc.binary_join_element_wise)(
        string_scalar(_BEGIN), column, string_scalar(_END), string_scalar("")
    )
    return pc.if_else(pc.equal(column, string_scalar("")), string_scalar(""), joined)


def _numbers(plain: Any) -> np.ndarray:
    known: Any = pc.if_else(pc.equal(plain, string_scalar("")), string_scalar("nan"), plain)
    return numbers(pc.utf8_trim_whitespace(known).cast(pa.float64()))
