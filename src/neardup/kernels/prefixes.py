"""Indexes by shingles: of documents by their rarest ones, and of queries by all of theirs.

Two sets that reach a threshold have a shingle in common among the rarest ones of each (the prefix
filter: Bayardo et al., WWW 2007), and the number of these bounds how many they can have in common
(as in PPJoin: Xiao et al., WWW 2008). Documents that share a template
share its frequent shingles, not the rare ones: few pairs are left to be compared.

And an inverted index of queries, for documents of a stream that share shingles with them. There, a
shingle that many queries have has a row of bytes instead of a list, one for each query. Rows are
added up by words of eight bytes: a shingle that all have costs an eighth of a step each.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import mix
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.jaccard import jaccard, may_reach, needed_overlap, slack_of
from neardup.kernels.resolving import share_a_bucket
from neardup.kernels.searching import sort_first

#: Of a shingle by rarity, the bits below its frequency.
HASH_BITS = np.uint64(44)
_LOW = np.uint64((1 << 44) - 1)
#: Bits of a shingle that an entry of a chain has.
_TAG = np.uint64((1 << 31) - 1)


class Prefixes(NamedTuple):
    """The rarest shingles of some documents, rarest first."""

    docs: np.ndarray  # int32[k]: the documents
    begin: np.ndarray  # int64[k]: where the prefix of each begins
    end: np.ndarray  # int64[k]: where it ends
    values: np.ndarray  # uint64[]: shingles by rarity, see `rank_prefixes`

    def take(self, rows: np.ndarray) -> "Prefixes":
        """Return those of some documents; nothing is copied."""
        return Prefixes(self.docs[rows], self.begin[rows], self.end[rows], self.values)


class PrefixChains(NamedTuple):
    """Documents by the shingles of their prefixes; entries of one slot form a chain.

    The numbers of an entry are stored together: a search follows chains through gigabytes. Its
    numbers are the entry before it in the chain, -1 at the end; the document; and the lowest bits
    of the shingle, which is enough as pairs are compared in the end.
    """

    head: np.ndarray  # int32[power of two]: last entry of each slot; -1 where there is none
    entries: np.ndarray  # int32[entries, 3]: see above


class Search(NamedTuple):
    """Working memory of one thread that searches, int32[m] each."""

    seen: np.ndarray  # the document whose search found this one last; -1 at the beginning
    shared: np.ndarray  # shingles that the prefixes of the two share
    found: np.ndarray  # documents that share a shingle


@inner
def _select(values, count, smallest):
    """Bring the smallest of ``values[:count]`` to the front, in any order: Hoare's selection."""
    low, high = 0, count - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if smallest - 1 <= j:
            high = j
        elif smallest - 1 >= i:
            low = i
        else:
            break


@kernel
def count_shingles(sets, docs, counts):
    """Count how often the shingles of some documents occur, by a hash of each, in uint32[2**k].

    A count is an upper bound of the frequency.

    Args:
        sets: `neardup.kernels.jaccard.Sets` of m documents.
        docs: int32[n]: documents.
        counts: uint32[power of two]: gets the counts added.
    """
    mask = np.uint64(counts.shape[0] - 1)
    for d in docs:
        for i in range(sets.begin[d], sets.begin[d] + sets.size[d]):
            counts[sets.values[i] & mask] += np.uint32(1)


@kernel
def rank_prefixes(sets, counts, prefixes, first, last):
    """Fill in the rarest shingles of the documents in a range of the prefixes.

    A shingle becomes a number that orders it by rarity, then by hash; equal shingles become equal
    numbers. Different ones do so too in rare cases, which may cost a comparison and loses nothing.

    Args:
        sets: `neardup.kernels.jaccard.Sets` of m documents.
        counts: uint32[power of two]: see `count_shingles`.
        prefixes: `Prefixes` of k documents; the values are filled in.
        first: int: index of the first document of the prefixes.
        last: int: index after the last.
    """
    mask = np.uint64(counts.shape[0] - 1)
    most = np.uint32((1 << 20) - 1)
    for k in range(first, last):
        d = prefixes.docs[k]
        ranks = np.empty(sets.size[d], dtype=np.uint64)
        for i in range(sets.size[d]):
            value = sets.values[sets.begin[d] + i]
            frequency = np.uint64(min(counts[value & mask], most))
            ranks[i] = frequency << HASH_BITS | value >> np.uint64(20) & _LOW
        low = prefixes.begin[k]
        length = prefixes.end[k] - low
        _select(ranks, sets.size[d], length)
        sort_first(ranks, length)
        for i in range(length):
            prefixes.values[low + i] = ranks[i]


