"""Which pairs of records are worth a comparison: candidates, with the recall that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import comb
from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Edges, Triple
from neardup.errors import SpecError
from neardup.kernels.jaccard import Sets, drop_common
from neardup.kernels.record_pairs import weigh_sets, weigh_shared
from neardup.kernels.text.signing import band_keys
from neardup.linkage.blocks.large_groups import Copies, MostSimilar, most_candidates, no_copies
from neardup.linkage.decision.weights.frequencies import row_hashes
from neardup.linkage.features import Features
from neardup.linkage.fields import LinkSpec
from neardup.match.bucketing import bucket_bands, bucket_documents
from neardup.match.pairs import FoundPairs, pairs_in_turns
from neardup.match.verifying import content_order, make_sets, similarities, taken
from neardup.sketch.bands import MAX_HASHES, Bands, bands_for_recall, candidate_probability
from neardup.sketch.sketcher import Signer
from neardup.sketch.texts import Ragged
from neardup.threads import Pool

#: Bands whose buckets are in memory at the same time, with a seed of their own.
_BANDS = 64
#: Rows of a band: with two, hardly any pair of records is no candidate.
_ROWS = range(3, 9)
#: Hashes of a record at most: at a recall of 0.99, `block_at` from 0.07 on.
_MAX_HASHES = 1 << 16
#: Pairs of records that are drawn to estimate how many collide.
_SAMPLE = 20_000
# Nanoseconds of one core for a hash of a record, a band of a record, and a pair that collides; and
# how many may be spent on what fewer rows find in addition.
_HASH, _BAND, _PAIR = 2.0, 60.0, 120.0
_AFFORDABLE = 2e9
#: A shingle that more records have, and more than one in twenty, is not hashed: one entity seldom
#: has so many records, and buckets would be large. A record without others keeps them.
_COMMON, _COMMON_SHARE = 1000, 20
#: Of pairs below `block_at`, those are candidates whose shared shingles are so rare together that
#: one pair in N**6 would share them by chance, if they were independent. There are N**2 pairs, and
#: three shingles for each character.
_RARE = 6.0
#: Bits of a bitmap for each member of a set.
_BITS = 16
#: Minimum similarity of a candidate, as a share of `block_at`.
_LOWEST = 1 / 3
#: Records that a thread signs together: their keys stay in its cache.
_SIGNED = 512
#: Records whose pairs are looked at before those of others are listed.
_TURN = 1 << 12
#: Pairs that a thread weighs together.
_STEP = 1 << 14
_NO_COPIES = no_copies(0)


class Block(NamedTuple):
    """Numbers of one kind of block.

    Attributes:
        name: ``"record"``; the name of a field; or those of two fields, joined by `` + ``.
        pairs: Candidates in such a block.
        added: Those that no block before it has.
        fields: Numbers of the fields; none of ``"record"``.
    """

    name: str
    pairs: int
    added: int
    fields: tuple[int, ...] = ()


@dataclass(frozen=True)
class Candidates:
    """Pairs of records that are worth a comparison.

    Attributes:
        a: int32[pairs]: the first record of each.
        b: int32[pairs]: the second one, ``a < b``; sorted, each pair once.
        similarity: float64[pairs]: Jaccard similarity of the shingles that were hashed.
        bands: Bands, rows, and the probability that a pair at ``block_at`` is a candidate.
        compared: Pairs that share a bucket; of one that is found several times, each counts.
        not_compared: Pairs left out in oversized buckets, once for each band.
        common: bool[power of two]: shingles that were not hashed, by their last bits, since too
            many records have them.
        only_common: Records without other shingles, of which these were hashed.
        possible: Pairs of records in all, or pairs across the files.
        blocks: What each kind of block found.
        left_out: Candidates that were left out where there are too many, see
            `neardup.linkage.blocks.large_groups.cut`; those of each field with one value too.
        each: Candidates by complete records that each record keeps; 0 for all.
        copies: Records that are equal to many others.
    """

    a: np.ndarray
    b: np.ndarray
    similarity: np.ndarray
    bands: Bands
    compared: int
    not_compared: int
    common: np.ndarray
    only_common: int
    possible: int
    blocks: tuple[Block, ...] = ()
    left_out: int = 0
    each: int = 0
    copies: Copies = _NO_COPIES


class Most(NamedTuple):
    """How many pairs of records candidates may represent, from which on none are looked for.

    Attributes:
        pairs: Their number.
        of: Returns the pairs of records that some candidates, int32[] twice, represent.
    """

    pairs: int
    of: Callable[[np.ndarray, np.ndarray], int]


class _BandPairs(NamedTuple):
    """Pairs of some bands, in parts."""

    parts: list[Triple]
    compared: int
    not_compared: int


class _RecordSearch(NamedTuple):
    """Records in which pairs are looked for.

    Attributes:
        features: Of the records.
        spec: Settings of the call.
        apart: int32[records]: file of each, where pairs are across files only; None for all pairs.
        common: bool[power of two]: shingles that are not hashed, by their last bits.
        order: int32[n]: records in the order of their content.
        sets: Their shingles, in that order.
        shingles: The same, in the order of the records.
        lowest: Similarity below which no pair is worth a look.
        only_common: Records with common shingles only.
    """

    features: Features
    spec: LinkSpec
    apart: np.ndarray | None
    common: np.ndarray
    order: np.ndarray
    sets: Sets
    shingles: Ragged
    lowest: float
    only_common: int

    def pairs(self, bands: Bands, low: int, keys: np.ndarray, pool: Pool) -> Iterator[_BandPairs]:
        """Yield the candidates of some bands, of which `low` is the first one, some at a time.

        Args:
            bands: How many these are.
            low: Number of the first one.
            keys: uint64[bands or more, records]: working memory.
            pool: Threads.
        """
        for found in _of_bands(self, bands, low, keys[: bands.num_bands], pool):
            parts = [self._worth(part, pool) for part in found.parts]
            yield _BandPairs(parts, found.compared + found.ruled_out, found.not_compared)

    def _worth(self, part: Triple, pool: Pool) -> Triple:
        """Return those of some pairs that are candidates, in the same memory."""
        x, y = self.order[part[0]], self.order[part[1]]
        a, b, similarity = np.minimum(x, y), np.maximum(x, y), part[2]
        if self.apart is not None:
            across = np.flatnonzero(self.apart[a] != self.apart[b])
            a, b, similarity = a[across], b[across], similarity[across]
        kept = np.flatnonzero(worth(self.features, self.spec, (a, b, similarity), pool))
        for column, values in zip(part, (a, b, similarity), strict=True):
            column[: len(kept)] = values[kept]
        return part[0][: len(kept)], part[1][: len(kept)], part[2][: len(kept)]


def _search(
    features: Features, spec: LinkSpec, apart: np.ndarray | None, pool: Pool
) -> _RecordSearch:
    common, every = common_of(features), np.arange(len(features.hashes))
    hashed = hashed_sets(features.records, every, common)
    # By content: the result does not depend on the order of the records.
    order = content_order(hashed).astype(np.int32)
    sets = Sets(hashed.values, hashed.begin[order], hashed.size[order], _folded(hashed)[order])
    lowest = lowest_similarity(spec)
    if record_weight(features, pool).max(initial=0) < rare_enough(features.counted):
        lowest = block_at(spec)  # no pair below can share enough
    only = _only_common(features.records, hashed, common)
    return _RecordSearch(features, spec, apart, common, order, sets, _ragged(hashed), lowest, only)


def _ragged(sets: Sets) -> Ragged:
    """Return sets one after the other; without a copy, where they are so."""
    ends = sets.begin + sets.size
    if len(ends) and np.array_equal(ends[:-1], sets.begin[1:]):
        return Ragged(sets.values, np.append(sets.begin, ends[-1]))
    return taken(sets, np.arange(len(ends)))


def _folded(sets: Sets) -> np.ndarray:
    """Return bitmaps of fewer words, for short sets: each member still flips one bit."""
    bitmaps = sets.bitmaps
    members = float(sets.size.mean()) if len(sets.size) else 0.0
    while bitmaps.shape[1] > 1 and 64 * bitmaps.shape[1] >= 2 * _BITS * members:
        half = bitmaps.shape[1] // 2
        bitmaps = bitmaps[:, :half] ^ bitmaps[:, half:]
    return np.ascontiguousarray(bitmaps)


def find_candidates(
    features: Features,
    spec: LinkSpec,
    apart: np.ndarray | None,
    pool: Pool,
    bands: Bands | None = None,
) -> Candidates:
    """Find the pairs that share a bucket, and are similar enough or share rare shingles.

    Args:
        features: Of the records.
        spec: Settings of the call.
        apart: int32[records]: file of each, where pairs are across files only; None for all pairs.
        pool: Threads.
        bands: Those of an index; chosen without it.
    """
    with pool.stage("choose bands"):
        search, documents = _search(features, spec, apart, pool), len(features.hashes)
        bands = bands or choose_rows(search.sets, spec, pool)
        gathered = MostSimilar(row_hashes(features), most_candidates(documents), pool)
    compared = not_compared = 0
    turns = -(-bands.num_bands // _BANDS) * -(-documents // _TURN)
    with pool.stage("find candidates", turns, "turns") as advance:
        for found in _all_bands(search, bands, pool):
            gathered.add(found.parts)
            compared, not_compared = compared + found.compared, not_compared + found.not_compared
            advance(1)
        edges, left_out, each = gathered.all()
    return Candidates(
        edges.a,
        edges.b,
        edges.similarity,
        bands,
        compared,
        not_compared,
        search.common,
        search.only_common,
        possible_pairs(documents, apart),
        (Block("record", len(edges), len(edges)),),
        left_out,
        each,
        no_copies(documents),
    )


def add_copies(found: Candidates, copies: Copies, pool: Pool) -> Candidates:
    """Add the pairs of records that are compared with one of their equals only."""
    if not copies.number:
        return replace(found, copies=copies)
    pairs = copies.a, copies.b, np.ones(len(copies.a))
    edges = Edges.gather([(found.a, found.b, found.similarity), pairs], pool.empty)
    return replace(
        found,
        a=edges.a,
        b=edges.b,
        similarity=edges.similarity,
        not_compared=found.not_compared + copies.left_out,
        copies=copies,
    )


def possible_pairs(records: int, apart: np.ndarray | None) -> int:
    """Return the pairs of records in all, or of those across files, int32[records]."""
    sizes = [] if apart is None else np.bincount(apart).tolist()
    return comb(records, 2) - sum(comb(size, 2) for size in sizes)


def find_at_most(features: Features, spec: LinkSpec, most: Most, pool: Pool) -> Edges | None:
    """Find candidates as `find_candidates` does within one file, unless these are too many.

    Args:
        features: Of the records.
        spec: Settings of the call.
        most: How many there may be.
        pool: Threads.

    Returns:
        The pairs; None for too many.
    """
    search = _search(features, spec, None, pool)
    bands = choose_rows(search.sets, spec, pool)
    parts, count = list[Triple](), 0
    for found in _all_bands(search, bands, pool):
        parts += found.parts
        count += sum(most.of(a, b) for a, b, _ in found.parts)
        if count > 2 * most.pairs:  # a pair that several bands find counts once
            edges = Edges.gather(parts, pool.empty)
            parts, count = [(edges.a, edges.b, edges.similarity)], most.of(edges.a, edges.b)
            if count > most.pairs:
                return None
    edges = Edges.gather(parts, pool.empty)
    return edges if most.of(edges.a, edges.b) <= most.pairs else None


def _all_bands(search: _RecordSearch, bands: Bands, pool: Pool) -> Iterator[_BandPairs]:
    # Once, as it takes longer to clear new memory than to fill it.
    keys = np.empty((min(_BANDS, bands.num_bands), len(search.order)), np.uint64)
    for low in range(0, bands.num_bands, _BANDS):
        count = min(_BANDS, bands.num_bands - low)
        yield from search.pairs(Bands(count, bands.rows, 0.0), low, keys, pool)


def block_at(spec: LinkSpec) -> float:
    """Return the similarity at which the recall is stated."""
    assert spec.block_at is not None, "LinkSpec.for_records"
    return spec.block_at


def choose_rows(sets: Sets, spec: LinkSpec, pool: Pool) -> Bands:
    """Choose bands that reach the recall: with the fewest rows whose cost is small, else cheapest.

    Fewer rows find more of the pairs below `block_at`. How many pairs collide is estimated from
    pairs of records that are drawn at random.
    """
    documents = len(sets.size)
    highest = max(documents, 1)
    draws = np.random.default_rng(0).integers(highest, size=(2, _SAMPLE), dtype=np.int32)
    a, b = draws[:, draws[0] != draws[1]]
    sampled = np.maximum(similarities(sets, a, b, 0.0, pool), 0.0)
    best: tuple[float, Bands] | None = None
    for rows in _ROWS:
        num_bands = bands_for_recall(block_at(spec), spec.recall, rows)
        if num_bands * rows > 4 * MAX_HASHES and best is not None:
            break
        share = candidate_probability(sampled, num_bands, rows)
        collide = float(share.mean()) * documents * documents / 2 if len(share) else 0.0
        cost = documents * num_bands * (rows * _HASH + _BAND) + collide * _PAIR
        recall = candidate_probability(block_at(spec), num_bands, rows)
        if best is None or cost < best[0]:
            best = cost, Bands(num_bands, rows, recall)
        if cost <= _AFFORDABLE:
            break
    assert best is not None
    return best[1]


def check_hashes(spec: LinkSpec) -> None:
    """Refuse a recall that needs more hashes than anyone would wait for.

    Raises:
        SpecError: It does.
    """
    rows = _ROWS[0]
    hashes = rows * bands_for_recall(block_at(spec), spec.recall, rows)
    if hashes > _MAX_HASHES:
        raise SpecError(
            f"a recall of {spec.recall:g} at a `block_at` of {spec.block_at:g} needs {hashes:,} "
            f"hashes per record; expected at most {_MAX_HASHES:,}",
            "use a higher `block_at` or a lower `recall`",
        )


def lowest_similarity(spec: LinkSpec) -> float:
    """Return the similarity below which no pair is a candidate."""
    return block_at(spec) * _LOWEST


def shared_weight(features: Features, a: np.ndarray, b: np.ndarray, pool: Pool) -> np.ndarray:
    """Return float64[pairs]: the weight of the shingles that pairs of records share."""
    shared, (records, weights) = np.empty(len(a)), (features.records, features.weights)
    pool.ranges(
        lambda first, last: weigh_shared(records, weights, a, b, first, last, shared), len(a), _STEP
    )
    return shared


def record_weight(features: Features, pool: Pool) -> np.ndarray:
    """Return float64[records]: the weight of all shingles of each record."""
    records, weights, out = features.records, features.weights, np.empty(len(features.hashes))
    pool.ranges(lambda first, last: weigh_sets(records, weights, first, last, out), len(out), _STEP)
    return out


def rare_enough(documents: int) -> float:
    """Return the weight of shared shingles from which on a pair below `block_at` is a candidate."""
    return float(_RARE * np.log(max(documents, 1)))


def worth(
    features: Features, spec: LinkSpec, pairs: tuple[np.ndarray, ...], pool: Pool
) -> np.ndarray:
    """Return bool[pairs]: which are candidates, of some with their similarities."""
    a, b, similarity = pairs
    found = similarity >= block_at(spec)
    below = np.flatnonzero(~found)
    shared = shared_weight(features, a[below], b[below], pool)
    found[below] = shared >= rare_enough(features.counted)
    return np.asarray(found)


def _of_bands(
    search: _RecordSearch, bands: Bands, low: int, keys: np.ndarray, pool: Pool
) -> Iterator[FoundPairs]:
    """Compare the records that share a bucket in one of some bands."""
    _sign(search.shingles, bands.rows, search.spec.seed + low, keys, pool)
    # Records without shingles are in no bucket: a key of their own, in each band.
    empty = search.order[search.sets.size == 0]
    keys[:, empty] = np.arange(len(empty), dtype=np.uint64)
    grouped = bucket_bands(lambda band: keys[band][search.order], bands.num_bands, pool)
    buckets = bucket_documents(grouped, len(search.order), bands.num_bands)
    yield from pairs_in_turns(search.sets, buckets, search.lowest, pool, _TURN)


def _sign(shingles: Ragged, rows: int, seed: int, keys: np.ndarray, pool: Pool) -> None:
    """Write the keys, uint64[bands, records], band by band, as they are grouped."""
    num_bands, documents = keys.shape
    signer = Signer(num_bands * rows, seed=seed)

    def sign(first: int, last: int) -> None:
        part = Ragged(shingles.values, shingles.offsets[first : last + 1])
        of = np.empty((last - first, num_bands), np.uint64)
        band_keys(signer(part), rows, of)
        keys[:, first:last] = of.T

    pool.ranges(sign, documents, _SIGNED)


def record_keys(
    sets: Sets, docs: np.ndarray, common: np.ndarray, bands: Bands, seed: int, pool: Pool
) -> np.ndarray:
    """Return the band keys by which some records are candidates, uint64[docs, bands].

    Args:
        sets: Shingles of all records.
        docs: int[docs]: the records that get keys.
        common: bool[power of two]: shingles that are not hashed, by their last bits.
        bands: How many keys, and of how many hashes each.
        seed: Seed of the hash functions.
        pool: Threads.
    """
    shingles = _ragged(hashed_sets(sets, docs, common))
    keys = np.empty((bands.num_bands, len(docs)), np.uint64)
    for low in range(0, bands.num_bands, _BANDS):
        _sign(shingles, bands.rows, seed + low, keys[low : low + _BANDS], pool)
    return np.ascontiguousarray(keys.T)


def common_of(features: Features) -> np.ndarray:
    """Return bool[power of two]: shingles that are not hashed, by their last bits."""
    return common_shingles(features.weights, features.counted)


def common_shingles(weights: np.ndarray, counted: int) -> np.ndarray:
    """Return the same for the weights of shingles, float32[power of two], of so many records."""
    limit = max(_COMMON, counted // _COMMON_SHARE)
    return np.asarray(weights < np.float32(np.log((counted + 1) / limit)))


def hashed_sets(sets: Sets, docs: np.ndarray, common: np.ndarray) -> Sets:
    """Return the sets of some records without common shingles; all of a set without others."""
    if not common.any() and np.array_equal(docs, np.arange(len(sets.size))):
        return sets
    begin, size = sets.begin[docs], sets.size[docs]
    values, offsets = np.empty(int(size.sum()), np.uint64), np.empty(len(docs) + 1, np.int64)
    drop_common(sets.values, begin, size, common, values, offsets)
    return make_sets(Ragged(values[: offsets[-1]], offsets))


def _only_common(sets: Sets, hashed: Sets, common: np.ndarray) -> int:
    """Return the number of records with common shingles only, which were hashed, then."""
    if not common.any():
        return 0
    same = np.flatnonzero((hashed.size == sets.size) & (sets.size > 0))
    first = sets.values[sets.begin[same]]
    return int(common[first & np.uint64(len(common) - 1)].sum())
