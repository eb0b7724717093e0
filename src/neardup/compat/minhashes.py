"""`MinHash` and `LeanMinHash` as datasketch 1 has them, with the same signatures."""

from __future__ import annotations

import copy
import functools
import hashlib
import struct
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np

from neardup.errors import SpecError
from neardup.kernels.bits import TOKEN_MULTIPLIER

_EMPTY = np.uint32(2**32 - 1)
_WORD = 2**64 - 1
#: The functions are ``(a * x + b) % _PRIME``, of which the lower 32 bits count.
_PRIME, _LOW = np.uint64(2**61 - 1), np.uint64(2**32 - 1)
#: Whatever function hashes items, times this its values fill the range of 64 bits; and back.
_BACK = np.uint64(pow(int(TOKEN_MULTIPLIER), -1, 2**64))
#: Items of a set that are signed together.
_STEP = 1024


def hash64(item: bytes) -> int:
    """Return the hash of an item, 64 bits."""
    return int.from_bytes(hashlib.sha1(item, usedforsecurity=False).digest()[:8], "little")


def hash32(item: bytes) -> int:
    """Return the lower 32 bits of `hash64`, which signatures use."""
    return hash64(item) & 0xFFFFFFFF


@functools.lru_cache(64)
def _parameters(seed: int, num_perm: int) -> np.ndarray:
    draw = np.random.RandomState(seed).randint
    pairs = [
        (draw(1, int(_PRIME), dtype=np.uint64), draw(0, int(_PRIME), dtype=np.uint64))
        for _ in range(num_perm)
    ]
    return np.array(pairs, dtype=np.uint64).T


def signature(elements: np.ndarray, num_perm: int, seed: int) -> np.ndarray:
    """Return the signature of a set, uint32[num_perm].

    Args:
        elements: uint64[]: its items, see `MinHash`.
        num_perm: Entries.
        seed: Seed of the hash functions.
    """
    a, b = _parameters(seed, num_perm)
    found = np.full(num_perm, _EMPTY)
    for low in range(0, len(elements), _STEP):
        x = elements[low : low + _STEP, None] * _BACK & _LOW
        values = (a * x + b) % _PRIME & _LOW
        found = np.minimum(found, values.min(axis=0).astype(np.uint32))
    return found


def entries(minhash: Any) -> np.ndarray:
    """Return a signature, uint32[n]; of datasketch's weighted ones each pair becomes an entry."""
    values = np.asarray(minhash.hashvalues)
    if values.ndim == 1:
        return values.astype(np.uint32)
    folded = np.zeros(len(values), dtype=np.uint64)
    for column in values.T.astype(np.uint64):
        folded = (folded ^ column) * TOKEN_MULTIPLIER
        folded ^= folded >> np.uint64(32)
    return folded.astype(np.uint32)