@kernel
def add_to_chains(prefixes, chains, entries):
    """Add prefixes to chains that have ``entries`` and capacity for more; return how many have now.

    Args:
        prefixes: `Prefixes`.
        chains: `PrefixChains`.
        entries: int: entries that are there.
    """
    mask = np.uint64(chains.head.shape[0] - 1)
    for k in range(prefixes.docs.shape[0]):
        for value in prefixes.values[prefixes.begin[k] : prefixes.end[k]]:
            slot = mix(value) & mask
            entry = chains.entries[entries]
            entry[0], entry[1] = chains.head[slot], prefixes.docs[k]
            entry[2] = np.int32(value & _TAG)
            chains.head[slot] = entries
            entries += 1
    return entries


@inner
def _candidates(x, prefix, chains, sizes, threshold, search):
    """Collect the documents before x that may reach the threshold with it; return how many."""
    mask = np.uint64(chains.head.shape[0] - 1)
    seen, shared = search.seen, search.shared
    going = prefix.shape[0]
    entries, tags = np.empty(going, np.int32), np.empty(going, np.int32)
    for p in range(going):
        entries[p] = chains.head[mix(prefix[p]) & mask]
        tags[p] = np.int32(prefix[p] & _TAG)
    count = 0
    # A step along all chains, then the next: so the waits for memory overlap.
    while going:
        left = 0
        for p in range(going):
            if entries[p] < 0:
                continue
            entry, tag = chains.entries[entries[p]], tags[p]
            if entry[2] == tag and entry[1] < x:
                y = entry[1]
                if seen[y] != x:
                    seen[y], shared[y] = x, 0
                    search.found[count] = y
                    count += 1
                shared[y] += 1
            entries[left], tags[left] = entry[0], tag
            left += 1
        going = left
    # All that the two share, and that is in the prefix that ends with the rarer shingle, is in both
    # prefixes and was counted; the rest of the two bounds what else they can share.
    kept, nx = 0, np.int64(sizes[x])
    rest_of_x = nx - prefix.shape[0]
    for i in range(count):
        y = search.found[i]
        ny = np.int64(sizes[y])
        rest = max(rest_of_x, np.int64(threshold * ny) + 1)
        if needed_overlap(nx + ny, threshold) <= min(nx, ny, shared[y] + rest):
            search.found[kept] = y
            kept += 1
    return kept


@kernel
def probe(
    prefixes, first, last, chains, sets, of, threshold, every, search, answers, edges, counts
):
    """Search the chains for documents similar to those in a range of the prefixes.

    The chains contain documents before all of these. Only documents that share a bucket count, by
    ``of`` as in `neardup.kernels.resolving.Buckets`; with no bands all do. If ``every``, all edges
    (earlier, later, similarity) are written to three arrays; it stops, before a document, where
    they might not fit. Else the first document that has an edge is written to ``answers``.
    ``counts`` is as for `neardup.kernels.resolving.against_kept`.

    Returns (first index not done, number of edges). Several threads may search at once.

    Args:
        prefixes: `Prefixes` of k documents.
        first: int: index of the first document of the prefixes.
        last: int: index after the last.
        chains: `PrefixChains`.
        sets: `neardup.kernels.jaccard.Sets` of m documents.
        of: int32[m, num_bands]: see `neardup.kernels.resolving.Buckets`.
        threshold: float: lowest similarity.
        every: bool: write all edges.
        search: `Search` of m documents.
        answers: `neardup.kernels.resolving.Answers` of m documents; of none with ``every``.
        edges: (int32[n], int32[n], float64[n]): get the edges.
        counts: int64[2 or more]: see `neardup.kernels.resolving.against_kept`.
    """
    slack = slack_of(threshold)
    filled = 0
    for k in range(first, last):
        x = prefixes.docs[k]
        prefix = prefixes.values[prefixes.begin[k] : prefixes.end[k]]
        count = _candidates(x, prefix, chains, sets.size, threshold, search)
        if every and filled + count > edges[0].shape[0]:
            search.seen[:] = -1  # the document is searched for again
            return k, filled
        sort_first(search.found, count)
        for y in search.found[:count]:
            if of.shape[1] > 0 and not share_a_bucket(of, x, y):
                continue
            if not may_reach(sets.size, sets.bitmaps, np.int64(x), np.int64(y), slack):
                counts[1] += 1
                continue
            counts[0] += 1
            similarity = jaccard(sets, np.int64(x), np.int64(y), threshold)
            if similarity < 0.0:
                continue
            if not every:
                answers.duplicate_of[x], answers.similarity[x] = y, similarity
                break
            edges[0][filled], edges[1][filled], edges[2][filled] = y, x, similarity
            filled += 1
    return last, filled


