"""The corpus, streamed past a sample of it: who its partners are, and which of them were found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.core.band import band_keys
from neardup.core.search import Index, Partners, take
from neardup.core.shingle import Ragged, shingle_sets
from neardup.core.tally import Missed, Seen, Tally, limits_of
from neardup.core.threads import Pool
from neardup.core.tune import Bands
from neardup.core.verify import ShingleSets
from neardup.corpus import Documents
from neardup.kernels.search import share_a_band
from neardup.run.finished import FinishedRun
from neardup.run.parts import Recipe
from neardup.run.results import FoundPairs

__all__ = ["LISTED", "Sample", "Search"]

#: Missed pairs and wrong removals that are listed; all are counted.
LISTED = 10_000
#: Documents that are signed together.
_SIGNED = 4096


@dataclass(frozen=True)
class Sample:
    """The sample.

    Attributes:
        docs: int64[sampled], ascending: positions.
        sets: Their shingle sets.
        removed: int64[]: those of them that were removed.
        keepers: int64[removed]: which kept document each repeats; -1 where there is none.
        stated: float64[removed]: their similarity as the run has it.
        exact: float64[removed]: as it is; -1 where there is no such document.
    """

    docs: np.ndarray
    sets: ShingleSets
    removed: np.ndarray
    keepers: np.ndarray
    stated: np.ndarray
    exact: np.ndarray


class Search:
    """The corpus, streamed past the sample.

    Args:
        run: The run.
        sample: The sample.
        pairs: Which pairs the run found.
    """

    def __init__(self, run: FinishedRun, sample: Sample, pairs: FoundPairs) -> None:
        spec, about = run.spec, run.record["bands"]
        bands = about and Bands(about["num_bands"], about["rows"], about["predicted_recall"])
        self._recipe = Recipe.of(spec, bands, ())
        self._docs, self._pairs, self._edge = sample.docs, pairs, spec.edge_threshold
        # As far down as the curve goes, and as either threshold asks for.
        self._least = min(0.1, spec.edge_threshold, spec.tree_threshold or 0.1)
        limits = limits_of(spec.edge_threshold, self._least)
        self.tally = Tally(len(sample.docs), limits, spec.edge_threshold, spec.tree_threshold)
        self.missed = Missed(LISTED)
        self._index = Index(sample.sets)
        if bands is not None:
            held = Ragged(sample.sets.values, sample.sets.begin)
            rows = np.arange(len(sample.docs))
            self._keys = self._keys_of(held, rows, sample.sets.size.astype(np.int64))

    def chunks(self, run: FinishedRun, pool: Pool) -> Iterator[int]:
        """Go through the corpus; yield the documents of each chunk that is done."""
        ends, shingle, stemmer = run.ends, self._recipe.shingle, self._recipe.stemmer

        def count(chunk: int) -> int:
            return int(ends[chunk] - (ends[chunk - 1] if chunk else 0)) if chunk < len(ends) else 0

        def work(chunk: int, rows: np.ndarray, documents: Documents) -> int:
            sets = shingle_sets(documents.text, shingle, stemmer)
            for partners in self._index.search(sets, self._least):
                self._look(partners, sets, int(ends[chunk]) - len(rows))
            return len(rows)

        for done in run.source.again(lambda chunk: np.arange(count(chunk)), count, pool, work):
            yield done or 0

    def _look(self, partners: Partners, sets: Ragged, first: int) -> None:
        """Count partners of the sample among the documents of a chunk.

        Args:
            partners: Pairs of a document of the chunk and a sampled one.
            sets: Of all documents of the chunk.
            first: Position of the first of them.
        """
        own = self._docs[partners.query] == first + partners.doc
        partners = Partners(*(column[~own] for column in partners))
        a, b = self._docs[partners.query], first + partners.doc.astype(np.int64)
        similarity = partners.similarity
        found, together = self._pairs(a, b)
        met = np.ones(len(a), dtype=np.bool_)
        predicted = np.ones(len(a))
        bands = self._recipe.bands
        if bands is not None:
            new = np.diff(partners.doc, prepend=-1) > 0  # they ascend
            docs, rows = partners.doc[new], np.cumsum(new) - 1
            keys = self._keys_of(sets, docs, np.diff(sets.offsets)[docs])
            share_a_band(self._keys, keys, partners.query, rows.astype(np.int32), met)
            with np.errstate(divide="ignore"):  # of 1 the logarithm is minus infinity, as it should
                other = np.log1p(-(similarity**bands.rows))
            predicted = -np.expm1(bands.num_bands * other)
        # Two sampled documents find each other.
        place = np.minimum(np.searchsorted(self._docs, b), len(self._docs) - 1)
        once = (a < b) | (self._docs[place] != b)
        self.tally.add(Seen(partners.query, similarity, predicted, met, found, together, once))
        lost = once & ~found & (similarity >= self._edge)
        if lost.any():
            self.missed.add(a[lost], b[lost], similarity[lost], met[lost])

    def _keys_of(self, sets: Ragged, rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return the band keys of some rows, uint64[rows, num_bands]."""
        bands, signer = self._recipe.bands, self._recipe.signer
        assert bands is not None and signer is not None
        keys = np.empty((len(rows), bands.num_bands), dtype=np.uint64)
        # Signatures take more than the keys, so that few are held.
        for low in range(0, len(rows), _SIGNED):
            part = slice(low, low + _SIGNED)
            signatures = signer(take(sets, rows[part], lengths[part]))
            keys[part] = band_keys(signatures, bands.num_bands, bands.rows).T
        return keys
