"""Whether an index is whole: every byte that means something, and that its tables agree."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import NeardupError, StoreError
from neardup.index.bodies import Row, is_intact
from neardup.index.catalogue import Catalogue
from neardup.index.place import noted_commit
from neardup.index.transactions import Core

_FETCHED = 4096
_HEADER, _HEAD = 32, 24  # bytes of the header of the log, and of that of each frame
_LITTLE, _BIG = 0x377F0682, 0x377F0683  # magic numbers, by the order of bytes in checksums
_FRAMES = 512  # that are read at a time
_MASK = 2**32 - 1


def problems_of(core: Core) -> list[str]:
    """Return what is wrong with an index, a line for each; empty where all is well.

    All of it is read.
    """
    found: list[str] = []
    core.forget(reopen=True)  # what was read before may be damaged since
    try:
        if core.catalogue.path is not None:
            require_whole_log(core.catalogue.path)
            require_last_commit(core.catalogue)
        with core.reading() as state:
            check = core.catalogue.rows("PRAGMA integrity_check(1)")
            if check != [("ok",)]:
                return [f"{core.catalogue.path}: the structure of the database is damaged"]
            found += _documents(core, state.documents)
            found += _places(core)
            rows = core.catalogue.rows("SELECT max(doc) FROM documents")
            if rows[0][0] is not None and rows[0][0] >= state.next:
                found.append("the number of the next document is taken already")
    except NeardupError as error:
        found.append(str(error))
    return found


def _documents(core: Core, documents: int) -> list[str]:
    found, last, count = [], -1, 0
    while True:
        rows = core.catalogue.rows(
            "SELECT doc, id, body, checksum FROM documents WHERE doc > ? ORDER BY doc LIMIT ?",
            (last, _FETCHED),
        )
        if not rows:
            break
        count += len(rows)
        last = rows[-1][0]
        bad = [doc for doc, *rest in rows if not is_intact(Row(doc, *rest))]
        found += [f"document number {doc} is damaged" for doc in bad]
    if count != documents:
        found.append(f"there are {count:,} documents, and should be {documents:,}")
    return found


def _places(core: Core) -> list[str]:
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
    parts.append(_column(core, "SELECT doc FROM log"))
    placed, counts = np.unique(np.concatenate(parts), return_counts=True)
    if (counts > 1).any():
        found.append("a document is in two segments")
    stored, removed = (
        _column(core, text) for text in ("SELECT doc FROM documents", "SELECT doc FROM removed")
    )
    lost = np.setdiff1d(stored, placed)
    some = [lost[low : low + _FETCHED] for low in range(0, len(lost), _FETCHED)]
    if filled := sum(_filled(core, docs) for docs in some):
        found.append(f"{filled:,} documents are in no segment")
    invented = np.setdiff1d(placed, np.concatenate([stored, removed]))
    if len(invented):
        found.append(f"segments have {len(invented):,} documents that are not there")
    return found


def _filled(core: Core, docs: np.ndarray) -> int:
    """Return how many documents have tokens, and so must have keys."""
    sets = core.verifier.sets(sorted(core.catalogue.fetch(docs.tolist())))
    return int(np.count_nonzero(np.diff(sets.offsets)))


def _column(core: Core, text: str) -> np.ndarray:
    rows: list[Any] = core.catalogue.rows(text)
    return np.array([row[0] for row in rows], dtype=np.int64)


def require_last_commit(catalogue: Catalogue) -> None:
    """Refuse a database that has lost the last transaction that was noted.

    Raises:
        StoreError: It has, or the note is damaged.
    """
    assert catalogue.path is not None
    noted = noted_commit(catalogue.path)  # first: others may commit meanwhile
    with catalogue.reading() as state:
        if state.generation < noted:
            raise _lost(catalogue.path)


def _lost(what: Path) -> StoreError:
    return StoreError(
        f"{what} is damaged: documents that were committed last are lost",
        "merge the index into a new one, and add the last documents again",
    )


def require_whole_log(database: Path) -> None:
    """Refuse a database whose log has lost a transaction that was committed.

    SQLite uses the log up to the first frame with a wrong checksum, and takes what follows for a
    transaction that was not finished. It was finished if another one begins after its commit.

    Raises:
        StoreError: It has.
    """
    log = database.with_name(database.name + "-wal")
    found = _damage(log)
    # What another process writes meanwhile looks damaged once, and not twice at one place.
    if found is not None and found == _damage(log):
        raise _lost(log)


def _damage(log: Path) -> tuple[bytes, int] | None:
    """Return the header and the number of the first damaged frame; None if all is well."""
    with suppress(OSError), log.open("rb") as file:
        header = file.read(_HEADER)
        if len(header) < _HEADER:
            return None
        magic, _, page, _, *salts = struct.unpack(">6I", header[:_HEAD])
        order: Any = "<u4" if magic == _LITTLE else ">u4"
        words = np.frombuffer(header[:_HEAD], order).astype(np.uint64)
        weights, _ = _weights(len(words) // 2)
        chain = [int(s) & _MASK for s in words @ weights]
        if magic not in (_LITTLE, _BIG) or chain != [*struct.unpack(">2I", header[_HEAD:])]:
            return header, 0
        size = _HEAD + page
        weights, (a, b, c, d) = _weights((8 + page) // 8)
        number, damaged, ended = 0, -1, False
        while block := file.read(size * _FRAMES):
            whole = len(block) // size
            shape, count = (whole, size // 4), whole * size // 4
            frames = np.frombuffer(block, order, count).reshape(shape)
            heads = np.frombuffer(block, ">u4", count).reshape(shape)[:, :6]
            sums = np.delete(frames, slice(2, 6), axis=1).astype(np.uint64) @ weights
            for (s, t), head in zip(sums.tolist(), heads.tolist(), strict=True):
                own = head[2:4] == salts
                x, y = chain
                chain = [(a * x + b * y + s) & _MASK, (c * x + d * y + t) & _MASK]
                if damaged < 0 and not (own and chain == head[4:]):
                    damaged = number
                elif damaged >= 0 and own and ended:
                    return header, damaged
                ended = ended or (damaged >= 0 and own and head[1] > 0)
                number += 1
    return None


def _weights(steps: int) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Return what each word adds to the two sums of a checksum, and what the sums before do.

    A step takes two words, x and y: the sums s and t become s + t + x, and s + 2 t + x + y.
    """
    found = np.empty((2 * steps, 2), dtype=np.uint64)
    a, b, c, d = 1, 0, 0, 1
    for step in reversed(range(steps)):
        found[2 * step], found[2 * step + 1] = (a + b, c + d), (b, d)
        a, b, c, d = ((v & _MASK) for v in (a + b, a + 2 * b, c + d, c + 2 * d))
    return found, (a, b, c, d)
