"""From a spec to the numbers and arrays that the kernels take."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from neardup.kernels.synth import (
    BOILERPLATE,
    SLOTS,
    Setting,
    Tables,
    alias_table,
    family_firsts,
)
from neardup.synth.spec import SynthSpec
from neardup.synth.vocabulary import HEADINGS, KINDS, byte_matrix, make_words

__all__ = ["chunk_documents", "document_bytes", "first_members", "setting", "tables"]

_CHUNK_DOCUMENTS = 4096
_CHUNK_BYTES = 1 << 26


def setting(spec: SynthSpec) -> Setting:
    """Return the numbers for the kernels."""
    counts = spec.counts
    bits = max(spec.documents - 2, 0).bit_length()
    return Setting(
        seed=np.uint64(spec.seed),
        documents=spec.documents,
        id_width=max(7, len(str(spec.documents - 1))),
        near=counts["near"],
        exact=counts["exact"],
        changed_low=spec.changed[0],
        changed_high=spec.changed[1],
        words_low=spec.words[0],
        words_high=spec.words[1],
        left_bits=bits // 2,
        right_bits=bits - bits // 2,
    )


@lru_cache(maxsize=4)
def tables(spec: SynthSpec) -> Tables:
    """Return the arrays for the kernels; about 0.1 s for 50,000 words, then remembered."""
    word_share, word_alias = _zipf(spec.vocabulary)
    value_share, value_alias = _zipf(spec.family_values)
    return Tables(
        words=byte_matrix(make_words(spec.vocabulary)),
        headings=byte_matrix(HEADINGS),
        kinds=byte_matrix(KINDS),
        word_share=word_share,
        word_alias=word_alias,
        value_share=value_share,
        value_alias=value_alias,
        family_bounds=np.cumsum((0, *spec.families), dtype=np.int64),
    )


@lru_cache(maxsize=4)
def first_members(spec: SynthSpec) -> npt.NDArray[np.int64]:
    """Return the lowest position of each family: int64 (families,); 0.1 us for each member."""
    firsts = np.empty(len(spec.families), np.int64)
    family_firsts(setting(spec), tables(spec), firsts)
    return firsts


def document_bytes(spec: SynthSpec) -> int:
    """Return a bound for the bytes of one document, as text or as JSON line.

    A word has 15 bytes at most, then a full stop and two line breaks of two bytes each.
    """
    return 256 + 20 * max(spec.words[1], BOILERPLATE + SLOTS)


def chunk_documents(spec: SynthSpec) -> int:
    """Return how many documents are made at once: 4096, or what surely fits in 64 MiB."""
    return max(1, min(_CHUNK_DOCUMENTS, _CHUNK_BYTES // document_bytes(spec)))


def _zipf(size: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Alias table of weights 1, 1/2, 1/3, ..."""
    share, alias = np.empty(size, np.uint32), np.empty(size, np.uint32)
    weights = 1.0 / np.arange(1.0, size + 1.0)
    alias_table(weights / weights.mean(), share, alias)
    return share, alias
