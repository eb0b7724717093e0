"""Exact search of similar documents by their rarest shingles."""

from functools import partial

import numpy as np

from neardup.cluster.edges import Allocate
from neardup.errors import InputError
from neardup.kernels import prefixes as kernels
from neardup.kernels.jaccard import Sets
from neardup.kernels.prefixes import PrefixChains, Prefixes, Search
from neardup.kernels.resolving import Answers
from neardup.threads import Local, Pool
from neardup.tuning import TUNING

#: Counters of shingles: at least, and at most.
_FEW_COUNTERS, _MANY_COUNTERS = 1 << 16, 1 << 24
#: Chains at most; with more entries in each, a search waits for memory.
_MANY_CHAINS = 1 << 28
#: Documents that a thread searches for at a time.
_STEP = 16
#: Members of a family that are counted on trial, and those that are searched for.
_COUNTED, _TRIED = 1024, 64


class RarestIndex:
    """The kept documents of large buckets, found by their rarest shingles.

    Documents that share a template share its boilerplate, not their rare shingles. So only few of
    the kept ones have to be compared, however large the bucket is. ``of`` are the buckets of the
    documents, int32[m, num_bands]; ``large`` those that are searched this way, bool[buckets].
    """

    def __init__(
        self,
        sets: Sets,
        of: np.ndarray,
        large: np.ndarray,
        threshold: float,
        pool: Pool,
        allocate: Allocate = np.empty,
    ) -> None:
        self._sets, self._of, self._threshold, self._pool = sets, of, threshold, pool
        self._large, self._members, self._allocate = large, _members(of, large), allocate
        #: bool[m]: documents that are searched for; the caller may take some out.
        self.by_index = self._members.copy()
        self._memory = Local(lambda: search_memory(len(of), allocate))
        self._entries = 0
        #: Prefixes of the documents from a number to another one.
        self._ranked: tuple[int, int, Prefixes] | None = None
        #: Whether there is anything in the index.
        self.active = False

    def pays(self, full: np.ndarray, kept: np.ndarray, done: int) -> bool:
        """Whether to search some buckets takes less time than a look at all bitmaps.

        It does not where shingles of the template are among the rarest of a document, or where most
        documents are ``done``; ``kept`` is how many are kept in each bucket so far.
        """
        members = np.flatnonzero(_members(self._of, full)).astype(np.int32)
        coming = int((members >= done).sum())
        counted = members[:: -(-len(members) // _COUNTED)]
        tried = counted[:: -(-len(counted) // _TRIED)]
        counters = np.zeros(_MANY_COUNTERS // 4, dtype=np.uint32)
        kernels.count_shingles(self._sets, counted, counters)
        prefixes = make_prefixes(self._sets, tried, self._threshold, counters, self._pool)
        others = (prefixes.values >> kernels.HASH_BITS).astype(np.int64) - 1
        visited = int(others.sum()) * len(members) / len(counted)
        buckets = self._of[tried]
        now = int(kept[buckets[(buckets >= 0) & full[buckets]]].sum())
        # On average from now to the end, if the buckets fill as they did.
        looked_at = now * (1 + len(self._of) / done) / 2
        saved = coming * (looked_at - TUNING.visit_cost * visited)
        return saved > TUNING.adding_cost * len(members) * len(tried)

    def widen(self, full: np.ndarray) -> None:
        """Search for all documents of some large buckets, bool[buckets], too; start again."""
        self.by_index = self.by_index | _members(self._of, full)
        theirs = np.zeros_like(full)
        theirs[self._of[self.by_index]] = True  # and that of -1
        self._members = _members(self._of, theirs & self._large)
        self._entries, self.active, self._ranked = 0, False, None

    def add(self, docs: np.ndarray, answers: Answers) -> None:
        """Add the kept ones of some documents that are decided, int32[], each once."""
        if not self.active:
            # Only sets of a size near those that are searched for can be similar to them; one more,
            # as this product is rounded in another way than a similarity.
            size = self._sets.size
            self._similar_size = self._members & (
                size + 1 >= self._threshold * size[self.by_index].min()
            )
            members = np.flatnonzero(self._similar_size).astype(np.int32)
            counted = members[:: max(1, -(-len(members) // TUNING.counted_members))]
            self._counters = count_shingles(self._sets, counted, self._pool)
            capacity = int(_prefix_lengths(self._sets.size[members], self._threshold).sum())
            self._chains = empty_chains(capacity, self._allocate)
            self.active = True
        prefixes = self._prefixes(docs[self._similar_size[docs] & (answers.duplicate_of[docs] < 0)])
        more = int((prefixes.end - prefixes.begin).sum())
        self._chains = with_capacity(self._chains, self._entries + more, self._allocate)
        self._entries = kernels.add_to_chains(prefixes, self._chains, self._entries)

    def first_matches(
        self, first: int, last: int, answers: Answers, counts: Local[np.ndarray]
    ) -> None:
        """Find, for some documents of large buckets, the first kept one that is similar."""
        docs = first + np.flatnonzero(self.by_index[first:last]).astype(np.int32)
        rare = self._prefixes(docs)
        chains, sets, of, threshold = self._chains, self._sets, self._of, self._threshold
        edges = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)

        def search(low: int, high: int) -> None:
            working = self._memory(), answers, edges, counts()
            kernels.probe(rare, low, high, chains, sets, of, threshold, False, *working)

        self._pool.ranges(search, len(docs), _STEP)

    def _prefixes(self, docs: np.ndarray) -> Prefixes:
        """Return the rarest shingles of some documents, and find those of the ones that follow."""
        if not len(docs) or docs[-1] - docs[0] >= TUNING.ranked_documents:
            return self._made(docs)
        first, last, ranked = self._ranked or (0, 0, None)
        if ranked is None or docs[0] < first or docs[-1] >= last:
            first, last = int(docs[0]), int(docs[0]) + TUNING.ranked_documents
            of_index = self._similar_size[first:last] | self.by_index[first:last]
            coming = first + np.flatnonzero(of_index).astype(np.int32)
            sizes = np.cumsum(self._sets.size[coming], dtype=np.int64)
            if sizes[-1] > TUNING.ranked_shingles:
                fit = np.searchsorted(sizes, TUNING.ranked_shingles)
                last = max(int(docs[-1]), int(coming[fit])) + 1
            ranked = self._made(coming[coming < last])
            self._ranked = first, last, ranked
        return ranked.take(np.searchsorted(ranked.docs, docs))

    def _made(self, docs: np.ndarray) -> Prefixes:
        return make_prefixes(self._sets, docs, self._threshold, self._counters, self._pool)


def search_memory(documents: int, allocate: Allocate = np.empty) -> Search:
    """Return the working memory of one thread that searches among so many documents: 12 bytes each.

    ``allocate`` makes arrays, as `numpy.empty`.
    """
    search = Search(*(allocate(documents, np.int32) for _ in Search._fields))
    search.seen[:] = -1
    return search


def count_shingles(sets: Sets, docs: np.ndarray, pool: Pool) -> np.ndarray:
    """Count the shingles of some documents, by a hash of each, in uint32[power of two]."""
    total = int(sets.size[docs].sum(dtype=np.int64))
    counters = np.zeros(_power_of_two(total, _FEW_COUNTERS, _MANY_COUNTERS), dtype=np.uint32)
    pool.submit(lambda: kernels.count_shingles(sets, docs, counters)).result()
    return counters


def make_prefixes(
    sets: Sets, docs: np.ndarray, threshold: float, counters: np.ndarray, pool: Pool
) -> Prefixes:
    """Find the rarest shingles of some documents, by the counters of `count_shingles`."""
    end = np.cumsum(_prefix_lengths(sets.size[docs], threshold))
    begin = np.append(0, end)[:-1]
    values = np.empty(int(end[-1]) if len(end) else 0, dtype=np.uint64)
    prefixes = Prefixes(docs, begin, end, values)
    pool.ranges(partial(kernels.rank_prefixes, sets, counters, prefixes), len(docs), _STEP)
    return prefixes


def empty_chains(capacity: int, empty: Allocate = np.empty) -> PrefixChains:
    """Return chains for about so many entries, which have none yet, see `with_capacity`."""
    head = empty(_power_of_two(capacity // 2, _FEW_COUNTERS, _MANY_CHAINS), np.int32)
    head[:] = -1
    return PrefixChains(head, np.empty((0, 3), dtype=np.int32))


def with_capacity(chains: PrefixChains, entries: int, empty: Allocate = np.empty) -> PrefixChains:
    """Return chains of the same entries, with capacity for so many; InputError for too many."""
    present = len(chains.entries)
    if entries <= present:
        return chains
    if entries > TUNING.most_entries:
        raise InputError(
            f"the rarest shingles are {entries:,}; an index takes at most {TUNING.most_entries:,}",
            "raise `threshold`, use fewer or shorter texts, or neardup.spark",
        )
    grown = empty((max(entries, min(2 * present, TUNING.most_entries), 1 << 16), 3), np.int32)
    grown[:present] = chains.entries
    return PrefixChains(chains.head, grown)


def _members(of: np.ndarray, buckets: np.ndarray) -> np.ndarray:
    """Return bool[m]: the documents of some buckets, bool[buckets]."""
    found = np.zeros(len(of), dtype=np.bool_)
    for column in of.T:
        found |= (column >= 0) & buckets[column]
    return found


def _prefix_lengths(size: np.ndarray, threshold: float) -> np.ndarray:
    """Return how many of a document's rarest shingles must be looked at.

    A similar document shares ``ceil(threshold * size)`` at least, so one of the others plus one.
    """
    size = size.astype(np.int64)
    needed = np.ceil(threshold * size).astype(np.int64)
    # As the similarity itself is rounded: the smallest overlap that reaches the threshold.
    with np.errstate(invalid="ignore", divide="ignore"):
        needed -= (needed > 0) & ((needed - 1) / size >= threshold)
        needed += needed / size < threshold
    return np.where(size > 0, size - needed + 1, 0)


def _power_of_two(number: int, least: int, most: int) -> int:
    return int(min(max(1 << max(number - 1, 0).bit_length(), least), most))
