"""Which document is derived from which: role, source, length and number of edits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from neardup.synth.synthetic_words import I64, U64, Stream, permute, stream_keys, unit

from .shapes import SynthSpec

ROLES = ("original", "near", "exact", "family")
ORIGINAL, NEAR, EXACT, FAMILY = range(4)


class Roles(NamedTuple):
    """What some documents are, before any text is generated."""

    docs: I64  # positions
    role: npt.NDArray[np.int8]  # an index of ``ROLES``
    source: I64  # the original, or the member that stands for the family
    family: I64  # number of the family, or -1
    words: I64  # of the source, or of the template
    edits: I64  # words that a near-duplicate changes; 0 for others
    keys: U64  # of the draws of the source's or template's words


def assign_roles(spec: SynthSpec, start: int, stop: int) -> Roles:
    """Return what the documents at positions [start, stop) are; about 1 us for each.

    A permutation gives each position a rank, and ranks are divided in order: families,
    near-duplicates, exact copies, originals. No table of all documents is needed.
    """
    seed, total, families = spec.seed, spec.documents, spec.families or ()
    docs = np.arange(start, stop, dtype=np.int64)
    rank = permute(docs, total, seed)
    bounds = np.cumsum([0, *(f.size for f in families)], dtype=np.int64)
    ends = bounds[-1] + np.cumsum([0, spec.counts["near"], spec.counts["exact"]], dtype=np.int64)
    role = np.array([FAMILY, NEAR, EXACT, ORIGINAL], np.int8)[np.searchsorted(ends, rank, "right")]
    source = docs.copy()
    derived = (role == NEAR) | (role == EXACT)
    draws = unit(stream_keys(seed, Stream.SOURCE, docs[derived]))
    chosen = ends[-1] + (draws * (total - ends[-1])).astype(np.int64)
    source[derived] = permute(chosen, total, seed, back=True)
    family = np.where(role == FAMILY, np.searchsorted(bounds, rank, "right") - 1, -1)
    member = np.flatnonzero(role == FAMILY)
    source[member] = permute(bounds[family[member]], total, seed, back=True)
    words, keys = _lengths(spec, source), stream_keys(seed, Stream.TEXT, source)
    if member.size:
        words[member] = np.array([f.template()[0] for f in families])[family[member]]
        keys[member] = stream_keys(seed, Stream.TEMPLATE, family[member])
    return Roles(docs, role, source, family, words, _edits(spec, role, docs, words), keys)


def _lengths(spec: SynthSpec, sources: I64) -> I64:
    """Words of originals: Beta(2, 4) over the range, as the second smallest of five draws."""
    low, high = spec.words
    places = sources[:, None] * 5 + np.arange(5)
    second = np.sort(unit(stream_keys(spec.seed, Stream.LENGTH, places)), axis=1)[:, 1]
    return low + (second * (high - low + 1)).astype(np.int64)


def _edits(spec: SynthSpec, role: npt.NDArray[np.int8], docs: I64, words: I64) -> I64:
    """Words that near-duplicates change; within the range asked for, if any integer is."""
    low, high = spec.changed
    share = low + (high - low) * unit(stream_keys(spec.seed, Stream.SHARE, docs))
    edits = np.maximum(np.floor(share * words + 0.5), np.ceil(low * words - 1e-9))
    edits = np.minimum(edits, np.floor(high * words + 1e-9))
    return np.where(role == NEAR, edits, 0).astype(np.int64)
