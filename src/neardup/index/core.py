"""What an index does, batch by batch: look up, compare, insert, remove."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.errors import DuplicateIdError, InputError, NeardupError, StoreError
from neardup.index.bodies import (
    Id,
    Row,
    checksum_of,
    pack_sets,
    pack_texts,
    text_array,
    unpack_sets,
    unpack_text,
)
from neardup.index.catalogue import Catalogue, State
from neardup.index.segments import Entries, SegmentWriter, write_file
from neardup.index.snapshot import SegmentGoneError, Snapshot, bucket_names, segment_path
from neardup.index.verified import Matches, Verifier, joined_matches
from neardup.match.bucketing import bucket_documents, group, one_bucket, plausible
from neardup.match.resolve import resolve
from neardup.match.verifying import make_sets, similarities, taken
from neardup.recipe import Recipe
from neardup.sketch.sketcher import Signer, Sketcher, Sketches, band_keys
from neardup.sketch.texts import Ragged, joined

#: Documents of the log from which on they become a segment; and of a batch, which is one at once.
LOGGED, BATCHED = 16_384, 4096
#: Documents that are sketched and inserted at a time.
BATCH = 10_000
#: Numbers of documents; the last one stands for none.
_MOST = 2**32 - 1
#: Documents that a thread sketches.
_STEP = 512
#: Rows whose candidates are looked up together, and about how many candidates that may be.
_ROWS, _PAIRS = 512, 1 << 20


class Batch(NamedTuple):
    """Documents that come in.

    Attributes:
        ids: Theirs.
        texts: Theirs, without nulls; or large_binary, what an index without texts stores of them.
    """

    ids: list[Id]
    texts: pa.LargeStringArray

    def part(self, low: int, high: int) -> Batch:
        """Return some of them."""
        return Batch(self.ids[low:high], self.texts.slice(low, high - low))

    def take(self, rows: np.ndarray) -> Batch:
        """Return some of them, by their rows."""
        if len(rows) == len(self.ids):
            return self
        return Batch([self.ids[i] for i in rows.tolist()], self.texts.take(array_of(rows)))


class Answers(NamedTuple):
    """What was decided of some documents.

    Attributes:
        duplicate_of: The document that each removed one is a duplicate of; None for a kept one.
        similarity: float64[n]: exact similarity of the two; NaN for a kept one.
    """

    duplicate_of: list[Id | None]
    similarity: np.ndarray


class Sketched(NamedTuple):
    """Texts that were sketched, with their sets of shingles."""

    sketches: Sketches
    sets: Ragged

    def take(self, rows: np.ndarray) -> Sketched:
        """Return some of them, by their rows."""
        if len(rows) == len(self.sketches.tokens):
            return self
        some = Sketches(*(column[rows] for column in self.sketches))
        return Sketched(some, taken(self.sets, rows))


class Core:
    """An index that is open.

    Args:
        folder: Where it is; None in memory.
        catalogue: Its database.
        recipe: How texts become keys.
        threshold: Similarity that makes a duplicate.
        texts: Whether texts are stored; else sets of shingles.
    """

    def __init__(
        self,
        folder: Path | None,
        catalogue: Catalogue,
        recipe: Recipe,
        threshold: float,
        texts: bool,
    ) -> None:
        self.folder, self.catalogue = folder, catalogue
        self.recipe, self.threshold, self.stores_texts = recipe, threshold, texts
        self.digest = recipe.digest
        self.snapshot = Snapshot(catalogue, folder, self.digest)
        self.sketcher = Sketcher(recipe)
        self.verifier = Verifier(catalogue, self.sketcher.tokeniser, texts, None)
        self._pid = os.getpid()

    # Transactions.

    @contextmanager
    def reading(self) -> Iterator[State]:
        """A snapshot of the index."""
        for last in (False,) * 8 + (True,):
            with self.catalogue.reading() as state:
                self._own_snapshot()
                try:
                    self.snapshot.refresh(state)
                except SegmentGoneError:
                    self.forget()
                    if last:
                        raise
                    continue  # merged away before it was opened
                yield state
                return

    @contextmanager
    def writing(self) -> Iterator[State]:
        """A transaction that writes."""
        with self.catalogue.own_lock(self.catalogue.options.timeout):
            try:
                with self.catalogue.writing() as state:
                    self._own_snapshot()
                    self.snapshot.refresh(state)
                    yield state
                self.snapshot.advanced(state)
            except BaseException:
                self.snapshot.forget()
                self.verifier.forget()
                raise

    def _own_snapshot(self) -> None:
        """After a fork: another thread may have been about to change what is here."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self.snapshot.forget()
            self.verifier.forget()

    def forget(self, reopen: bool = False) -> None:
        """Have the segments and the log read again; see `Snapshot.forget`."""
        with self.catalogue.own_lock():
            self.snapshot.forget(reopen)

    # Looking up.

    def sketched(self, texts: pa.LargeStringArray) -> Sketched:
        """Sketch some texts."""

        def some(low: int, high: int) -> Sketched:
            sets: list[Ragged] = []
            sketches = self.sketcher(texts.slice(low, high - low), sets)
            return Sketched(sketches, sets[0] if len(sets) == 1 else joined(sets))

        parts = self.verifier.pool.ranges(some, len(texts), _STEP)
        if len(parts) == 1:
            return parts[0]
        columns = zip(
            Sketches.empty(0, self.recipe.num_bands), *(p.sketches for p in parts), strict=True
        )
        whole = Sketches(*(np.concatenate(column) for column in columns))
        return Sketched(whole, joined(part.sets for part in parts))

    def matches(self, texts: pa.LargeStringArray, threshold: float, first: bool = False) -> Matches:
        """Find the documents that are similar to some texts, within a transaction."""
        return self._matches(self.sketched(texts), threshold, first)

    def _matches(self, asked: Sketched, threshold: float, first: bool) -> Matches:
        filled = np.flatnonzero(asked.sketches.tokens)
        names = bucket_names(asked.sketches.keys[filled])
        parts: list[Matches] = []
        low, rows = 0, _ROWS // 32
        while low < len(filled) or not parts:
            # Where each row has many candidates, those of few rows are in memory at a time.
            some = filled[low : low + rows]
            keep = self.verifier.keeper(asked.sets, some, threshold)
            found = self.snapshot.candidates(names[low : low + rows], keep)
            wanted = found._replace(row=some[found.row])
            parts.append(self.verifier.matches(asked.sets, wanted, threshold, first))
            low += rows
            rows = max(1, min(_ROWS, rows * _PAIRS // max(1, found.hits)))
        return parts[0] if len(parts) == 1 else joined_matches(parts)

    # Writing, within a transaction.

    def give_away(self, below: int) -> None:
        """Never use numbers below one again."""
        self.catalogue.change(next=max(self.catalogue.state().next, below))

    def insert(self, batch: Batch, known: Sketched | None = None) -> None:
        """Insert documents, whatever they are similar to; their ids must be new."""
        if not batch.ids:
            return
        if pa.types.is_large_binary(batch.texts.type):
            self._insert_stored(batch)
            return
        parts = [] if known is None else [known.sketches]

        def work(low: int) -> tuple[Sketches | None, list[bytes]]:
            texts, sets, made = batch.texts.slice(low, _STEP), list[Ragged](), None
            if known is None:
                made = self.sketcher(texts, None if self.stores_texts else sets)
            else:
                sets = [Ragged(known.sets.values, known.sets.offsets[low : low + len(texts) + 1])]
            if self.stores_texts:
                return made, pack_texts(texts)
            return made, [body for some in sets for body in pack_sets(some)]

        def bodies() -> Iterator[bytes]:
            # Threads prepare the documents that follow while some are stored.
            steps = range(0, len(batch.ids), _STEP)
            done = self.verifier.pool.ordered(work, steps) if len(steps) > 1 else map(work, steps)
            for made, packed in done:
                if made is not None:
                    parts.append(made)
                yield from packed

        first = self.store(batch.ids, bodies())
        if known is not None:
            self.verifier.learn(np.arange(first, first + len(batch.ids)), known.sets)
        keys = parts[0].keys if len(parts) == 1 else np.concatenate([p.keys for p in parts])
        tokens = parts[0].tokens if len(parts) == 1 else np.concatenate([p.tokens for p in parts])
        filled = np.flatnonzero(tokens)
        self.enter(filled + first, bucket_names(keys[filled]))

    def _insert_stored(self, batch: Batch) -> None:
        """Insert documents whose shingles another index has stored."""
        stored: Any = batch.texts
        recipe, bodies = self.recipe, stored.to_pylist()
        sets = unpack_sets(bodies)
        keys = np.empty((len(bodies), recipe.num_bands), dtype=np.uint64)
        if recipe.num_bands:
            signer = Signer(recipe.num_hashes, recipe.scheme, recipe.seed)
            keys = band_keys(signer(sets), recipe.num_bands, recipe.rows)
        filled = np.flatnonzero(np.diff(sets.offsets))
        self.enter(filled + self.store(batch.ids, bodies), bucket_names(keys[filled]))

    def store(self, ids: Sequence[Id], bodies: Iterable[bytes]) -> int:
        """Store documents; return the number of the first, which the others follow.

        Args:
            ids: Their ids, which must be new.
            bodies: What is stored of each.
        """
        catalogue = self.catalogue
        state = catalogue.state()
        first = state.next
        if first + len(ids) >= _MOST:
            raise StoreError(
                f"the index has given away {first:,} numbers of documents, which is the limit",
                "make a new index, and merge this one into it",
            )
        catalogue.insert(
            "INSERT INTO documents VALUES (?, ?, ?, ?)",
            (
                (doc, id_, body, checksum_of(doc, id_, body))
                for doc, (id_, body) in enumerate(zip(ids, bodies, strict=True), first)
            ),
        )
        catalogue.change(next=first + len(ids), documents=state.documents + len(ids))
        return first

    def enter(self, docs: np.ndarray, names: np.ndarray) -> None:
        """Put documents that were stored into their buckets.

        Args:
            docs: int64[m]: their numbers, ascending.
            names: uint64[m, bands]: their buckets.
        """
        if len(docs) >= min(LOGGED, BATCHED):
            self.write_segment(iter([Entries.sorted(names, docs)]))
            self.snapshot.load_segments()
        elif len(docs):
            names = np.ascontiguousarray(names, dtype="<u8")
            rows = [row.tobytes() for row in names]
            self.catalogue.insert(
                "INSERT INTO log VALUES (?, ?, ?)",
                [(d, k, zlib.crc32(k, d)) for d, k in zip(docs.tolist(), rows, strict=True)],
            )
            self.snapshot.log(docs, names)

    def write_segment(self, parts: Iterator[Entries]) -> int:
        """Write a segment and put it into the manifest; return its number."""
        number = self.catalogue.state().next
        if self.folder is None:
            sink = _Memory()
            writer = SegmentWriter(sink, self.digest)
            for part in parts:
                writer.add(part)
            about = writer.finish()
            self.snapshot.held[number] = b"".join(sink.parts)
        else:
            # Without a row of the manifest the file is nothing, and removed one day.
            about = write_file(segment_path(self.folder, number), parts, self.digest)
        self.enter_segment(number, *about)
        return number

    def enter_segment(self, number: int, entries: int, checksum: int) -> None:
        """Put a segment into the manifest."""
        self.catalogue.execute("INSERT INTO segments VALUES (?, ?, ?)", (number, entries, checksum))
        state = self.catalogue.state()
        self.catalogue.change(manifest=state.manifest + 1, next=state.next + 1)

    def insert_new(self, batch: Batch) -> Answers:
        """Insert those documents that are similar to none before them.

        Documents that are there with the same text are answered as kept, and not inserted.

        Raises:
            DuplicateIdError: An id is there with another text.
        """
        answers = Answers([None] * len(batch.ids), np.full(len(batch.ids), np.nan))
        low = 0
        while low < len(batch.ids):
            high = low + _without_repetition(batch.ids, low, low + BATCH)
            self._insert_new(batch.part(low, high), low, answers)
            low = high
        return answers

    def _insert_new(self, batch: Batch, base: int, answers: Answers) -> None:
        there = self.catalogue.numbers(batch.ids)
        rows = np.arange(len(batch.ids))
        if there:
            stored = {row.id: row for row in self.catalogue.fetch(list(there.values()))}
            for i, id_ in enumerate(batch.ids):
                if id_ in stored and not self.verifier.is_same(
                    stored[id_], batch.texts.slice(i, 1)
                ):
                    raise DuplicateIdError(
                        f"the index has a document with the id {id_!r} and another text",
                        "use `update` to replace it, or give another id",
                    )
            rows = np.array([i for i, id_ in enumerate(batch.ids) if id_ not in there], np.int64)
            batch = batch.take(rows)
        if not len(rows):
            return
        known = self.sketched(batch.texts)
        old = self._matches(known, self.threshold, first=True)
        for row, id_, similarity in zip(
            rows[old.row].tolist(), old.id, old.similarity.tolist(), strict=True
        ):
            answers.duplicate_of[base + row] = id_
            answers.similarity[base + row] = similarity
        new = np.ones(len(rows), dtype=np.bool_)
        new[old.row] = False
        left = np.flatnonzero(new)
        kept = self._among_themselves(batch.ids, known, left, rows + base, answers)
        if not len(kept):
            return
        self.insert(batch.take(kept), known.take(kept))

    def _among_themselves(
        self,
        ids: list[Id],
        known: Sketched,
        left: np.ndarray,
        places: np.ndarray,
        answers: Answers,
    ) -> np.ndarray:
        """Decide some rows of a batch that are similar to nothing before it; return those kept."""
        pool, threshold, sketches = self.verifier.pool, self.threshold, known.sketches
        docs = left[sketches.tokens[left] > 0]
        bands = self.recipe.num_bands
        if len(docs) < 2:
            return left
        if bands:
            grouped = [group(keys) for keys in np.ascontiguousarray(sketches.keys[docs].T)]
            sizes, bitmaps = sketches.shingles[docs], sketches.bitmaps[docs]
            docs = docs[plausible(grouped, sizes, bitmaps, threshold, pool)]
            if len(docs) < 2:
                return left
            grouped = [group(keys) for keys in np.ascontiguousarray(sketches.keys[docs].T)]
            buckets = bucket_documents(grouped, len(docs), bands)
        else:
            buckets = one_bucket(len(docs))
        sets = make_sets(taken(known.sets, docs))
        done = resolve(sets, buckets, threshold, pool)
        removed = np.flatnonzero(done.duplicate_of >= 0)
        for row, of, similarity in zip(
            docs[removed].tolist(),
            docs[done.duplicate_of[removed]].tolist(),
            done.similarity[removed].tolist(),
            strict=True,
        ):
            answers.duplicate_of[places[row]] = ids[of]
            answers.similarity[places[row]] = similarity
        return np.setdiff1d(left, docs[removed], assume_unique=True)

    def insert_all(self, batch: Batch, on_conflict: str) -> int:
        """Insert documents, whatever they are similar to; return how many.

        One after the other: an id that is given twice is there already when it comes again.

        Raises:
            DuplicateIdError: An id is there, and that is an error.
        """
        self.require_kind(batch.ids)
        count = low = 0
        while low < len(batch.ids):
            high = low + _without_repetition(batch.ids, low, len(batch.ids))
            if high < len(batch.ids) and on_conflict == "error":
                raise DuplicateIdError("two documents have the same id", "give each one of its own")
            count += self._insert_all(batch.part(low, high), on_conflict)
            low = high
        return count

    def _insert_all(self, batch: Batch, on_conflict: str) -> int:
        there = self.catalogue.numbers(batch.ids)
        if there and on_conflict == "error":
            shown = next(id_ for id_ in batch.ids if id_ in there)
            raise DuplicateIdError(
                f"the index has a document with the id {shown!r}",
                "use `on_conflict` to replace or skip it",
            )
        if there and on_conflict == "replace":
            self.remove(list(there))
        elif there:
            rows = [i for i, id_ in enumerate(batch.ids) if id_ not in there]
            batch = batch.take(np.array(rows, dtype=np.int64))
        self.insert(batch)
        return len(batch.ids)

    def with_ids(self, batch: Batch, low: int, count: int) -> Batch:
        """Return some documents of a batch; those without ids get the numbers that come next."""
        texts = batch.texts.slice(low, count)
        if batch.ids:
            return Batch(batch.ids[low : low + len(texts)], texts)
        first = self.catalogue.state().next
        return Batch(list(range(first, first + len(texts))), texts)

    def require_kind(self, ids: Sequence[Id]) -> None:
        """Refuse ids of another kind than the index has.

        Raises:
            InputError: The message says which kind it has.
        """
        kind = self.catalogue.state().ids
        kinds = {type(id_).__name__ for id_ in ids}
        if not kinds or kinds == {kind}:
            return
        if len(kinds) > 1 or kind:
            has = "whole numbers" if (kind or "str") == "int" else "strings"
            raise InputError(
                f"an id is not of the kind that the others are: {has} are expected",
                "convert the ids to one kind",
            )
        self.catalogue.change(ids=kinds.pop())

    def batches(self) -> Iterator[Batch]:
        """Yield all documents in their order."""
        last = -1
        while True:
            rows = self.catalogue.rows(
                "SELECT doc, id, body, checksum FROM documents WHERE doc > ? ORDER BY doc LIMIT ?",
                (last, BATCH),
            )
            if not rows:
                return
            found = [Row(*row) for row in rows]
            last = found[-1].doc
            for row in found:
                self.verifier.require_intact(row)
            ids, bodies = [row.id for row in found], [row.body for row in found]
            if self.stores_texts:
                yield Batch(ids, text_array([unpack_text(body) for body in bodies]))
            else:
                stored: Any = text_array(bodies).view(pa.large_binary())
                yield Batch(ids, stored)

    def warm(self) -> None:
        """Load the kernels, or compile them, before the first question."""
        texts = text_array([b"one two three four five six", b"one"])
        known = self.sketched(texts)
        # Damage is reported by what comes upon it, so that `check` can look at everything.
        with suppress(NeardupError), self.reading():
            self.snapshot.candidates(bucket_names(known.sketches.keys))
        sets = make_sets(known.sets)
        pair = np.array([0], dtype=np.int32)
        similarities(sets, pair, pair, self.threshold, self.verifier.pool)

    def close(self) -> None:
        """Let go of the files."""
        with self.catalogue.own_lock():
            self.snapshot.forget(reopen=True)
            self.catalogue.close()

    def remove(self, ids: Sequence[Id]) -> None:
        """Remove documents.

        Raises:
            InputError: There is none with one of the ids.
        """
        catalogue = self.catalogue
        found = catalogue.numbers(ids)
        for id_ in ids:
            if id_ not in found:
                raise InputError(f"the index has no document with the id {id_!r}")
        docs = [(doc,) for doc in found.values()]
        catalogue.insert("DELETE FROM documents WHERE doc = ?", docs)
        # What is in a segment stays there until it is merged.
        catalogue.insert(
            "INSERT INTO removed SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM log WHERE doc = ?1)",
            docs,
        )
        catalogue.insert("DELETE FROM log WHERE doc = ?", docs)
        catalogue.change(documents=catalogue.state().documents - len(docs))


class _Memory:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, data: bytes, /) -> None:
        self.parts.append(data)


def _without_repetition(ids: Sequence[Id], low: int, high: int) -> int:
    """Return how many ids from one on are different, at most up to another."""
    seen: set[Id] = set()
    for id_ in ids[low:high]:
        if id_ in seen:
            break
        seen.add(id_)
    return len(seen)
