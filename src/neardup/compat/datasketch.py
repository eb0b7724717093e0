"""`MinHashLSH` and `MinHashLSHForest` as datasketch has them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np

from neardup.compat.minhashes import LeanMinHash as LeanMinHash
from neardup.compat.minhashes import MinHash as MinHash
from neardup.compat.minhashes import entries, signature
from neardup.compat.minhashes import hash32 as sha1_hash32  # noqa: F401
from neardup.compat.minhashes import hash64 as sha1_hash64  # noqa: F401
from neardup.compat.stored_sets import SetsInMemory, SetsOnDisk, require_seed
from neardup.errors import DependencyError, DuplicateIdError, InputError, SpecError
from neardup.index.storing.snapshot import bucket_names
from neardup.sketch.bands import bands_for_recall, candidate_probability
from neardup.sketch.sketcher import band_keys

#: What datasketch has and this module lacks, and what does its work here.
_LACKING = {
    "AsyncMinHashLSH": "neardup.Index, called in a thread",
    "HNSW": "MinHashLSHForest, or neardup.Index",
    "HyperLogLog": "a library of counters: it finds no duplicates",
    "HyperLogLogPlusPlus": "a library of counters: it finds no duplicates",
    "MinHashLSHBloom": "neardup.Index, or `neardup stream`",
    "MinHashLSHEnsemble": "neardup.decontaminate, or query_contained of neardup.Index.query",
    "WeightedMinHash": 'neardup.dedup of lists, with ShingleSpec("item", bag=True)',
    "WeightedMinHashGenerator": 'neardup.dedup of lists, with ShingleSpec("item", bag=True)',
    "WeightedMinHashLSH": "MinHashLSH, which takes weighted signatures",
    "WeightedMinHashLSHForest": "MinHashLSHForest, which takes weighted signatures",
    "bBitMinHash": "MinHash, or an index, which stores band keys only",
}
_PAGE = "docs/howto/migrate.md, Not supported"

_RECALL = 0.99
_EQUAL = (0.5, 0.5)


def __getattr__(name: str) -> Any:
    if name in _LACKING:
        what = f"neardup.compat.datasketch has no {name}; see {_PAGE}"
        raise DependencyError(what, f"use {_LACKING[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class MinHashLSH:
    """Sets by keys, and which of them may be similar to another one.

    Args:
        threshold: Similarity that is searched for.
        num_perm: Entries of the signatures.
        weights: Costs of a false positive and of a false negative, which add up to 1: bands are
            those for which the sum of both, over all similarities, is smallest. With the default
            they are those with the most rows that find a pair at the threshold with a probability
            of 0.99.
        params: Bands and rows; None to choose them.
        storage_config: None or ``{"type": "dict"}`` for memory; ``{"type": "sqlite", "path": ...}``
            for an index in that folder, which is opened if it is there.
        prepickle: Not needed; must be None.
        hashfunc: Not needed; must be None.
        verified: Return only sets that reach the threshold, exactly. Then signatures must know
            their items, and `LeanMinHash` can't be used.

    Raises:
        SpecError: A setting is out of range.
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = _EQUAL,
        params: tuple[int, int] | None = None,
        storage_config: Mapping[str, Any] | None = None,
        prepickle: object = None,
        hashfunc: object = None,
        *,
        verified: bool = False,
    ) -> None:
        if not 0 < threshold <= 1 or num_perm < 2:
            raise SpecError("the threshold must be in (0, 1], and `num_perm` at least 2")
        if len(weights) != 2 or min(weights) < 0 or abs(sum(weights) - 1) > 1e-9:
            raise SpecError(f"`weights` is {weights!r}; expected two numbers that add up to 1")
        self.threshold, self.h, self.verified = threshold, num_perm, verified
        self.b, self.r = params or _bands(threshold, num_perm, weights)
        if self.b * self.r > num_perm:
            raise SpecError(f"{self.b} bands of {self.r} rows need more than {num_perm} hashes")
        self._buffered: list[MinHash] = []
        self._sets = self._opened(dict(storage_config or {"type": "dict"}))

    def _opened(self, config: dict[str, Any]) -> SetsInMemory | SetsOnDisk:
        kind, path = config.get("type"), config.get("path")
        if kind == "dict":
            return SetsInMemory()
        if kind != "sqlite" or path is None:
            raise SpecError(
                "the storage is not known",
                'use {"type": "dict"} or {"type": "sqlite", "path": ...}',
            )
        return SetsOnDisk(path, self.threshold, self.b, self.r)

    # The items of a set are stored if they are needed, else its entries with their positions.

    def _body(self, minhash: MinHash) -> np.ndarray:
        if len(minhash) != self.h:
            raise SpecError(f"the signature has {len(minhash)} entries; expected {self.h}")
        if not self.verified:
            positions = np.arange(self.h, dtype=np.uint64) << np.uint64(32)
            found: np.ndarray = positions | entries(minhash)
            return found
        elements: np.ndarray | None = getattr(minhash, "elements", None)
        if elements is None:
            raise SpecError(
                "only the signature of a set is known, and `verified` needs its items",
                "use MinHash, not LeanMinHash",
            )
        return elements

    def _signatures(self, bodies: Iterable[np.ndarray], seed: int) -> np.ndarray:
        if self.verified:
            rows = [signature(body, self.h, seed) for body in bodies]
        else:
            rows = [body.astype(np.uint32) for body in bodies]
        return np.array(rows, dtype=np.uint32).reshape(-1, self.h)

    def _names(self, signatures: np.ndarray) -> np.ndarray:
        return bucket_names(band_keys(signatures, self.b, self.r))

    def _insert(self, items: list[tuple[Any, MinHash]], check: bool) -> None:
        if not items:
            return
        bodies = [self._body(minhash) for _, minhash in items]
        names = self._names(np.array([entries(minhash) for _, minhash in items]))
        seed = items[0][1].seed
        for _, minhash in items:
            require_seed(self._sets.seed, minhash.seed)
            require_seed(seed, minhash.seed)
        self._sets.add([key for key, _ in items], bodies, names, seed, check)

    def insert(self, key: Hashable, minhash: MinHash, check_duplication: bool = True) -> None:
        """Add a set.

        Args:
            key: Anything hashable; a string or an integer on the disk.
            minhash: The set.
            check_duplication: Refuse a key that is there already; else its set is replaced.

        Raises:
            DuplicateIdError: The key is there already.
            SpecError: The signature has another length.
        """
        self._insert([(key, minhash)], check_duplication)

    def query(self, minhash: MinHash) -> list[Any]:
        """Return the keys of sets that share a bucket; with ``verified``, of those that reach the
        threshold.
        """
        body = self._body(minhash)
        require_seed(self._sets.seed, minhash.seed)
        (names,) = self._names(entries(minhash)[None])
        if self.verified:
            return self._sets.similar(names, body, self.threshold)
        return self._sets.candidates(names)

    def add_to_query_buffer(self, minhash: MinHash) -> None:
        """Ask for a set later."""
        self._body(minhash)
        self._buffered.append(minhash)

    def collect_query_buffer(self) -> list[Any]:
        """Return the keys that all sets asked for have in common, and forget these."""
        found = [self.query(minhash) for minhash in self._buffered]
        self._buffered = []
        return [key for key in found[0] if all(key in other for other in found)] if found else []

    def __contains__(self, key: Hashable) -> bool:
        """Whether there is a set with a key."""
        return key in self._sets

    def remove(self, key: Hashable) -> None:
        """Remove a set.

        Raises:
            InputError: There is none with this key.
        """
        self._sets.remove([key])

    def is_empty(self) -> bool:
        """Return whether there is no set."""
        return len(self._sets) == 0

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Add all sets of another one; sets of keys that are in both stay as they are.

        Raises:
            DuplicateIdError: A key is in both, and ``check_overlap`` is set.
            SpecError: It has other settings.
        """
        mine = (self.h, self.b, self.r, self.verified)
        if not isinstance(other, MinHashLSH) or mine != (other.h, other.b, other.r, other.verified):
            raise SpecError("the two have other settings")
        seed = other._sets.seed
        if seed is None:  # it is empty
            return
        require_seed(self._sets.seed, seed)
        rows = other._sets.rows()
        new = [(key, body) for key, body in rows if key not in self._sets]
        if check_overlap and len(new) < len(rows):
            raise DuplicateIdError("a key is in both", "leave `check_overlap` out to keep ours")
        if new:
            keys, bodies = map(list, zip(*new, strict=True))
            names = self._names(self._signatures(bodies, seed))
            self._sets.add(keys, bodies, names, seed, True)

    def insertion_session(self, buffer_size: int = 50_000) -> _Session:
        """Return a context within which sets are gathered and added together."""
        return _Session(self, buffer_size)

    def deletion_session(self, buffer_size: int = 50_000) -> _Session:
        """Return a context within which keys are gathered and removed together."""
        return _Session(self, buffer_size)

    # Tables that callers of datasketch read. They are computed from the database at each access.

    @property
    def keys(self) -> dict[Any, list[bytes]]:
        """For each key the name of its bucket in each band; computed at each access."""
        rows = self._sets.rows()
        signed = self._signatures([body for _, body in rows], self._sets.seed or 0)
        return {
            id_: [int(name).to_bytes(8, "little") for name in row]
            for (id_, _), row in zip(rows, band_keys(signed, self.b, self.r), strict=True)
        }

    @property
    def hashtables(self) -> list[dict[bytes, list[Any]]]:
        """For each band the keys of each bucket; computed at each access."""
        return _tables(self.keys, self.b)

    def get_counts(self) -> list[dict[bytes, int]]:
        """Return for each band how many sets each bucket has."""
        return [{name: len(ids) for name, ids in table.items()} for table in self.hashtables]

    def get_subset_counts(self, *keys: Hashable) -> list[dict[bytes, int]]:
        """Return the same for some keys only."""
        buckets = self.keys
        selected = {key: buckets[key] for key in keys if key in buckets}
        return [{name: len(ids) for name, ids in t.items()} for t in _tables(selected, self.b)]


class _Session:
    """Gathers additions and removals, and does them at the end."""

    def __init__(self, lsh: MinHashLSH, buffer_size: int) -> None:
        self._lsh, self._size = lsh, buffer_size
        self._added: list[tuple[Any, MinHash]] = []
        self._removed: list[Any] = []
        self._check = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def insert(self, key: Hashable, minhash: MinHash, check_duplication: bool = True) -> None:
        """Add a set, later."""
        self._added.append((key, minhash))
        self._check = check_duplication
        if len(self._added) >= self._size:
            self.close()

    def remove(self, key: Hashable) -> None:
        """Remove a set, later."""
        self._removed.append(key)
        if len(self._removed) >= self._size:
            self.close()

    def close(self) -> None:
        """Do the gathered additions and removals."""
        added, self._added = self._added, []
        self._lsh._insert(added, self._check)
        removed, self._removed = self._removed, []
        if removed:
            self._lsh._sets.remove(removed)


class MinHashLSHForest:
    """Sets by keys, and which of them have the most in common with another one.

    Args:
        num_perm: Entries of the signatures.
        l: Prefix trees.
    """

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:  # noqa: E741
        if num_perm < 1 or l < 1 or l > num_perm:
            raise SpecError("`num_perm` and `l` must be positive, and `l` not above `num_perm`")
        self.l, self.k = l, num_perm // l
        self.hashranges = [(i * self.k, (i + 1) * self.k) for i in range(l)]
        self._rows: dict[Any, np.ndarray] = {}
        self._table: np.ndarray | None = None

    def add(self, key: Hashable, minhash: MinHash) -> None:
        """Add a set; `index` must be called before it is found.

        Raises:
            DuplicateIdError: The key is there already.
            SpecError: The signature is too short.
        """
        if key in self._rows:
            raise DuplicateIdError("the key is there already")
        if len(minhash) < self.k * self.l:
            raise SpecError(f"the signature has {len(minhash)} entries; expected {self.k * self.l}")
        self._rows[key] = entries(minhash)[: self.k * self.l]

    def index(self) -> None:
        """Make all sets that were added ready to be found."""
        self._table = np.array(list(self._rows.values()), dtype=np.uint32)

    def query(self, minhash: MinHash, k: int) -> list[Any]:
        """Return the keys of up to ``k`` sets that share the longest prefix in some tree.

        Of equal prefixes, those with the most equal entries come first.

        Raises:
            SpecError: ``k`` is not positive, or the signature too short.
        """
        if k < 1 or len(minhash) < self.k * self.l:
            raise SpecError(
                "`k` must be positive, and the signature as long as those of the forest"
            )
        if self._table is None or not len(self._table):
            return []
        equal = self._table == entries(minhash)[: self.k * self.l]
        trees = equal.reshape(len(equal), self.l, self.k)
        depth = np.cumprod(trees, axis=2).sum(axis=2).max(axis=1)
        order = np.lexsort((np.arange(len(equal)), -equal.sum(axis=1), -depth))
        keys = list(self._rows)
        return [keys[i] for i in order[:k].tolist() if depth[i]]

    def get_minhash_hashvalues(self, key: Hashable) -> np.ndarray:
        """Return the signature of a key.

        Raises:
            InputError: There is no such key.
        """
        if key not in self._rows:
            raise InputError("there is no such key")
        return self._rows[key].copy()

    def is_empty(self) -> bool:
        """Return whether nothing can be found."""
        return self._table is None or not len(self._table)

    def __contains__(self, key: Hashable) -> bool:
        """Whether a key was added."""
        return key in self._rows

    @property
    def keys(self) -> dict[Any, list[bytes]]:
        """For each key its part of the signature in each tree."""
        return {
            key: [row[low:high].tobytes() for low, high in self.hashranges]
            for key, row in self._rows.items()
        }

    @property
    def hashtables(self) -> list[dict[bytes, list[Any]]]:
        """For each tree the keys of each part."""
        return _tables(self.keys, self.l)


def _tables(keys: Mapping[Any, list[bytes]], count: int) -> list[dict[bytes, list[Any]]]:
    tables: list[dict[bytes, list[Any]]] = [{} for _ in range(count)]
    for key, names in keys.items():
        for table, name in zip(tables, names, strict=True):
            table.setdefault(name, []).append(key)
    return tables


def _bands(threshold: float, num_perm: int, weights: tuple[float, float]) -> tuple[int, int]:
    """Return bands and rows, see `MinHashLSH`."""
    if weights != _EQUAL:
        similarity = (np.arange(1000) + 0.5) / 1000
        above = similarity >= threshold

        def cost(shape: tuple[int, int]) -> float:
            found = candidate_probability(similarity, *shape)
            false = found[~above].sum(), (1 - found[above]).sum()
            return float(weights[0] * false[0] + weights[1] * false[1])

        every = ((b, r) for r in range(1, num_perm + 1) for b in range(1, num_perm // r + 1))
        return min(every, key=cost)
    best = (num_perm, 1)
    for rows in range(1, num_perm + 1):
        bands = bands_for_recall(threshold, _RECALL, rows)
        if bands * rows > num_perm:
            break
        best = bands, rows
    return best