class MinHash:
    """The signature of a set that grows item by item.

    Args:
        num_perm: Entries of the signature.
        seed: Seed of the hash functions.
        hashfunc: Makes an integer of an item, of which signatures use the lower 32 bits; the
            first bytes of the SHA-1 of bytes by default.
        hashobj: Not used any more by anybody; must be None.
        hashvalues: A signature to begin with.
        permutations: Parameters of the hash functions follow from the seed; must be None.
        scheme: None or ``"legacy"``, which datasketch 2 calls the functions of datasketch 1.
        gpu_mode: Accepted as in datasketch 2. There is no GPU here: with ``"always"`` a warning
            says that the processor signs.
    """

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        hashfunc: Callable[[Any], int] = hash64,
        hashobj: object = None,
        hashvalues: Iterable[int] | None = None,
        permutations: object = None,
        gpu_mode: str = "disable",
        scheme: str | None = None,
    ) -> None:
        if scheme not in (None, "legacy"):
            raise SpecError(f"`scheme` is {scheme!r}; expected None or legacy")
        if gpu_mode not in ("disable", "detect", "always"):
            raise SpecError(f"`gpu_mode` is {gpu_mode!r}; expected disable, detect or always")
        if gpu_mode == "always":
            warnings.warn("`gpu_mode` is always; the processor signs", stacklevel=2)
        if hashobj is not None or permutations is not None:
            raise SpecError("`hashobj` and `permutations` can't be given", "use `hashfunc`, `seed`")
        self.seed, self.hashfunc = seed, hashfunc
        #: Hashes of items that are not in the signature yet: a signature of many items together
        #: costs little more than that of one.
        self._waiting = array("Q")
        self._elements: np.ndarray | None = np.empty(0, dtype=np.uint64)
        if hashvalues is None:
            if type(num_perm) is not int or num_perm < 1:
                raise SpecError(f"`num_perm` is {num_perm!r}; expected an integer, 1 or more")
            self._entries = np.full(num_perm, _EMPTY)
        else:
            self._entries = np.array(list(hashvalues), dtype=np.uint32)
            if not self.is_empty():
                self._elements = None

    @property
    def hashvalues(self) -> np.ndarray:
        """The signature, uint32[num_perm]."""
        self._sign()
        return self._entries

    @hashvalues.setter
    def hashvalues(self, values: np.ndarray) -> None:
        self._sign()
        self._entries = values

    @property
    def elements(self) -> np.ndarray | None:
        """Hashes of the items, spread over 64 bits: uint64[]; None where only a signature is
        known.
        """
        self._sign()
        return self._elements

    def _sign(self) -> None:
        if not self._waiting:
            return
        more = np.array(self._waiting, dtype=np.uint64) * TOKEN_MULTIPLIER
        self._waiting = array("Q")
        self._entries = np.minimum(self._entries, signature(more, self.num_perm, self.seed))
        if self._elements is not None:
            self._elements = np.union1d(self._elements, more)

    @property
    def num_perm(self) -> int:
        """Entries of the signature."""
        return len(self._entries)

    @property
    def permutations(self) -> np.ndarray:
        """Factors and constants of the hash functions, uint64[2, num_perm]."""
        return _parameters(self.seed, self.num_perm).copy()

    def update(self, b: Any) -> None:
        """Add an item."""
        waiting = self._waiting
        waiting.append(self.hashfunc(b) & _WORD)
        if len(waiting) >= _STEP:
            self._sign()

    def update_batch(self, b: Iterable[Any]) -> None:
        """Add several items."""
        self._waiting.extend(self.hashfunc(item) & _WORD for item in b)
        if len(self._waiting) >= _STEP:
            self._sign()

    def jaccard(self, other: MinHash) -> float:
        """Return the share of equal entries, an estimate of the similarity of the two sets."""
        self._require_same(other)
        return float((self.hashvalues == other.hashvalues).mean())

    def exact_jaccard(self, other: MinHash) -> float:
        """Return the exact similarity of the two sets.

        Raises:
            SpecError: Of one of them only a signature is known.
        """
        if self.elements is None or other.elements is None:
            raise SpecError("the items of a set are not known any more, only its signature")
        shared = len(np.intersect1d(self.elements, other.elements, assume_unique=True))
        return shared / max(1, len(self.elements) + len(other.elements) - shared)

    def count(self) -> float:
        """Return an estimate of the number of items."""
        share = self.hashvalues.astype(np.float64).sum() / float(_EMPTY)
        return float("inf") if share == 0 else max(0.0, self.num_perm / share - 1)

    def merge(self, other: MinHash) -> None:
        """Add all items of another set."""
        self._require_same(other)
        self.hashvalues = np.minimum(self.hashvalues, other.hashvalues)
        if self.elements is None or other.elements is None:
            self._elements = None
        else:
            self._elements = np.union1d(self.elements, other.elements)

    def digest(self) -> np.ndarray:
        """Return a copy of the signature."""
        return self.hashvalues.copy()

    def is_empty(self) -> bool:
        """Return whether nothing was added."""
        return bool((self.hashvalues == _EMPTY).all())

    def clear(self) -> None:
        """Forget all items."""
        self.hashvalues = np.full(self.num_perm, _EMPTY)
        self._elements = np.empty(0, dtype=np.uint64)

    def copy(self) -> Self:
        """Return a copy."""
        return copy.deepcopy(self)

    def __len__(self) -> int:
        """Entries of the signature."""
        return self.num_perm

    def __eq__(self, other: object) -> bool:
        """Whether class, seed and signature are equal."""
        return (
            isinstance(other, MinHash)
            and type(self) is type(other)
            and self.seed == other.seed
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def union(cls, *mhs: MinHash) -> MinHash:
        """Return the union of two sets or more."""
        if len(mhs) < 2:
            raise SpecError("a union needs two sets or more")
        found = mhs[0].copy()
        for other in mhs[1:]:
            found.merge(other)
        return found

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **settings: Any) -> list[MinHash]:
        """Return a set for each of several lists of items."""
        return list(cls.generator(b, **settings))

    @classmethod
    def generator(cls, b: Iterable[Iterable[Any]], **settings: Any) -> Iterator[MinHash]:
        """Yield a set for each of several lists of items."""
        for items in b:
            made = cls(**settings)
            made.update_batch(items)
            yield made

    def _require_same(self, other: MinHash) -> None:
        if self.seed != other.seed or self.num_perm != other.num_perm:
            raise SpecError("signatures of other seeds or lengths can't be compared")


