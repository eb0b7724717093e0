"""Snowball stems by token hash, for all threads of a run."""

from __future__ import annotations

import threading

import numpy as np

from neardup.kernels import tokens as kernels


class Stemmer:
    """Replaces the hash of each token by the hash of its stem, of a Snowball algorithm.

    A token is stemmed when it first occurs, and looked up by its hash from then on, so that
    PyStemmer sees each distinct token of a corpus about once.
    """

    def __init__(self, language: str, keep_case: bool = False) -> None:
        from Stemmer import Stemmer as Snowball

        self._snowball = Snowball(language, 0)  # the table is the cache
        self._keep_case = keep_case
        self._lock = threading.Lock()
        self._count = 0  # tokens that were stemmed; two threads may both stem one
        # Replaced as a whole, never changed, so that readers need no lock.
        self._table = (np.zeros(1 << 16, dtype=np.uint64), np.zeros(1 << 16, dtype=np.uint64))

    def __call__(self, tokens: np.ndarray, data: np.ndarray, spans: kernels.Spans) -> None:
        """Replace the hash of each token by the hash of its stem, in place."""
        missing = np.empty(len(tokens), dtype=np.int64)
        count = kernels.replace_known(tokens, *self._table, tokens, missing)
        if count:
            self._learn(tokens, data, spans, missing[:count])

    def _learn(
        self, tokens: np.ndarray, data: np.ndarray, spans: kernels.Spans, missing: np.ndarray
    ) -> None:
        new, index, inverse = np.unique(tokens[missing], return_index=True, return_inverse=True)
        places = missing[index]
        limits = zip(spans.first[places].tolist(), spans.last[places].tolist(), strict=True)
        strings = [data[first:last].tobytes().decode() for first, last in limits]
        if not self._keep_case:
            # As the kernel lowers: each character by itself.
            strings = [s.lower().replace("ς", "σ") for s in strings]
        with self._lock:
            stems = self._snowball.stemWords(strings)
            stem_hashes = np.empty(len(stems), dtype=np.uint64)
            encoded = [stem.encode() for stem in stems]
            ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
            ends.flags.writeable = False  # as the offsets of Arrow are: one kernel for both
            # Of no bytes, as kernels have it elsewhere, one is left.
            joined = np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8)
            kernels.hash_tokens(joined, ends, stem_hashes)
            keys, values = self._table
            self._count += len(new)
            size = len(keys)
            while self._count * 2 > size:
                size *= 2
            larger = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.uint64)
            known = keys != 0
            kernels.add_replacements(keys[known], values[known], *larger)
            kernels.add_replacements(new, stem_hashes, *larger)
            self._table = larger
        tokens[missing] = stem_hashes[inverse]
