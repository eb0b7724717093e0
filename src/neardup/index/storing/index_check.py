"""Check of an index: every byte that is used, and that its tables agree."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np

from neardup.errors import NeardupError, StoreError
from neardup.index.copy_keys import documents_of
from neardup.index.copy_texts import without_keys
from neardup.index.storing.bodies import DocumentRow, is_intact
from neardup.index.storing.catalogue import Catalogue, Options
from neardup.index.storing.location import NOTE, noted_commit
from neardup.index.storing.segments import distinct
from neardup.index.storing.transactions import Core

_FETCHED = 4096


def problems_of(core: Core) -> list[str]:
    """Return the defects of an index, a line for each; empty where there are none.

    All of it is read.

    Raises:
        IndexMovedError: Its folder is not where it was.
    """
    found: list[str] = []
    core.catalogue.require_folder()
    core.forget(reopen=True)  # segments in memory may differ from damaged files
    try:
        if core.catalogue.path is not None:
            require_last_commit(core.catalogue.path)
        with core.reading() as state:
            check = core.catalogue.rows("PRAGMA integrity_check(1)")
            if check != [("ok",)]:
                return [f"{core.name}: the structure of the database is damaged"]
            found += _documents(core)
            found += _in_segments(core)
            found += _copies(core)
            for what, table, column, next_ in (
                ("document", "documents", "doc", state.next),
                *(("segment", kind.table, "number", state.segment) for kind in core.kinds),
            ):
                rows = core.catalogue.rows(f"SELECT max({column}) FROM {table}")  # noqa: S608
                if rows[0][0] is not None and rows[0][0] >= next_:
                    found.append(f"the number of the next {what} is taken already")
            found += _duplicates(core)
    except NeardupError as error:
        found.append(str(error))
    return found


def _documents(core: Core) -> list[str]:
    found, last, count, state = [], -1, 0, core.catalogue.state()
    while True:
        rows = core.catalogue.rows(
            "SELECT doc, id, body, checksum FROM documents WHERE doc > ? ORDER BY doc LIMIT ?",
            (last, _FETCHED),
        )
        if not rows:
            break
        count += len(rows)
        last = rows[-1][0]
        bad = [doc for doc, *rest in rows if not is_intact(DocumentRow(doc, *rest))]
        found += [f"document number {doc} is damaged" for doc in bad]
    if count != state.documents:
        found.append(f"there are {count:,} documents, and should be {state.documents:,}")
    ids = [id_ for _, id_ in core.catalogue.listed()] if not found else []
    if any(isinstance(id_, int) and id_ > state.greatest for id_ in ids):
        found.append("the id of the next document may be taken already")
    return found


def _in_segments(core: Core) -> list[str]:
    """Compare the documents with those of the segments and the log."""
    found: list[str] = []
    parts: list[np.ndarray] = [np.empty(0, np.int64)]
    for segment in core.snapshot.segments:
        try:
            parts.append(segment.check().astype(np.int64))
        except NeardupError as error:
            found.append(str(error))
    if found:
        return found
    parts.append(distinct(core.snapshot.logged().docs).astype(np.int64))
    placed, counts = np.unique(np.concatenate(parts), return_counts=True)
    if (counts > 1).any():
        found.append("a document is in two segments")
    stored, removed = _stored(core), np.array(core.catalogue.removed(), np.int64)
    if missing := len(np.setdiff1d(stored, placed)):
        found.append(f"{missing:,} documents are in no segment")
    invented = np.setdiff1d(placed, np.concatenate([stored, removed]))
    if len(invented):
        found.append(f"segments have {len(invented):,} documents that are not there")
    return found


def _copies(core: Core) -> list[str]:
    """Compare the documents with those that keys of copied passages have."""
    if core.copies is None:
        return []
    found: list[str] = []
    parts = [distinct(core.copies.logged().docs)]
    for segment in core.copies.segments:
        try:
            parts.append(segment.check(documents_of))
        except NeardupError as error:
            found.append(str(error))
    if found:
        return found
    keyed = np.unique(np.concatenate(parts)).astype(np.int64)
    stored = _stored(core)
    if invented := len(np.setdiff1d(keyed, stored)):
        found.append(f"keys of copied passages have {invented:,} documents that are not there")
    lost = np.setdiff1d(stored, keyed)  # or between the first and the latest document of each run
    batches = [lost[low : low + _FETCHED] for low in range(0, len(lost), _FETCHED)]
    if missing := sum(without_keys(core, batch) for batch in batches):
        found.append(f"{missing:,} documents have no keys of copied passages")
    return found


def _duplicates(core: Core) -> list[str]:
    """Compare the ids that were answered as duplicates with the documents."""
    core.duplicates.require_intact()
    lost = core.catalogue.rows(
        "SELECT count(*) FROM duplicates WHERE duplicate_of NOT IN (SELECT id FROM documents)"
    )[0][0]
    return [f"{lost:,} duplicates are of documents that are not there"] if lost else []


def _stored(core: Core) -> np.ndarray:
    return np.array([doc for doc, _ in core.catalogue.listed()], np.int64)


def require_last_commit(database: Path) -> None:
    """Refuse a database that has lost a transaction that was committed, see `CommitNote`.

    Raises:
        StoreError: It has, or the note is damaged.
    """
    noted = noted_commit(database)  # first: others may commit meanwhile
    # A reader leaves the log of SQLite as it is, whatever is wrong with it.
    with closing(Catalogue(database, Options(readonly=True))) as catalogue:
        catalogue.about()  # refuses a file that is no index of this version
        with catalogue.reading() as state:
            lost = state.generation < noted
    if lost:
        raise StoreError(
            f"{database} is damaged: documents that were committed last are lost",
            f"restore the index from a copy; or delete {database.with_name(NOTE)}, which allows to "
            "read the others, merge these into a new index, and add the last documents again",
        )
