"""Band keys of the documents of a run, from its store."""

from collections.abc import Callable

import numpy as np

from neardup.files.scratch import Scratch
from neardup.state.band_store import BandStore

#: Bytes of band keys of all documents that are cached, as each band is asked for twice.
_CACHED = 64 << 20


class BandKeys:
    """Reads the keys of some documents, a band at a time."""

    def __init__(self, store: BandStore, scratch: Scratch) -> None:
        self._store, self._scratch = store, scratch
        self._cached: dict[int, np.ndarray] = {}
        sizes = [entry.documents for entry in store.partitions().values()]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def of(self, docs: np.ndarray) -> Callable[[int], np.ndarray]:
        """Return a function from a band to the keys, uint64[n], of documents int32[n].

        Several threads may call it. Each call takes 8 bytes for each of the documents.
        """
        order = None if (docs[1:] >= docs[:-1]).all() else np.argsort(docs)
        ascending = docs if order is None else docs[order]
        bounds = np.searchsorted(ascending, self._starts.astype(docs.dtype)).tolist()
        documents = int(self._starts[-1])

        def keys_of(band: int) -> np.ndarray:
            if (cached := self._cached.get(band)) is not None:
                return np.asarray(cached[docs])
            if (len(self._cached) + 1) * 8 * documents <= _CACHED:
                every = self._scratch.empty(documents, np.uint64)
                for (_, part), start in zip(self._store.band(band), self._starts, strict=False):
                    every[start : start + len(part)] = part
                self._cached[band] = every
                return np.asarray(every[docs])
            keys = np.empty(len(docs), np.uint64)
            for number, (_, part) in enumerate(self._store.band(band)):
                low, high = bounds[number], bounds[number + 1]
                found = part[ascending[low:high] - self._starts[number]]
                keys[slice(low, high) if order is None else order[low:high]] = found
            return keys

        return keys_of
