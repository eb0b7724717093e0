"""Exact search in the documents of a run, which are read again."""

from collections.abc import Callable, Iterator

import numpy as np

from neardup.deduplication.reading import compared_again
from neardup.io.source import Partition
from neardup.kernels.jaccard import Sets
from neardup.match.exact_search import ExactSearch, Similar
from neardup.match.verifying import make_sets, taken
from neardup.results.results import Results
from neardup.sketch.document_groups import mix_groups, with_groups
from neardup.sketch.sketcher import Signer, band_keys
from neardup.sketch.texts import Ragged
from neardup.sketch.tokenising import Tokeniser
from neardup.threads import Pool

#: Called with pairs, the sets of the documents that they are among, and the numbers of these.
Look = Callable[[Similar, Ragged, np.ndarray], None]

#: Documents whose signatures are made together, as these take more than the keys.
_SIGNED = 4096


class CorpusSearch:
    """Makes shingle sets as the run did. Documents are given by their numbers."""

    def __init__(self, results: Results, pool: Pool) -> None:
        self._results, self.pool = results, pool
        self._recipe = recipe = results.usable_recipe
        self._tokeniser = Tokeniser(recipe.shingle, grouped=recipe.within is not None)
        self._signer = Signer(recipe.num_hashes, recipe.scheme, recipe.seed)
        order = results.positions_of
        self._number_at = None if order is None else np.argsort(order)
        self._groups = results.groups(np.arange(results.documents), pool.threads)

    def keys(self, sets: Ragged | Sets, rows: np.ndarray, docs: np.ndarray) -> np.ndarray:
        """Return the band keys of some sets, and of their documents: uint64[rows, num_bands]."""
        recipe = self._recipe
        keys = np.empty((len(rows), recipe.num_bands), dtype=np.uint64)
        for low in range(0, len(rows) if recipe.num_bands else 0, _SIGNED):
            batch = slice(low, low + _SIGNED)
            chosen = taken(sets, rows[batch])
            if self._groups is not None:
                mix_groups(chosen, self._groups[docs[batch]])
            keys[batch] = band_keys(self._signer(chosen), recipe.num_bands, recipe.rows)
        return keys

    def sets(self, docs: np.ndarray, check: Callable[[int], None] = lambda shingles: None) -> Sets:
        """Return the sets of some documents; ``check`` may refuse so many shingles."""
        order = self._results.positions_of
        ascending, back = np.unique(docs if order is None else order[docs], return_inverse=True)
        values, sizes = [np.empty(0, np.uint64)], [np.zeros(1, np.int64)]
        shingles = 0

        def read(partition: Partition, rows: np.ndarray, count: int) -> Ragged:
            again = compared_again(partition, rows, count, self._recipe.within)
            return self._tokeniser.sets(again)

        for part in self._results.at(ascending).visit(read, self.pool.threads):
            shingles += len(part.values)
            check(shingles)
            values.append(part.values)
            sizes.append(np.diff(part.offsets))
        offsets = np.cumsum(np.concatenate(sizes))
        if len(offsets) != len(ascending) + 1:
            raise self._results.changed()
        found = make_sets(Ragged(np.concatenate(values), offsets))
        return found.take(back)

    def search(self, queries: ExactSearch, minimum: float, look: Look) -> Iterator[int]:
        """Compare all documents with some queries; yield the number of those of each partition.

        ``look`` is called in several threads with pairs that reach the minimum, which is above 0.
        """
        ends = self._results.input.ends
        cached = self._results.input.reader.cached

        def work(item: tuple[int, Partition]) -> int:
            number, partition = item
            if number >= len(ends):
                raise self._results.changed()
            first, last = int(ends[number - 1]) if number else 0, int(ends[number])
            documents = cached.get(number) or partition.read(())
            if len(documents.text) != last - first:
                raise self._results.changed()
            docs = np.arange(first, last)
            if self._number_at is not None:
                docs = self._number_at[first:last]
            text = documents.text
            if self._groups is not None:
                text = with_groups(text, self._groups[docs])
            sets = self._tokeniser.sets(text)
            for similar in queries(sets, minimum):
                look(similar, sets, docs)
            return last - first

        done = 0
        for count in self.pool.ordered(work, self._results.input.reader.partitions()):
            done += count
            yield count
        if done != self._results.documents:
            raise self._results.changed()
