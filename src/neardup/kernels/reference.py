"""The obvious version of every kernel: the definition that the fast one must equal, bit for bit.

Plain Python on integers, lists and sets; slow, and never imported by the package itself.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

__all__ = [
    "affine32",
    "band_keys",
    "bounded_clusters",
    "buckets",
    "characters",
    "jaccard",
    "join",
    "keep",
    "mix",
    "oph32",
    "partners",
    "sequence_hash",
    "share_a_band",
    "shingle_set",
    "shingles",
    "splitmix",
    "star",
    "token_hash",
    "unite",
    "words",
]

_MASK = 2**64 - 1
_TOKEN_MULTIPLIER = 0x9E3779B97F4A7C15
_TOKEN_LENGTH = 0x243F6A8885A308D3
_SOLO = (
    "CJK UNIFIED IDEOGRAPH-",
    "CJK COMPATIBILITY IDEOGRAPH-",
    "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC NUMBER ZERO",
    "HIRAGANA ",
    "KATAKANA ",
    "KATAKANA-HIRAGANA ",
    "HALFWIDTH KATAKANA ",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)


def mix(h: int) -> int:
    """Twin of `neardup.kernels.hashing.mix`."""
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    h = (h ^ h >> 27) * 0x94D049BB133111EB & _MASK
    return h ^ h >> 31


def splitmix(seed: int, index: int) -> int:
    """Twin of `neardup.kernels.hashing.splitmix`."""
    return mix(seed + (index + 1) * _TOKEN_MULTIPLIER & _MASK)


def lower(text: str) -> str:
    """Lower case of each character by itself; the two lower forms of sigma become one."""
    return "".join(char.lower() for char in text).replace("ς", "σ")


def words(text: str, keep_case: bool = False) -> list[str]:
    """Split into tokens: runs of letters, marks, digits and ``_``, in lower case.

    A letter of a script without spaces is a token by itself, with the marks that follow it.
    """
    tokens: list[str] = []
    open_word = solo = False
    for char in text:
        category = unicodedata.category(char)
        name = unicodedata.name(char, "")
        letter = category[0] in "LN" or char == "_"
        alone = category[0] == "L" or category == "Nl"
        alone = alone and name.startswith(_SOLO)
        if category[0] == "M" or name.startswith("HALFWIDTH KATAKANA VOICED"):
            if open_word:
                tokens[-1] += char
            else:
                tokens.append(char)
                open_word, solo = True, False
        elif alone:
            tokens.append(char)
            open_word = solo = True
        elif letter:
            if open_word and not solo:
                tokens[-1] += char
            else:
                tokens.append(char)
            open_word, solo = True, False
        else:
            open_word = False
    return tokens if keep_case else [lower(token) for token in tokens]


def characters(text: str, keep_case: bool = False, raw: bool = False) -> list[int]:
    """Give the code points, in lower case, with single blanks and none at the ends."""
    if not raw:
        text = " ".join("".join(" " if c.isspace() else c for c in text).split(" ")).strip(" ")
        while "  " in text:
            text = text.replace("  ", " ")
    return [ord(c) for c in (text if keep_case else lower(text))]


def token_hash(token: str) -> int:
    """Hash the UTF-8 bytes of a token, eight at a time."""
    data = token.encode()
    state = 0
    for i in range(0, len(data) // 8 * 8, 8):
        state = (state ^ int.from_bytes(data[i : i + 8], "little")) * _TOKEN_MULTIPLIER & _MASK
        state ^= state >> 32
    rest = int.from_bytes(data[len(data) // 8 * 8 :], "little")
    return mix(state ^ rest ^ len(data) * _TOKEN_LENGTH & _MASK)


def shingles(tokens: Sequence[int], n: int) -> list[int]:
    """Hash every ``n`` consecutive tokens; all of them where they are fewer."""
    if not tokens:
        return []
    size = min(n, len(tokens))
    out = []
    for first in range(len(tokens) - size + 1):
        h = 0
        for token in tokens[first : first + size]:
            h = h * _TOKEN_MULTIPLIER + token & _MASK
        out.append(mix(h ^ size * _TOKEN_LENGTH & _MASK))
    return out


def sequence_hash(tokens: Sequence[int]) -> tuple[int, int]:
    """Hash a whole token sequence to 128 bits."""
    a, b = 0, len(tokens)
    for token in tokens:
        a = a * _TOKEN_MULTIPLIER + token & _MASK
        b = (b ^ token) * 0xD6E8FEB86659FD93 & _MASK
        b ^= b >> 29
    return mix(a ^ len(tokens) * _TOKEN_LENGTH & _MASK), mix(b)


def shingle_set(values: Sequence[int], bag: bool = False) -> list[int]:
    """Sort shingles into a set; as a bag, later occurrences become values of their own."""
    if not bag:
        return sorted(set(values))
    seen: dict[int, int] = {}
    out = []
    for value in values:
        i = seen[value] = seen.get(value, -1) + 1
        out.append(mix(value + i * _TOKEN_LENGTH & _MASK) if i else value)
    return sorted(out)


def affine32(values: Sequence[int], a: Sequence[int], b: Sequence[int]) -> list[int]:
    """Minima of ``a * x + b`` mod 2**32 over the upper halves of the values."""
    return [
        min(((x >> 32) * p + q & 0xFFFFFFFF for x in values), default=0xFFFFFFFF)
        for p, q in zip(a, b, strict=True)
    ]


def oph32(values: Sequence[int], num_hashes: int, seed: int) -> list[int]:
    """Fast Similarity Sketching: bins filled round by round, the last rounds bin by bin."""
    out: list[int | None] = [None] * num_hashes
    for turn in range(2 * num_hashes if values else 0):
        salt = mix(seed + turn * _TOKEN_MULTIPLIER & _MASK)
        new: dict[int, int] = {}
        for value in values:
            h = mix(value ^ salt)
            place = (h & 0xFFFFFFFF) * num_hashes >> 32 if turn < num_hashes else turn - num_hashes
            new[place] = min(h >> 32, 0xFFFFFFFE, new.get(place, 0xFFFFFFFE))
        for place, least in new.items():
            if out[place] is None:
                out[place] = least
        if None not in out:
            break
    return [0xFFFFFFFF if value is None else value for value in out]


def band_keys(signature: Sequence[int], num_bands: int, rows: int) -> list[int]:
    """Hash each band of a signature."""
    keys = []
    for band in range(num_bands):
        h = band
        for value in signature[band * rows : (band + 1) * rows]:
            h = (h ^ value) * _TOKEN_MULTIPLIER & _MASK
            h ^= h >> 32
        keys.append(mix(h))
    return keys


def buckets(keys: Sequence[int]) -> list[list[int]]:
    """Group equal keys: buckets of two and more, by key, documents ascending."""
    groups: dict[int, list[int]] = {}
    for doc, key in enumerate(keys):
        groups.setdefault(key, []).append(doc)
    return [groups[key] for key in sorted(groups) if len(groups[key]) > 1]


def jaccard(first: Sequence[int], second: Sequence[int]) -> float:
    """Similarity of two sets; -1 where both are empty."""
    one, two = set(first), set(second)
    return len(one & two) / len(one | two) if one or two else -1.0


def join(sets: Sequence[Sequence[int]], threshold: float) -> list[tuple[int, int, float]]:
    """All pairs that reach the threshold, by comparing all pairs."""
    return [
        (a, b, similarity)
        for a in range(len(sets))
        for b in range(a + 1, len(sets))
        if (similarity := jaccard(sets[a], sets[b])) >= threshold
    ]


def bounded_clusters(
    sets: Sequence[Sequence[int]],
    edges: Sequence[tuple[int, int, float]],
    edge_threshold: float,
    tree_threshold: float,
) -> list[int]:
    """Bounded disjoint sets (Shenoy et al. 2017, section 6); the root of each document."""
    parent = list(range(len(sets)))
    rank = [0] * len(sets)
    low = [1.0] * len(sets)

    def find(x: int) -> int:
        return x if parent[x] == x else find(parent[x])

    for a, b, similarity in edges:
        x, y = find(a), find(b)
        if similarity < edge_threshold or x == y:
            continue
        similarity = jaccard(sets[x], sets[y])
        if low[x] + low[y] + similarity - 2 < tree_threshold:
            continue
        child, root = (x, y) if (rank[x], -x) < (rank[y], -y) else (y, x)
        rank[root] += rank[child] == rank[root]
        parent[child] = root
        low[root] = min(low[root], low[child] - (1 - similarity))
    return [find(x) for x in range(len(sets))]


def star(
    sets: Sequence[Sequence[int]],
    pairs: set[tuple[int, int]],
    priority: Sequence[int],
    threshold: float,
) -> list[int]:
    """By priority, each joins the first kept one that it is paired with and near enough to."""
    centre = list(range(len(sets)))
    kept: list[int] = []
    for doc in sorted(range(len(sets)), key=priority.__getitem__):
        for other in kept:
            pair = min(doc, other), max(doc, other)
            if pair in pairs and jaccard(sets[doc], sets[other]) >= threshold:
                centre[doc] = other
                break
        else:
            kept.append(doc)
    return centre


def keep(
    sets: Sequence[Sequence[int]],
    cluster: Sequence[int],
    priority: Sequence[int],
    threshold: float,
) -> list[tuple[int, float]]:
    """The removal rule: (kept document, similarity) of each removed one, (-1, nan) where kept."""
    answer = [(-1, math.nan)] * len(sets)
    kept: list[int] = []
    for doc in sorted(range(len(sets)), key=priority.__getitem__):
        for other in kept:
            if cluster[other] == cluster[doc]:
                similarity = jaccard(sets[doc], sets[other])
                if similarity >= threshold:
                    answer[doc] = other, similarity
                    break
        else:
            kept.append(doc)
    return answer


def partners(
    documents: Sequence[Sequence[int]], queries: Sequence[Sequence[int]], least: float
) -> list[tuple[int, int, float]]:
    """All pairs of a document and a query that reach a similarity, by comparing all pairs."""
    return [
        (d, q, similarity)
        for d in range(len(documents))
        for q in range(len(queries))
        if (similarity := jaccard(documents[d], queries[q])) >= least
    ]


def share_a_band(
    keys_a: Sequence[Sequence[int]], keys_b: Sequence[Sequence[int]], pairs: Sequence[Sequence[int]]
) -> list[bool]:
    """Whether two documents have the same key in some band."""
    return [any(x == y for x, y in zip(keys_a[a], keys_b[b], strict=True)) for a, b in pairs]


def unite(parent: Sequence[int], pairs: Sequence[Sequence[int]]) -> list[int]:
    """Lowest document that each one is connected with, by labels that flow along the pairs."""
    label = list(parent)
    for _ in range(len(label)):
        for a, b in [*enumerate(parent), *pairs]:
            label[a] = label[b] = min(label[a], label[b])
    return label
