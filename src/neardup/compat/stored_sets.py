"""Sets in buckets, by keys: in dicts, or in a `neardup.Index` on the disk."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neardup.api.indexes.indexing import Index
from neardup.errors import DuplicateIdError, SpecError, UnknownIdError
from neardup.index.incoming import checked_id
from neardup.index.storing.bodies import unpack_sets
from neardup.result_record import INDEX
from neardup.sketch.texts import Ragged
from neardup.spec import ShingleSpec, Spec


class SetsInMemory:
    """Sets, uint64[], and their buckets.

    A call of an index takes a transaction, which is more than many sets one by one can wait for.

    Attributes:
        seed: Of all sets; None before the first one.
    """

    def __init__(self) -> None:
        self.seed: int | None = None
        #: Of each key the number of its set, the set, and the names of its buckets.
        self._rows: dict[Hashable, tuple[int, np.ndarray, list[int]]] = {}
        self._buckets: dict[int, list[Hashable]] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._rows

    def rows(self) -> list[tuple[Any, np.ndarray]]:
        """Return all sets with their keys, in the order in which they were added."""
        return [(key, row[1]) for key, row in self._rows.items()]

    def add(
        self, keys: Sequence[Any], sets: list[np.ndarray], names: np.ndarray, seed: int, check: bool
    ) -> None:
        """Add sets with the names of their buckets, uint64[keys, bands].

        Raises:
            DuplicateIdError: A key is there twice, or, with ``check``, already.
        """
        require_new(keys, [key for key in keys if key in self._rows] if check else ())
        self.seed = seed
        buckets = self._buckets
        for key, one, row in zip(keys, sets, names.tolist(), strict=True):
            if key in self._rows:
                self.remove([key])
            self._rows[key] = self._next, one, row
            self._next += 1
            for name in row:
                if name in buckets:
                    buckets[name].append(key)
                else:
                    buckets[name] = [key]

    def remove(self, keys: Iterable[Any]) -> None:
        """Remove sets.

        Raises:
            UnknownIdError: One is not there; nothing is removed.
        """
        keys = list(keys)
        for key in keys:
            if key not in self._rows:
                raise UnknownIdError("there is no set with this key")
        for key in keys:
            for name in self._rows.pop(key)[2]:
                self._buckets[name].remove(key)
                if not self._buckets[name]:
                    del self._buckets[name]

    def candidates(self, names: np.ndarray) -> list[Any]:
        """Return the keys of sets in buckets of some names, uint64[bands], in order."""
        found: set[Hashable] = set()
        buckets = self._buckets
        for name in names.tolist():
            if name in buckets:
                found.update(buckets[name])
        return sorted(found, key=lambda key: self._rows[key][0])

    def similar(self, names: np.ndarray, asked: np.ndarray, threshold: float) -> list[Any]:
        """Return those of `candidates` that reach a threshold with a set, uint64[]."""
        found = []
        for key in self.candidates(names):
            other = self._rows[key][1]
            shared = len(np.intersect1d(asked, other, assume_unique=True))
            if shared / max(1, len(asked) + len(other) - shared) >= threshold:
                found.append(key)
        return found


class SetsOnDisk:
    """The same in an index, in a folder.

    Args:
        path: The folder; made if there is none.
        threshold: Similarity that is searched for.
        bands: How many keys each set has.
        rows: Of how many entries each.

    Raises:
        RecipeError: The index has other settings.
    """

    def __init__(
        self, path: str | os.PathLike[str], threshold: float, bands: int, rows: int
    ) -> None:
        # The caller's hashes are compared: the shingle plays no part.
        spec = Spec(ShingleSpec("word:1"), threshold=threshold, num_bands=bands, rows=rows)
        if not (Path(path) / INDEX).exists():
            self._index = Index.create(path, spec=spec, store_text=False)
        else:
            self._index = Index.open(path)
            self._index.recipe.require_same(Index.create(spec=spec).recipe, os.fspath(path))
        self._settings = threshold, bands, rows
        self.seed: int | None = self._index._core.catalogue.about().get("seed")

    def __reduce__(self) -> tuple[Any, ...]:
        return SetsOnDisk, (self._index.path, *self._settings)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, key: Any) -> bool:
        return key in self._index

    def rows(self) -> list[tuple[Any, np.ndarray]]:
        core = self._index._core
        with core.reading():
            return [(r.id, unpack_sets([r.body]).values) for rows in core.rows() for r in rows]

    def add(
        self, keys: Sequence[Any], sets: list[np.ndarray], names: np.ndarray, seed: int, check: bool
    ) -> None:
        keys, core = [checked_id(key) for key in keys], self._index._core
        with core.writing():
            if self.seed is None:
                self._keep_seed(seed)
            there = core.numbers(keys)
            require_new(keys, there if check else ())
            if there:
                core.remove(list(there))
            first = core.store(keys, [one.astype("<u8").tobytes() for one in sets])
            core.enter(first, keys, np.arange(len(keys)), names)
        self._index._merger.after_insert()

    def _keep_seed(self, seed: int) -> None:
        """Write down the seed of the first sets, in their transaction."""
        catalogue = self._index._core.catalogue
        about = catalogue.about()
        self.seed = about.get("seed", seed)  # that of another process, perhaps
        require_seed(self.seed, seed)
        catalogue.describe({**about, "seed": seed})

    def remove(self, keys: Iterable[Any]) -> None:
        self._index.remove([checked_id(key) for key in keys])

    def candidates(self, names: np.ndarray) -> list[Any]:
        core = self._index._core
        with core.reading():
            found = core.snapshot.candidates(names[None])
            return [row.id for row in sorted(core.catalogue.fetch(found.doc.tolist()))]

    def similar(self, names: np.ndarray, asked: np.ndarray, threshold: float) -> list[Any]:
        core = self._index._core
        items = Ragged(asked, np.array([0, len(asked)], dtype=np.int64))
        with core.reading():
            keep = core.verifier.keeper(items, np.zeros(1, dtype=np.int64), threshold)
            found = core.snapshot.candidates(names[None], keep)
            return core.verifier.matches(items, found, threshold, first=False).id


def require_new(keys: Sequence[Any], there: Iterable[Any]) -> None:
    """Refuse keys of which one is there, or given twice."""
    if (len(keys) > 1 and len(set(keys)) < len(keys)) or any(True for _ in there):
        raise DuplicateIdError("the key is there already", "remove it first")


def require_seed(seed: int | None, asked: int) -> None:
    """Refuse a set that was signed with another seed than those that are there."""
    if seed not in (None, asked):
        raise SpecError(
            f"the set has seed {asked}; expected {seed}, that of the sets before it",
            "make all sets with one seed",
        )
