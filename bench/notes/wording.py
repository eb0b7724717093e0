"""The words of notes as token codes, see ``vocabulary.Lexicon``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from neardup.synth.demo_notes import HEADINGS
from neardup.synth.synthetic_words import I64, Stream, mix, stream_keys

from .lexicon import Lexicon
from .ragged import U32, ragged_draws
from .roles import NEAR, Roles
from .shapes import SynthSpec

I32 = npt.NDArray[np.int32]

_CELL_SHIFT = np.uint32(12)  # from a draw of 32 bits to one of the 2**20 cells
_SENTENCE = 11  # words between two places where a sentence may end
_COMMA, _STOP, _CAPITAL, _LINE, _HEADING = range(1, 6)  # layouts


def note_codes(spec: SynthSpec, roles: Roles, lexicon: Lexicon) -> tuple[I32, I64]:
    """Return the tokens of some documents, text after text, and where each text ends."""
    first = np.cumsum(roles.words) - roles.words
    draws = ragged_draws(roles.keys, roles.words)
    ranks = lexicon.cells[(draws >> _CELL_SHIFT).astype(np.intp)]
    codes = ranks.copy()
    _lay_out(codes, ranks, roles, first, lexicon.size)
    _fill_slots(codes, spec, roles, first, lexicon)
    if (roles.role == NEAR).any():
        return _edit(codes, spec, roles, first, lexicon)
    return codes, first + roles.words


def _field(draws: U32, byte: int, bound: int) -> I64:
    """A number below ``bound`` from one byte of each draw."""
    return ((draws >> np.uint32(8 * byte) & np.uint32(255)).astype(np.int64) * bound) >> 8


def _lay_out(codes: I32, ranks: I32, roles: Roles, first: I64, size: int) -> None:
    """Divide texts into sections of sentences of 5 to 17 words, which end in each 11 words."""
    spans = -(-roles.words // _SENTENCE)
    draws = ragged_draws(mix(roles.keys ^ np.uint64(Stream.LAYOUT)), spans)
    span = np.arange(draws.size) - np.repeat(np.cumsum(spans) - spans, spans)
    begin = np.repeat(first, spans) + span * _SENTENCE
    last = np.repeat(first + roles.words, spans) - 1
    comma = _field(draws, 0, 18)
    places = (begin + comma)[(comma < _SENTENCE) & (begin + comma < last)]
    codes[places] = ranks[places] + _COMMA * size
    stop = begin + 2 + _field(draws, 1, 7)
    inside = stop <= last - 3  # a heading and two words follow
    stop, last = stop[inside], first + roles.words - 1
    for places in (stop, last):
        codes[places] = ranks[places] + _STOP * size
    after, kind = _field(draws, 2, 14)[inside], _field(draws, 3, 2 * len(HEADINGS))[inside]
    layout = np.where(after < 2, _LINE, _CAPITAL)
    codes[stop + 1] = ranks[stop + 1] + layout * size
    new = after >= 10
    section, kind = stop[new] + 1, kind[new]
    codes[section] = _HEADING * size + kind // 2
    codes[section + 1] = ranks[section + 1] + (_CAPITAL + kind % 2) * size
    kind = _field(roles.keys.astype(np.uint32), 0, 2 * len(HEADINGS))
    codes[first] = _HEADING * size + len(HEADINGS) + kind // 2
    codes[first + 1] = ranks[first + 1] + (_CAPITAL + kind % 2) * size


def _fill_slots(codes: I32, spec: SynthSpec, roles: Roles, first: I64, lexicon: Lexicon) -> None:
    """Put a value of its own choice into each slot of a member's template."""
    words, headings = np.int64(lexicon.words), _HEADING * lexicon.size
    for number, family in enumerate(spec.families or ()):
        members = np.flatnonzero(roles.family == number)
        if not members.size:
            continue
        length, slots, values = family.template()
        middle = (2 * np.arange(slots) + 1) * length // (2 * slots)
        keys = stream_keys(spec.seed, Stream.SLOT, np.array([number]))
        base = ragged_draws(keys, np.array([slots])).astype(np.int64) * words >> 32
        places = (first[members, None] + middle).reshape(-1)
        places += codes[places] >= headings
        keys = stream_keys(spec.seed, Stream.VALUE, roles.docs[members])
        draws = ragged_draws(keys, np.full(members.size, slots)).astype(np.int64)
        if values:
            weights = np.cumsum(1.0 / np.arange(1.0, values + 1.0))
            value = np.searchsorted(weights, draws * (weights[-1] / 2**32), "right")
        else:
            value = draws * words >> 32
        value = (np.tile(base, members.size) + value) % words
        codes[places] += (value - codes[places] % lexicon.size).astype(np.int32)


def _edit(
    codes: I32, spec: SynthSpec, roles: Roles, first: I64, lexicon: Lexicon
) -> tuple[I32, I64]:
    """Change words of near-duplicates; returns the new codes and the ends of the texts.

    Each text is divided into as many ranges as it has edits, and one word in each is changed. Of
    ten edits about one deletes the word, one puts another word before it, and eight replace it.
    Words that carry layout are only replaced.
    """
    edits, size, headings = roles.edits, lexicon.size, _HEADING * lexicon.size
    near = np.repeat(np.arange(edits.size), edits)
    turn = np.arange(near.size) - np.repeat(np.cumsum(edits) - edits, edits)
    low = turn * roles.words[near] // edits[near]
    width = (turn + 1) * roles.words[near] // edits[near] - low
    keys = stream_keys(spec.seed, Stream.EDIT, roles.docs)
    where = ragged_draws(keys, edits).astype(np.int64)
    places = first[near] + low + (where * width >> 32)
    draws = ragged_draws(mix(keys), edits)
    new = lexicon.cells[(draws >> _CELL_SHIFT).astype(np.intp)]
    how = (draws & np.uint32(0xFFF)) % np.uint32(10)
    plain = codes[places] < size
    counts = np.ones(codes.size, np.int64)
    for which, count in ((0, 0), (1, 2)):  # deleted, doubled
        chosen = plain & (how == which)
        changed = np.bincount(near[chosen], minlength=edits.size) * (count - 1)
        fits = (roles.words + changed >= spec.words[0]) & (roles.words + changed <= spec.words[1])
        chosen &= fits[near]
        counts[places[chosen]] = count
    replaced = counts[places] == 1
    at, other = places[replaced], new[replaced]
    old = codes[at]
    rank = old % size
    other = np.where(other == rank, (other + 1) % size, other)
    titles = old >= headings
    group, title = np.divmod(old[titles] - headings, len(HEADINGS))
    moved = (title + 1 + other[titles] % (len(HEADINGS) - 1)) % len(HEADINGS)
    codes[at] = old - rank + other
    codes[at[titles]] = headings + group * len(HEADINGS) + moved
    end = np.cumsum(counts)
    doubled = counts[places] == 2
    codes = np.repeat(codes, counts)
    codes[end[places[doubled]] - 2] = new[doubled]
    return codes, end[first + roles.words - 1]
