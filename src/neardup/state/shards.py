"""Shares of a corpus that several processes sketch into one store, and which are complete."""

import json
from dataclasses import dataclass
from typing import Self

from neardup.errors import SpecError, StoreError
from neardup.state.band_store import BandStore


@dataclass(frozen=True)
class Shard:
    """A share of the partitions of a corpus: those whose number leaves a remainder.

    Attributes:
        number: From 1 to ``of``.
        of: Number of shards.

    Raises:
        SpecError: There is no such shard.
    """

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise SpecError(f"shard is {self.number}/{self.of}; expected 1/{self.of} or above")

    def has(self, partition: int) -> bool:
        """Return whether a partition belongs to it."""
        return partition % self.of == self.number - 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """Make a shard from ``"3/8"``.

        >>> Shard.parse("3/8").of
        8
        """
        number, slash, of = text.partition("/")
        if not slash or not number.isdecimal() or not of.isdecimal():
            raise SpecError(f"shard is {text!r}; expected NUMBER/OF", "for example 3/8")
        return cls(int(number), int(of))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def shards_of(store: BandStore) -> dict[Shard, int]:
    """Return the shards that are complete, with the number of partitions of their corpus."""
    return {
        Shard.parse(name.removeprefix("shard ")): json.loads(text)["partitions"]
        for name, text in store.notes().items()
        if name.startswith("shard ")
    }


def require_shards(store: BandStore) -> None:
    """Raise StoreError where a shard of the corpus is missing; the message says which."""
    done = shards_of(store)
    if not done:
        raise StoreError(
            f"{store.url}: no shard of this run is complete", "wait until all are sketched"
        )
    # Shards of one number, all of them, make a corpus; others may be left from an earlier try.
    numbers = [shard.of for shard in done]
    of = max(numbers, key=lambda of: numbers.count(of) / of)
    shards = [Shard(number, of) for number in range(1, of + 1)]
    if absent := [str(shard) for shard in shards if shard not in done]:
        which, them = ("shard {} is", "it") if len(absent) == 1 else ("shards {} are", "them")
        named = " and ".join(filter(None, (", ".join(absent[:-1]), absent[-1])))
        raise StoreError(
            f"{store.url}: {which.format(named)} missing",
            f"sketch {them} with `shard`, then try again",
        )
    missing = set(range(max(done[shard] for shard in shards))) - store.partitions().keys()
    if missing:
        raise StoreError(
            f"{store.url}: partition {min(missing)} is missing", "sketch the shard again"
        )


def require_division(store: BandStore, shard: Shard) -> None:
    """Raise StoreError where shards of another number were sketched before."""
    for before in shards_of(store):
        if before.of != shard.of:
            raise StoreError(
                f"{store.url}: shard is {shard}, and {before} was sketched before",
                f"continue in shards of {before.of}, or start again with another `run`",
            )
