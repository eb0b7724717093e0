"""The state of a run in one transactional file, and the stores of band keys."""

import importlib
import re
from typing import cast

from neardup.errors import SpecError
from neardup.state.band_store import BandStore, Header
from neardup.state.run_state import RunState

__all__ = ["STORES", "BandStore", "Header", "RunState", "check_store", "open_store"]

#: Band stores by the scheme of their URL, imported when one is asked for. A class takes a URL and
#: the name of a run, and opens nothing until it is used. Others may be added.
STORES = {
    "memory": "neardup.state.memory_store:MemoryStore",
    "sqlite": "neardup.state.sqlite_store:SqliteStore",
    "cassandra": "neardup.state.cassandra.cassandra_store:CassandraStore",
}


def open_store(url: str, *, run: str = "neardup", state: RunState | None = None) -> BandStore:
    """Return the store that a URL names, neither connected to nor created yet.

    URLs are ``memory``; ``sqlite`` for the file of ``state``; ``sqlite:FILE``; or
    ``cassandra://HOST[:PORT]/KEYSPACE``, with several hosts separated by commas, and ``run`` as the
    name that distinguishes runs in one keyspace.
    """
    if url == "sqlite" and state is not None:
        return state.band_store()
    scheme = url.partition(":")[0]
    if scheme not in STORES:
        # Not quoted in full: it may contain a password.
        shown = repr(scheme) if re.fullmatch(r"[a-z0-9+]+", scheme) else "that URL"
        known = "memory, sqlite, sqlite:FILE, cassandra://HOST[:PORT]/KEYSPACE"
        raise SpecError(f"no store is known for {shown}", f"known are {known}")
    module, _, name = STORES[scheme].partition(":")
    kind = cast(type[BandStore], getattr(importlib.import_module(module), name))
    return kind(url, run)  # type: ignore[call-arg]


def check_store(url: str) -> None:
    """Raise SpecError for a URL that no store takes; no driver is imported."""
    open_store("sqlite:file of the run" if url == "sqlite" else url).close()