class LeanMinHash(MinHash):
    """A signature that does not grow any more, and can be a key of a dict.

    Args:
        minhash: A set; or
        seed: its seed, and
        hashvalues: its signature.
    """

    def __init__(
        self,
        minhash: MinHash | None = None,
        seed: int | None = None,
        hashvalues: Iterable[int] | None = None,
    ) -> None:
        if minhash is not None:
            seed, hashvalues = minhash.seed, minhash.hashvalues
        if seed is None or hashvalues is None:
            raise SpecError("give a `minhash`, or `seed` and `hashvalues`")
        super().__init__(seed=seed, hashvalues=hashvalues)
        self._elements = None

    def update(self, b: Any) -> None:
        """Refused.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a LeanMinHash can't be updated")

    update_batch = update

    def bytesize(self, byteorder: str = "@") -> int:
        """Return the number of bytes that `serialize` writes."""
        return struct.calcsize(self._format(byteorder, self.num_perm))

    def serialize(self, buf: Any, byteorder: str = "@") -> None:
        """Write seed, length and signature into a buffer.

        Raises:
            SpecError: It is too small.
        """
        if len(buf) < self.bytesize(byteorder):
            raise SpecError("the buffer is too small")
        pattern = self._format(byteorder, self.num_perm)
        struct.pack_into(pattern, buf, 0, self.seed, self.num_perm, *self.hashvalues.tolist())

    @classmethod
    def deserialize(cls, buf: Any, byteorder: str = "@") -> LeanMinHash:
        """Return what `serialize` wrote.

        Raises:
            SpecError: It is cut off.
        """
        try:
            _, num_perm = struct.unpack_from(cls._format(byteorder, 0), buf, 0)
            seed, _, *values = struct.unpack_from(cls._format(byteorder, num_perm), buf, 0)
        except struct.error as error:
            raise SpecError("the buffer is too small") from error
        return cls(seed=seed, hashvalues=values)

    @staticmethod
    def _format(byteorder: str, num_perm: int) -> str:
        return f"{byteorder}qi{num_perm}I"

    def copy(self) -> Self:
        """Return a copy."""
        return type(self)(seed=self.seed, hashvalues=self.hashvalues)

    def __hash__(self) -> int:  # type: ignore[override]
        """Of seed and signature; the same in every process."""
        data = self.seed.to_bytes(8, "little", signed=True) + self.hashvalues.tobytes()
        return hash64(data) >> 3

    @classmethod
    def union(cls, *mhs: MinHash) -> LeanMinHash:
        """Return the union of two sets or more."""
        return cls(MinHash.union(*(cls(one) for one in mhs)))
