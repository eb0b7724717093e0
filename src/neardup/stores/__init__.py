"""Where the band matrix lies: one contract, several stores, the same clusters with each."""

from __future__ import annotations

from pathlib import Path

from neardup.errors import SpecError
from neardup.stores.base import STORE_FORMAT, BandStore, Header, PartEntry
from neardup.stores.memory import MemoryStore

__all__ = ["STORE_FORMAT", "BandStore", "Header", "MemoryStore", "PartEntry", "open_store"]

_KNOWN = "memory, sqlite, sqlite:FILE, cassandra://HOST[:PORT]/KEYSPACE"


def open_store(
    url: str,
    *,
    design: int = 2,
    run: str = "neardup",
    folder: Path | None = None,
    budget: int | None = None,
) -> BandStore:
    """Return the store that a URL names, neither connected to nor looked into yet.

    Args:
        url: ``memory``; ``sqlite`` for the file ``bands.sqlite`` in ``folder``; ``sqlite:FILE``; or
            ``cassandra://HOST[:PORT]/KEYSPACE``, several hosts separated by commas.
        design: 2 for a row per band and part, 1 for a row per cell; ``memory`` has but one.
        run: Tells runs apart that share a keyspace.
        folder: Of the run. Without one ``memory`` is not durable.
        budget: Bytes that ``memory`` may hold; the others hold next to nothing.

    Raises:
        SpecError: Another URL or design.
        DependencyError: The package that it needs is not installed.
    """
    if design not in (1, 2):
        raise SpecError(f"design is {design}, expected 1 or 2")
    if url == "memory":
        return MemoryStore(folder, budget)
    if url == "sqlite" or url.startswith("sqlite:"):
        from neardup.stores.sqlite import SqliteStore

        _, _, name = url.partition(":")
        if name:
            return SqliteStore(Path(name), design)
        if folder is None:
            raise SpecError(f"store {url!r} names no file", "write sqlite:FILE")
        return SqliteStore(folder / "bands.sqlite", design)
    if url.startswith("cassandra://"):
        from neardup.stores.cassandra import CassandraStore

        return CassandraStore(url, design, run)
    # Not quoted beyond the scheme: what follows may hold a password.
    shown = url if "@" not in url else url.partition(":")[0]
    raise SpecError(f"no store {shown!r}", f"known are {_KNOWN}")
