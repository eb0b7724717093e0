"""Plain-Python references of the kernels of passages: obvious, and slow.

A document is a list of hashes of tokens. A position is ``document << 32 | token``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_text import mix

__all__ = [
    "Row",
    "bridge",
    "divide",
    "equal_contents",
    "grow",
    "join_anchors",
    "join_segments",
    "last_sources",
    "pack_segments",
    "runs_of_anchors",
    "share_words",
    "sources_of_runs",
    "unpack_segments",
    "window_anchors",
]

MASK = NONE = 2**64 - 1
PRIME = 2**61 - 1
BASE, OTHER = 0x0A3B1C9D7E5F2468, 0xD6E8FEB86659FD93
TOKEN, LENGTH = 0x9E3779B97F4A7C15, 0x243F6A8885A308D3
#: Position and number of runs, source, origin, documents, hash of the text.
Row = tuple[int, int, int, int, int, int]
Tokens = Sequence[int]


def polynomial(tokens: Tokens, base: int, modulus: int) -> int:
    value = 0
    for token in tokens:
        value = (value * base + token) % modulus
    return value


def window_anchors(tokens: Tokens, gram: int, window: int) -> list[tuple[int, int]]:
    """Key and first run of each anchor of a document: the leftmost smallest gram of each run."""
    grams = [
        mix(polynomial(tokens[i : i + gram], TOKEN, 2**64)) for i in range(len(tokens) - gram + 1)
    ]
    found: list[tuple[int, int]] = []
    before = -1
    for run in range(len(grams) - window + 1):
        at = min(range(run, run + window), key=lambda i: (grams[i], i))
        if at != before:
            found.append((mix(grams[at]), run))
        before = at
    return found


def with_anchors(keys: Sequence[int], known: Sequence[int]) -> bool:
    """Whether a document with some anchors has one of those that are looked for."""
    return any(key in known for key in keys)


def runs_of_anchors(
    tokens: Tokens, anchors: Sequence[tuple[int, int]], marks: Sequence[int], words: int
) -> list[tuple[int, int, int, int, int]]:
    """Two hashes, first token, runs and key of each marked anchor, or of each of its runs."""
    found = []
    ends = [since for _, since in anchors[1:]] + [len(tokens) - words + 1]
    for (key, begin), end, mark in zip(anchors, ends, marks, strict=False):
        step = end - begin if mark == 2 else 1
        for run in range(begin, end, step) if mark else ():
            part = tokens[run : run + step + words - 1]
            salt = len(part) * LENGTH & MASK
            high = mix(polynomial(part, BASE, PRIME) ^ salt)
            low = mix(polynomial(part, OTHER, 2**64) ^ salt)
            found.append((high, low, run, step, key))
    return found


def join_anchors(anchors: Sequence[tuple[int, int]], first: int) -> list[tuple[int, int, int, int]]:
    """Key, number of the first one, how many more, and contents of rows of consecutive anchors.

    Of equal keys in a row, from the third one on, those with equal contents are one row.
    """
    found: list[tuple[int, int, int, int]] = []
    for number, (key, content) in enumerate(anchors, first):
        if [row[0] for row in found[-2:]] == [key, key] and found[-1][3] == content:
            found[-1] = key, found[-1][1], found[-1][2] + 1, content
        else:
            found.append((key, number, 0, content))
    return found


def equal_contents(rows: Sequence[tuple[int, bool, int]]) -> list[int]:
    """Marks of rows with equal keys: 1 RUNS, 2 TOGETHER, 3 LEADER.

    A row has its contents, whether another one with its contents is counted with it, and its
    number.
    """
    values = {row[0] for row in rows}
    if len(values) == 1:
        return [2] * len(rows)
    if len(rows) > 64:
        value, votes = 0, 0
        for row in rows:
            value = row[0] if votes == 0 else value
            votes += 1 if row[0] == value else -1
        values = {value}
    marks = []
    for content, more, number in rows:
        same = [row[2] for row in rows if row[0] == content]
        is_class = content in values and (len(rows) > 64 or len(same) > 1 or more)
        leader = 3 if number == min(same) else 2
        marks.append(leader if is_class else 1)
    return marks


def divide(keys: Sequence[int], parts: int) -> list[list[int]]:
    """Rows of each part."""
    return [[row for row, key in enumerate(keys) if key % parts == part] for part in range(parts)]


def sources_of_runs(
    runs: Sequence[tuple[int, object]],
    words: int,
    groups: Sequence[int] | None,
    others: bool,
    limit: int,
) -> list[tuple[int | None, int | None, int | None, int]]:
    """First, first earlier and latest earlier position, and documents, of positions and hashes."""
    found = []
    for position, value in runs:
        equal = sorted(other for other, its in runs if its == value)
        documents = len({other >> 32 for other in equal})
        if len(equal) == 1:
            found.append((None, None, None, 0))
            continue
        earlier = [p for p in equal if p >> 32 < position >> 32 or p + words <= position]
        earlier = [p for p in earlier if p < position]
        if groups is not None and documents < limit:
            own = groups[position >> 32]
            earlier = [
                p
                for p in earlier
                if own >= 0 and groups[p >> 32] >= 0 and (groups[p >> 32] != own) == others
            ]
        found.append((equal[0], min(earlier, default=None), max(earlier, default=None), documents))
    return found


Segment = tuple[int, int, int, int | None, int | None, int]


def pack_segments(segments: Sequence[Segment], share: int, ranges: int) -> list[list[int]]:
    """The words of each range of documents, without segments that are the first."""
    found: list[list[int]] = [[] for _ in range(ranges)]
    for position, runs, first, origin, latest, documents in segments:
        if first == position:
            continue
        others = [NONE if p is None else p for p in (latest, origin)]
        position, two = position | (others[0] != first) << 31, first | (others[1] != first) << 31
        words = [position, runs | documents << 32, two, *(p for p in others if p != first)]
        found[(position >> 32) // share] += words
    return found


def unpack_segments(words: Sequence[int]) -> list[Segment]:
    found, at = list[Segment](), 0
    while at < len(words):
        position, first = (words[at + k] & ~(1 << 31) for k in (0, 2))
        marks = [words[at + k] >> 31 & 1 for k in (0, 2)]
        places = iter(words[at + 3 : at + 3 + sum(marks)])
        latest, origin = (next(places) if mark else first for mark in marks)
        runs, documents = words[at + 1] & 0xFFFFFFFF, words[at + 1] >> 32
        found.append((position, runs, first, origin, latest, documents))
        at += 3 + sum(marks)
    return found


def join_segments(segments: Sequence[Segment]) -> list[Segment]:
    """Segments of runs that continue one another as one."""
    found: list[Segment] = []
    for segment in segments:
        position, runs, first, origin, latest, documents = segment
        if found:
            p, n, f, o, late, d = found[-1]
            one = None if o is None or late is None else (o + n, late + n)
            two = None if origin is None or latest is None else (origin, latest)
            if (p + n, f + n, d, one) == (position, first, documents, two):
                found[-1] = p, n + runs, f, o, late, d
                continue
        found.append(segment)
    return found


def grow(
    table: Mapping[int, tuple[int, int | None, int | None, int]], rule: int, boilerplate: int
) -> list[Row]:
    """Passages of runs: first, first earlier and latest earlier position and documents of each."""

    def common(position: int) -> bool:
        return 0 < boilerplate <= table[position][3]

    def repeated(position: int) -> bool:
        return position in table and table[position][2] is not None

    def reach(position: int, source: int) -> int:
        count = 0
        while (
            repeated(position + count)
            and source + count in table
            and table[source + count][0] == table[position + count][0]
            and common(position + count) == common(position)
        ):
            count += 1
        return count

    found: list[Row] = []
    done = -1
    for position in sorted(table):
        if position <= done or not repeated(position):
            continue
        _, origin, latest, _ = table[position]
        assert origin is not None and latest is not None
        source = origin if rule == 2 else latest
        if rule == 0:
            source = max([origin, latest], key=lambda p: (reach(position, p), p))
            while True:
                reached = reach(position, source)
                behind = position + reached
                if not repeated(behind) or common(behind) != common(position):
                    break
                places = [p for p in table[behind][1:3] if p is not None]
                moved = [p - reached for p in places if p & 0xFFFFFFFF >= reached]
                best = max(moved, key=lambda p: (reach(position, p), p), default=source)
                if reach(position, best) <= reached:
                    break
                source = best
        size = reach(position, source)
        rows = [table[position + k] for k in range(size)]
        text = mix(size * LENGTH & MASK) if common(position) else 0
        for first, *_ in rows if common(position) else []:
            text = mix(text ^ first)
        found.append((position, size, source, origin, min(row[3] for row in rows), text))
        done = position + size - 1
    return found


def share_words(
    passages: Sequence[tuple[int, int, bool]], words: int
) -> tuple[list[int], int, int]:
    """Words of each passage of a document, copied ones and common ones.

    A passage is its first word, its number of runs, and whether it is boilerplate.
    """
    gained, taken = [0] * len(passages), set[int]()
    counts = [0, 0]
    for kind in (True, False):
        for number, (first, runs, common) in enumerate(passages):
            if common == kind:
                new = set(range(first, first + runs + words - 1)) - taken
                gained[number] = len(new)
                counts[kind] += len(new)
                taken |= new
    return gained, *counts


def bridge(
    passages: Sequence[tuple[int, int, int]], gap: int
) -> tuple[list[int | None], list[int]]:
    """Numbers of joined passages, and changed words: of position, words and source."""
    numbers: list[int | None] = [None] * len(passages)
    changed = [0] * len(passages)
    following = 0
    for i in range(1, len(passages)):
        (before, words, there), (here, _, source) = passages[i - 1], passages[i]
        same = before >> 32 == here >> 32 and there >> 32 == source >> 32
        between = here - before - words
        if not same or source < there or max(between, source - there - words) > gap:
            continue
        if numbers[i - 1] is None:
            numbers[i - 1], following = following, following + 1
        numbers[i] = numbers[i - 1]
        changed[i] = max(0, between)
    return numbers, changed


def last_sources(
    passages: Sequence[tuple[int, int, int]],
    common: Sequence[bool],
    cuts: Sequence[tuple[int, int]],
    dropped: set[int],
) -> tuple[dict[int, int], set[int]]:
    """Words lost by document, and the dropped documents that have them.

    A passage is position, words and source; a cut is position and words.
    """
    gone = {first + i for first, words in cuts for i in range(words)}
    source: dict[int, int] = {}
    # Boilerplate first; then by position.
    for _, (first, words, there) in sorted(
        zip((not each for each in common), passages, strict=True)
    ):
        for i in range(words):
            source.setdefault(first + i, there + i)
    lost: dict[int, int] = {}
    needed: set[int] = set()
    for word in gone:
        at = word
        while at in gone:
            at = source[at]
        if word >> 32 not in dropped and at >> 32 in dropped:
            lost[word >> 32] = lost.get(word >> 32, 0) + 1
            needed.add(at >> 32)
    return lost, needed


def run_keys(tokens: Tokens, words: int) -> list[int]:
    """The hash of each run of a document."""
    salt = words * LENGTH & MASK
    return [
        mix(polynomial(tokens[i : i + words], BASE, PRIME) ^ salt)
        for i in range(len(tokens) - words + 1)
    ]


def runs_of_marked(
    anchors: Sequence[tuple[int, int]], marked: Sequence[bool], runs: int
) -> list[int]:
    """The runs of a document whose anchor is marked."""
    return [
        run
        for run in range(runs)
        if marked[max(n for n, (_, since) in enumerate(anchors) if since <= run)]
    ]


def positions_of_runs(
    tokens: Tokens, stored: Sequence[Tokens], rows: Sequence[int], words: int
) -> list[tuple[int | None, int | None, int]]:
    """First and latest earlier position of each run of a text; documents among ``rows`` with it."""
    found: list[tuple[int | None, int | None, int]] = []
    for i in range(len(tokens) - words + 1):
        run = tokens[i : i + words]
        places = [
            row << 32 | j
            for row in rows
            for j in range(len(stored[row]) - words + 1)
            if stored[row][j : j + words] == run
        ]
        holders = len({place >> 32 for place in places})
        own = [j for j in range(i - words + 1) if tokens[j : j + words] == run]
        places += [len(stored) << 32 | j for j in own]
        first, latest = (places[0], places[-1]) if places else (None, None)
        found.append((first, latest, holders))
    return found


def grow_copied(
    tokens: Tokens,
    stored: Sequence[Tokens],
    places: Sequence[tuple[int | None, int | None, int]],
    words: int,
) -> list[tuple[int, int, int, int, int]]:
    """Passages of a text: first token, tokens, source, origin, and least documents of a run."""

    def reach(start: int, place: int) -> int:
        other = [*stored, tokens][place >> 32][place & 0xFFFFFFFF :]
        own = tokens[start:]
        same = next((k for k, (a, b) in enumerate(zip(own, other, strict=False)) if a != b), None)
        size = min(len(own), len(other)) if same is None else same
        return max(0, size - words + 1)

    found, start = [], 0
    while start < len(places):
        origin, latest, _ = places[start]
        if origin is None or latest is None:
            start += 1
            continue
        source = max((latest, origin), key=lambda place: (reach(start, place), place))
        size = reach(start, source)
        while start + size < len(places) and places[start + size][0] is not None:
            behind = [place for place in places[start + size][:2] if place is not None]
            moved = [place - size for place in behind if place & 0xFFFFFFFF >= size]
            best = max(moved, key=lambda place: (reach(start, place), place), default=source)
            if reach(start, best) <= size:
                break
            source, size = best, reach(start, best)
        least = min(places[start + i][2] for i in range(size))
        found.append((start, size + words - 1, source, origin, least))
        start += size
    return found


def longest_shared(tokens: Tokens, other: Tokens) -> tuple[int, int, int]:
    """The longest run of two texts: tokens, and where it is first in both."""
    shared = [
        (-size, i, j)
        for i in range(len(tokens))
        for j in range(len(other))
        for size in range(1, 1 + min(len(tokens) - i, len(other) - j))
        if tokens[i : i + size] == other[j : j + size]
    ]
    size, *where = min(shared, default=(0, 0, 0))
    return -size, where[0], where[1]