class QueryIndex(NamedTuple):
    """The shingles of some queries, each with the queries that have it."""

    heads: np.ndarray  # int32[2**k + 1]: where the shingles with given leading bits begin
    head_shift: np.uint64  # shift of a shingle that gives those bits
    shingles: np.ndarray  # uint64[m], sorted: shingles of all queries, each once
    postings: np.ndarray  # int32[]: queries of each shingle, one shingle after the other
    starts: np.ndarray  # int64[m + 1]: where the queries of each begin
    row_of: np.ndarray  # int32[m]: row of a shingle that many queries have; -1 for the others
    rows: np.ndarray  # uint64[rows, words]: a byte for each query, 1 where it has the shingle
    sizes: np.ndarray  # int64[queries]: sizes of their sets


class Counters(NamedTuple):
    """Working memory of one thread; all zeros before and after a call."""

    counts: np.ndarray  # int32[queries]: shingles shared with each
    touched: np.ndarray  # int32[queries]: queries that share a shingle
    packed: np.ndarray  # uint64[words]: sums of rows of bytes
    unpacked: np.ndarray  # uint8[8 * words]: the same memory


class Overlaps(NamedTuple):
    """Pairs of a document and a query, int32[pairs] each."""

    doc: np.ndarray  # row of the document, ascending
    query: np.ndarray  # row of the query
    overlap: np.ndarray  # shingles that they share


@kernel
def overlaps(values, offsets, first, index, minimum, contained, counters, out):
    """Count what documents share with queries; report the pairs that reach a minimum above 0.

    Begins at document ``first``. ``contained`` measures the share of the query that the document
    has, not their similarity. ``out`` has capacity for a pair of each query, at least. Returns
    (pairs, the first document that is not done).

    Args:
        values: uint64[]: shingles.
        offsets: int64[documents + 1]: where those of each document begin.
        first: int: first document.
        index: `QueryIndex`.
        minimum: float: lowest share or similarity.
        contained: bool: see above.
        counters: `Counters`.
        out: `Overlaps`, for as many pairs as there are queries, at least.
    """
    counts, touched, packed = counters.counts, counters.touched, counters.packed
    queries, words = index.sizes.shape[0], packed.shape[0]
    found = 0
    d = first
    while d < offsets.shape[0] - 1 and found + queries <= out.doc.shape[0]:
        seen = 0
        added = 0
        for i in range(offsets[d], offsets[d + 1]):
            value = values[i]
            # Most shingles are no query's, and most leading bits none of theirs.
            head = np.int64(value >> index.head_shift)
            entry = index.heads[head]
            end = index.heads[head + 1]
            while entry < end and index.shingles[entry] < value:
                entry += 1
            if entry == end or index.shingles[entry] != value:
                continue
            row = index.row_of[entry]
            if row < 0:
                for k in range(index.starts[entry], index.starts[entry + 1]):
                    q = index.postings[k]
                    if counts[q] == 0:
                        touched[seen] = q
                        seen += 1
                    counts[q] += np.int32(1)
                continue
            for w in range(words):
                packed[w] += index.rows[row, w]
            added += 1
            if added % 255 == 0:  # the maximum of a byte
                _unpack(counters)
        if added:
            _unpack(counters)
            seen = queries
        size = offsets[d + 1] - offsets[d]
        for k in range(seen):
            q = np.int32(k) if added else touched[k]
            overlap = np.int64(counts[q])
            total = index.sizes[q] if contained else index.sizes[q] + size - overlap
            if overlap and overlap / total >= minimum:
                out.doc[found], out.query[found], out.overlap[found] = d, q, overlap
                found += 1
            counts[q] = 0
        d += 1
    return found, d


@inner
def _unpack(counters):
    """Add the bytes to the counts, and clear them."""
    for q in range(counters.counts.shape[0]):
        counters.counts[q] += np.int32(counters.unpacked[q])
        counters.unpacked[q] = np.uint8(0)
