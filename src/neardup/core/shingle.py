"""Texts to tokens to shingles."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.core.threads import scratch
from neardup.kernels import shingles as shingle_kernels
from neardup.kernels import text as text_kernels
from neardup.spec import ShingleSpec

__all__ = ["Ragged", "Stemmer", "as_text", "shingle", "shingle_sets", "text_buffers", "tokenise"]

#: Documents longer than this (in shingles) are sorted by the library, without the scratch array.
_LONGEST_SCRATCH = 1 << 20


class Ragged(NamedTuple):
    """Rows of different lengths in one array: row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    Attributes:
        values: uint64[].
        offsets: int64[rows + 1].
    """

    values: np.ndarray
    offsets: np.ndarray


def as_text(texts: Sequence[str | None] | Any) -> Any:
    """Return texts as a large_string Arrow array without nulls (None counts as empty)."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    array = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
    if array.type != pa.large_string():
        array = array.cast(pa.large_string())
    return pc.fill_null(array, "") if array.null_count else array


def text_buffers(text: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return (data uint8[], offsets int64[documents + 1]) of a large_string array, uncopied."""
    _, offsets, data = text.buffers()
    if len(text) == 0:
        return np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    first = text.offset
    view = np.frombuffer(offsets, dtype=np.int64)[first : first + len(text) + 1]
    if data is None or data.size == 0:
        return np.zeros(1, dtype=np.uint8), view
    return np.frombuffer(data, dtype=np.uint8), view


def _normalise(text: Any, spec: ShingleSpec) -> Any:
    """Apply the options that change code points; texts in ASCII have none of those."""
    if not (spec.nfkc or spec.strip_accents):
        return text
    ascii = pc.string_is_ascii(text)
    if pc.all(ascii).as_py() is not False:
        return text
    other = pc.filter(text, pc.invert(ascii))
    if spec.nfkc:
        other = pc.utf8_normalize(other, form="NFKC")
    if spec.strip_accents:
        other = pc.utf8_normalize(other, form="NFD")
        other = pc.replace_substring_regex(other, r"\p{Mn}+", "")
        other = pc.utf8_normalize(other, form="NFC")
    return pc.replace_with_mask(text, pc.invert(ascii), other)


class Stemmer:
    """Snowball stems by token hash, for all threads of a run.

    A token is stemmed when it is first met, and looked up by its hash from then on, so that
    PyStemmer sees each distinct token of a corpus about once.

    Args:
        language: Name of a Snowball algorithm.
        keep_case: Whether tokens keep their case.
    """

    def __init__(self, language: str, keep_case: bool = False) -> None:
        from Stemmer import Stemmer as Snowball

        self._snowball = Snowball(language, 0)  # the table is the cache
        self._keep_case = keep_case
        self._lock = threading.Lock()
        self._count = 0
        # Replaced as a whole, never changed, so that readers need no lock.
        self._table = (np.zeros(1 << 16, dtype=np.uint64), np.zeros(1 << 16, dtype=np.uint64))

    @property
    def learned(self) -> int:
        """Tokens that were stemmed so far; two threads may both stem one."""
        return self._count

    def __call__(self, tokens: np.ndarray, data: np.ndarray, spans: np.ndarray) -> None:
        """Replace the hash of each token by the hash of its stem, in place.

        Args:
            tokens: uint64[tokens].
            data: uint8[], the text.
            spans: int64[tokens, 2], where each token lies in it.
        """
        missing = np.empty(len(tokens), dtype=np.int64)
        count = text_kernels.replace_known(tokens, *self._table, tokens, missing)
        if count:
            self._learn(tokens, data, spans, missing[:count])

    def _learn(
        self, tokens: np.ndarray, data: np.ndarray, spans: np.ndarray, missing: np.ndarray
    ) -> None:
        new, index = np.unique(tokens[missing], return_index=True)
        strings = [data[a:b].tobytes().decode() for a, b in spans[missing[index]]]
        if not self._keep_case:
            # As the kernel lowers: without regard to context.
            strings = [s.lower().replace("ς", "σ") for s in strings]
        with self._lock:
            stems = self._snowball.stemWords(strings)
            stem_hashes = np.empty(len(stems), dtype=np.uint64)
            text_kernels.hash_tokens(*text_buffers(as_text(stems)), stem_hashes)
            keys, values = self._table
            self._count += len(new)
            size = len(keys)
            while self._count * 2 > size:
                size *= 2
            larger = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.uint64)
            known = keys != 0
            text_kernels.add_replacements(keys[known], values[known], *larger)
            text_kernels.add_replacements(new, stem_hashes, *larger)
            self._table = larger
        again = tokens[missing]
        text_kernels.replace_known(again, *larger, again, np.empty(len(again), dtype=np.int64))
        tokens[missing] = again


def tokenise(text: Any, spec: ShingleSpec, stemmer: Stemmer | None = None) -> Ragged:
    """Return the token hashes of each document, in order.

    Args:
        text: large_string array without nulls, see `as_text`.
        spec: What a document becomes.
        stemmer: One stemmer for many calls; made here if the spec needs one and none is given.

    Returns:
        Tokens by document; ``values`` is valid until this thread's next call.
    """
    text = _normalise(text, spec)
    data, offsets = text_buffers(text)
    token_offsets = np.empty(len(text) + 1, dtype=np.int64)
    size = int(offsets[-1] - offsets[0])
    page, kind, delta, ascii = text_kernels.tables(spec.keep_case)
    if spec.unit == "char":
        tokens = scratch("tokens", np.uint64, 2 * size)
        count = text_kernels.characters(
            data, offsets, page, kind, delta, spec.raw, tokens, token_offsets
        )
        return Ragged(tokens[:count], token_offsets)
    tokens = scratch("tokens", np.uint64, size)
    longest = int(np.diff(offsets).max(initial=0))
    spans = np.empty((size if spec.stem else 0, 2), dtype=np.int64)
    lowered = scratch("lowered", np.uint8, longest + 16)
    count = text_kernels.words(
        data, offsets, page, kind, delta, ascii, lowered, tokens, token_offsets, spans
    )
    if spec.stem:
        stemmer = stemmer or Stemmer(spec.stem, spec.keep_case)
        stemmer(tokens[:count], data, spans[:count])
    return Ragged(tokens[:count], token_offsets)


def shingle(tokens: Ragged, n: int) -> Ragged:
    """Return the shingles of each document, in order, repetitions included.

    Args:
        tokens: As made by `tokenise`.
        n: Tokens in a shingle. A document of fewer gives one shingle of all its tokens.

    Returns:
        Shingles by document; ``values`` is valid until this thread's next call.
    """
    values = scratch("shingles", np.uint64, len(tokens.values))
    offsets = np.empty_like(tokens.offsets)
    count = shingle_kernels.shingles(tokens.values, tokens.offsets, n, values, offsets)
    return Ragged(values[:count], offsets)


def to_sets(shingles: Ragged, bag: bool) -> Ragged:
    """Sort the shingles of each document into a set, in place.

    Args:
        shingles: As made by `shingle`; its values are overwritten.
        bag: See `neardup.spec.ShingleSpec`.
    """
    lengths = np.diff(shingles.offsets)
    longest = min(int(lengths.max(initial=0)), _LONGEST_SCRATCH)
    offsets = np.empty_like(shingles.offsets)
    count = shingle_kernels.sort_sets(
        shingles.values,
        shingles.offsets,
        bag,
        scratch("sort", np.uint64, longest),
        scratch("sort counts", np.int64, (1 << 16) + 1),
        offsets,
    )
    return Ragged(shingles.values[:count], offsets)


def shingle_sets(
    texts: Any, spec: ShingleSpec | None = None, stemmer: Stemmer | None = None
) -> Ragged:
    """Return the set of shingles of each text: sorted 64-bit hashes, each once.

    Args:
        texts: Arrow array of strings, or a list.
        spec: What a document becomes; word:5 by default.
        stemmer: As for `tokenise`.

    Examples:
        >>> sets = shingle_sets(["to be or not to be", "", "To be, or not"], ShingleSpec(n=2))
        >>> sets.offsets.tolist()
        [0, 4, 4, 7]
    """
    spec = spec or ShingleSpec()
    shingles = shingle(tokenise(as_text(texts), spec, stemmer), spec.n)
    sets = to_sets(shingles, spec.bag)
    return Ragged(sets.values.copy(), sets.offsets)
