"""Transactions of an index, batch by batch: look up, compare, store, remove."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, strings_of
from neardup.errors import InputError, NeardupError, StoreError, UnknownIdError
from neardup.files.given_path import GivenPath
from neardup.index.copy_keys import CopyKeys, CopyLength, shortened
from neardup.index.duplicates import Duplicates
from neardup.index.storing.bodies import (
    DocumentRow,
    Id,
    id_keys,
    identity_of,
    is_integer_id,
    unpack_text,
)
from neardup.index.storing.catalogue import BusyError, Catalogue
from neardup.index.storing.index_state import State, greatest_of, row_sum
from neardup.index.storing.segments import Entries, SegmentWriter, write_file
from neardup.index.storing.snapshot import (
    SegmentGoneError,
    SegmentList,
    Snapshot,
    bucket_names,
    segment_path,
)
from neardup.index.storing.verified import Matches, Verifier, joined_matches
from neardup.match.verifying import make_sets, similarities, taken
from neardup.recipe import Recipe
from neardup.sketch.document_groups import KEY, groups_of, with_groups
from neardup.sketch.sketcher import Sketcher, Sketches
from neardup.sketch.texts import Ragged, joined
from neardup.tuning import TUNING


class Batch(NamedTuple):
    """Documents that come in.

    Attributes:
        ids: Theirs.
        texts: Theirs, without nulls; or large_binary, their shingles as an index without texts
            stores them.
        groups: Values of their groups as text, null where there is none; None where there are no
            groups, or the texts begin with the keys of these.
    """

    ids: list[Id]
    texts: pa.LargeStringArray
    groups: pa.LargeStringArray | None = None

    def part(self, low: int, high: int) -> Batch:
        """Return a range of them."""
        count, groups = high - low, self.groups
        of_part = None if groups is None else groups.slice(low, count)
        return Batch(self.ids[low:high], self.texts.slice(low, count), of_part)

    def compared(self) -> Batch:
        """Return them as an index compares and stores them: with keys of groups before texts."""
        if self.groups is None:
            return self
        return Batch(self.ids, with_groups(self.texts, groups_of(self.groups, "group")))

    def take(self, rows: np.ndarray) -> Batch:
        """Return those of the rows given."""
        if len(rows) == len(self.ids):
            return self
        return Batch([self.ids[i] for i in rows.tolist()], self.texts.take(array_of(rows)))


class Sketched(NamedTuple):
    """Texts that were sketched, with their sets of shingles.

    Attributes:
        sketches: Of each.
        sets: Of each.
        text: Where it is one text: its UTF-8. A document with the same text needs no comparison.
    """

    sketches: Sketches
    sets: Ragged
    text: bytes | None = None

    def take(self, rows: np.ndarray) -> Sketched:
        """Return those of the rows given."""
        if len(rows) == len(self.sketches.tokens):
            return self
        sketches = Sketches(*(column[rows] for column in self.sketches))
        return Sketched(sketches, taken(self.sets, rows))

    def identity(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the hashes of tokens, uint64[n, 2], and of bytes, uint64[n], of some texts."""
        return self.sketches.hashes[rows], self.sketches.contents[rows]


def no_document(id_: Id) -> UnknownIdError:
    """Return the error for an id that no document has."""
    return UnknownIdError(
        f"the index has no document with the id {id_!r}",
        "documents that were removed, or answered as duplicates, are not there",
    ).private("the index has no document with that id")


def joined_sketches(parts: Sequence[Sketched]) -> Sketched:
    """Return several sketched texts, at least one, one after the other."""
    columns = zip(*(part.sketches for part in parts), strict=True)
    every = Sketches(*(np.concatenate(column) for column in columns))
    return Sketched(every, joined(part.sets for part in parts))


class Core:
    """An index that is open.

    Args:
        folder: Where it is; None in memory.
        catalogue: Its database.
        recipe: How texts become keys.
        threshold: Similarity that makes a duplicate.
        texts: Whether texts are stored; else sets of shingles.
        passages: How copied passages are looked for; None where they are not.
    """

    def __init__(
        self,
        folder: GivenPath | None,
        catalogue: Catalogue,
        recipe: Recipe,
        threshold: float,
        texts: bool,
        passages: CopyLength | None = None,
    ) -> None:
        self._given, self.catalogue = folder, catalogue
        #: Where it is, absolute.
        self.folder = None if folder is None else folder.path
        self.recipe, self.threshold, self.stores_texts = recipe, threshold, texts
        self.digest = recipe.digest
        self.snapshot = Snapshot(catalogue, self.folder, self.digest)
        self.copies: CopyKeys | None = None
        if passages is not None:
            where = catalogue, self.folder, self.digest
            self.copies = CopyKeys(*where, passages, recipe.shingle)
        self.duplicates = Duplicates(catalogue)
        self.sketcher = Sketcher(recipe)
        self.verifier = Verifier(catalogue, self.sketcher.tokeniser, texts, None)
        self._pid = os.getpid()

    @property
    def key(self) -> int:
        """Characters of the key of its group, which is before each text."""
        return 0 if self.recipe.within is None else KEY

    def apart(self, text: str, other: str) -> bool:
        """Return whether two texts, as they are compared, are of different groups, or of none."""
        key = text[: self.key]
        return bool(key) and (key != other[: self.key] or not int(key, 16))

    @property
    def kinds(self) -> list[Snapshot | CopyKeys]:
        """All that has segments."""
        return [self.snapshot] if self.copies is None else [self.snapshot, self.copies]

    @property
    def name(self) -> str:
        """Its folder as it was given, for messages."""
        return "in memory" if self._given is None else str(self._given)

    def in_messages(self) -> AbstractContextManager[None]:
        """Have errors show the folder as it was given."""
        return nullcontext() if self._given is None else self._given.in_messages()

    # Transactions.

    def _refresh(self, state: State) -> None:
        for kind in self.kinds:
            kind.refresh(state)

    @contextmanager
    def reading(self) -> Iterator[State]:
        """A snapshot of the index."""
        for last in (False,) * 8 + (True,):
            with self.in_messages(), self.catalogue.reading() as state:
                self._forget_after_fork()
                try:
                    self._refresh(state)
                except SegmentGoneError:
                    self.forget()
                    if last:
                        raise
                    continue  # merged away before it was opened
                yield state
                return

    @contextmanager
    def writing(self, wait: float | None = None) -> Iterator[State]:
        """A transaction that writes; see `Catalogue.writing`."""
        timeout = self.catalogue.options.timeout if wait is None else wait
        with self.in_messages(), self.catalogue.thread_lock(timeout):
            try:
                with self.catalogue.writing(wait) as state:
                    self._forget_after_fork()
                    self._refresh(state)
                    yield state
                for kind in self.kinds:
                    kind.advanced(state)
            except BusyError:  # it did not begin
                raise
            except BaseException:
                self.forget()
                self.verifier.forget()
                raise

    @contextmanager
    def attempt(self, refused: tuple[type[Exception], ...]) -> Iterator[None]:
        """Part of a transaction that writes: it is undone where such an error comes out of it.

        Other errors give up the transaction.
        """
        catalogue, before = self.catalogue, self.catalogue.state()
        catalogue.execute("SAVEPOINT attempt")
        try:
            yield
        except refused:
            after = catalogue.state()
            catalogue.execute("ROLLBACK TO attempt")
            catalogue.execute("RELEASE attempt")
            catalogue.change(**before._asdict())
            if (after.next, after.segment) != (before.next, before.segment):
                # Their numbers are given to others.
                self.forget()
                self.verifier.forget()
                self._refresh(before)
            raise
        catalogue.execute("RELEASE attempt")

    def _forget_after_fork(self) -> None:
        """After a fork, read again: a thread of the parent may have been changing the snapshot."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self.forget()
            self.verifier.forget()

    def forget(self, reopen: bool = False) -> None:
        """Have the segments and the log read again; see `Snapshot.forget`."""
        with self.catalogue.thread_lock():
            for kind in self.kinds:
                kind.forget(reopen)

    # Looking up.

    def sketched(self, texts: pa.LargeStringArray) -> Sketched:
        """Sketch some texts."""

        def sketch(low: int, high: int) -> Sketched:
            sets: list[Ragged] = []
            sketches = self.sketcher(texts.slice(low, high - low), sets)
            text = texts[0].as_buffer().to_pybytes() if len(texts) == 1 else None
            return Sketched(sketches, sets[0] if len(sets) == 1 else joined(sets), text)

        parts = self.verifier.pool.ranges(sketch, len(texts), TUNING.sketched_documents)
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Sketched(Sketches.empty(0, self.recipe.num_bands), joined([]))
        return joined_sketches(parts)

    def matches(
        self, texts: pa.LargeStringArray | Sketched, threshold: float, first: bool = False
    ) -> Matches:
        """Find the documents that are similar to some texts, within a transaction."""
        asked = texts if isinstance(texts, Sketched) else self.sketched(texts)
        filled = np.flatnonzero(asked.sketches.tokens)
        names = bucket_names(asked.sketches.keys[filled])
        parts: list[Matches] = []
        low, rows = 0, TUNING.looked_up_rows // 32
        while low < len(filled) or not parts:
            # Where each row has many candidates, those of few rows are in memory at a time.
            rows_of_batch = filled[low : low + rows]
            keep = self.verifier.keeper(asked.sets, rows_of_batch, threshold)
            found = self.snapshot.candidates(names[low : low + rows], keep)
            candidates = found._replace(row=rows_of_batch[found.row])
            parts.append(
                self.verifier.matches(asked.sets, candidates, threshold, first, asked.text)
            )
            low += rows
            rows = rows * TUNING.looked_up_candidates // max(1, found.hits)
            rows = max(1, min(TUNING.looked_up_rows, rows))
        return parts[0] if len(parts) == 1 else joined_matches(parts)

    # Writing, within a transaction.

    def store(self, ids: Sequence[Id], bodies: Iterable[bytes]) -> int:
        """Store documents; return the number of the first, which the others follow.

        Args:
            ids: Their ids, which must be new.
            bodies: Their stored forms.
        """
        catalogue = self.catalogue
        state = catalogue.state()
        first, summands = state.next, 0
        if first + len(ids) >= TUNING.most_documents:
            raise StoreError(
                f"the index has given away {first:,} numbers of documents, which is the limit",
                "make a new index, and merge this one into it",
            )

        def rows() -> Iterator[DocumentRow]:
            nonlocal summands
            for doc, (id_, body) in enumerate(zip(ids, bodies, strict=True), first):
                identity = identity_of(doc, id_)
                summands += identity
                yield DocumentRow(doc, id_, body, zlib.crc32(body, identity))

        catalogue.insert("INSERT INTO documents VALUES (?, ?, ?, ?)", rows())
        catalogue.change(
            next=first + len(ids),
            documents=state.documents + len(ids),
            greatest=greatest_of(ids, state.greatest),
            sums=state.sums.plus("documents", summands),
        )
        return first

    def enter(self, first: int, ids: Sequence[Id], rows: np.ndarray, names: np.ndarray) -> None:
        """Enter the keys of documents that were stored: of their ids, and of their buckets.

        Args:
            first: Number of the first document.
            ids: Their ids.
            rows: int64[m], ascending: those that are in buckets, from 0.
            names: uint64[m, bands]: their buckets.
        """
        keys = id_keys(ids)
        if len(ids) >= min(TUNING.logged_documents, TUNING.batched_documents):
            of_names = np.repeat(rows, names.shape[1])
            docs = np.concatenate([of_names, np.arange(len(ids))]) + first
            every = np.concatenate([names.reshape(-1), keys])
            self.write_segment(iter([Entries.sorted(every[:, None], docs)]))
            self.snapshot.load_segments()
        elif len(ids):
            data = [key.tobytes() for key in keys.astype("<u8")]
            for row, more in zip(rows.tolist(), names.astype("<u8"), strict=True):
                data[row] += more.tobytes()
            self.snapshot.enter(list(enumerate(data, first)))

    def numbers(self, ids: Sequence[Id]) -> dict[Id, int]:
        """Return the numbers of documents by their ids; ids that are not there are left out.

        Raises:
            StoreError: The index is damaged.
        """
        if not ids:
            return {}
        docs = self.snapshot.having(id_keys(ids))
        if not docs:  # nearly always
            return {}
        asked = set(ids)
        # Different ids hardly ever have equal keys.
        return {row.id: row.doc for row in self.catalogue.fetch(docs) if row.id in asked}

    def write_segment(self, parts: Iterator[Entries], kind: SegmentList | None = None) -> int:
        """Write a segment and put it into the manifest; return its number.

        Args:
            parts: Its entries.
            kind: Its kind; the keys of bands by default.
        """
        number, kind = self.catalogue.state().segment, kind or self.snapshot
        if self.folder is None:
            sink = io.BytesIO()
            writer = SegmentWriter(sink, self.digest)
            for part in parts:
                writer.add(part)
            about = writer.finish()
            kind.in_memory[number] = sink.getvalue()
        else:
            self.catalogue.require_folder()
            # Without a row of the manifest the file is nothing, and removed one day.
            about = write_file(segment_path(self.folder, number), parts, self.digest)
        self.enter_segment(kind, number, *about)
        return number

    def enter_segment(self, kind: SegmentList, number: int, entries: int, checksum: int) -> None:
        """Put a segment into the manifest."""
        text = f"INSERT INTO {kind.table} VALUES (?, ?, ?)"  # noqa: S608
        self.catalogue.execute(text, (number, entries, checksum))
        self.catalogue.add(kind.table, row_sum(number, entries, checksum))
        state = self.catalogue.state()
        self.catalogue.change(manifest=state.manifest + 1, segment=number + 1)

    def enter_copies(self, doc: int, entries: Entries) -> None:
        """Put the keys of documents that were stored into the index of copied passages.

        Args:
            doc: The first of the documents.
            entries: In order of key, then document.
        """
        assert self.copies is not None
        if len(entries.keys) >= TUNING.batched_keys:
            self.write_segment(iter([shortened(entries)]), self.copies)
            self.copies.load_segments()
        else:
            self.copies.insert(doc, entries)

    def with_ids(self, batch: Batch, low: int, count: int) -> Batch:
        """Return documents of a batch that comes in; those without ids get some."""
        part = batch.part(low, low + count).compared()
        return part if part.ids else part._replace(ids=self.new_ids(len(part.texts)))

    def new_ids(self, count: int) -> list[Id]:
        """Return ids for documents without any: greater than each integer that was ever an id.

        Raises:
            InputError: Ids are strings, or there are no greater integers of 64 bits.
        """
        state = self.catalogue.state()
        if count and state.ids == "str":
            raise InputError(
                "the ids of this index are strings, and documents came without ids",
                "give an id for each document",
            )
        first = state.greatest + 1
        if count and not is_integer_id(first + count - 1):
            raise InputError(
                "documents came without ids, which get integers above all that were ids, and the "
                "index had an id so large that there are too few above it",
                "give an id for each document",
            )
        return list(range(first, first + count))

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
            has = "integers" if (kind or "str") == "int" else "strings"
            raise InputError(
                f"an id is not of the kind that the others are: {has} are expected",
                "convert the ids to one kind",
            )
        self.catalogue.change(ids=kinds.pop())

    def rows(self) -> Iterator[list[DocumentRow]]:
        """Yield all documents in their order, some at a time, within a transaction.

        Raises:
            StoreError: One is damaged, or, behind the last one, some are not there.
        """
        last, summands = -1, 0
        text = "SELECT doc, id, body, checksum FROM documents WHERE doc > ? ORDER BY doc LIMIT ?"
        while rows := self.catalogue.rows(text, (last, TUNING.inserted_documents)):
            found = [DocumentRow(*row) for row in rows]
            for row in found:
                self.catalogue.require_intact(row)
                summands += identity_of(row.doc, row.id)
            self.catalogue.require_order([last, *(row.doc for row in found)])
            yield found
            last = found[-1].doc
        self.catalogue.require_sum("documents", [summands])

    def batches(self) -> Iterator[Batch]:
        """Yield all documents in their order, as `rows` does."""
        for found in self.rows():
            ids, bodies = [row.id for row in found], [row.body for row in found]
            if self.stores_texts:
                yield Batch(ids, strings_of([unpack_text(body) for body in bodies]))
            else:
                stored: Any = strings_of(bodies).view(pa.large_binary())
                yield Batch(ids, stored)

    def warm(self) -> None:
        """Load the kernels, or compile them, before the first question."""
        texts = strings_of([b"one two three four five six", b"one"])
        if self.recipe.within is not None:
            texts = with_groups(texts, np.ones(2, np.uint64))
        known = self.sketched(texts)
        # Damage is reported by the call that reads it: then `check` can look at everything.
        with suppress(NeardupError), self.reading():
            self.snapshot.candidates(bucket_names(known.sketches.keys))
        sets = make_sets(known.sets)
        pair = np.array([0], dtype=np.int32)
        similarities(sets, pair, pair, self.threshold, self.verifier.pool)

    def close(self) -> None:
        """Let go of the files; every later call is refused."""
        self.catalogue.close()
        for kind in self.kinds:
            kind.forget(reopen=True)

    def remove(self, ids: Sequence[Id]) -> None:
        """Remove documents.

        Raises:
            UnknownIdError: There is none with one of the ids.
            InputError: The index answers copied passages.
        """
        found = self.numbers(ids)
        for id_ in ids:
            if id_ not in found:
                raise no_document(id_)
        if found and self.copies is not None:
            raise InputError(
                "this index answers copied passages, and keeps its documents: without one, words "
                "that others have copied from it would have another source",
                "make a new index of the documents that stay",
            )
        if found:
            self.catalogue.remove(found)

    def remove_known(self, ids: Sequence[Id]) -> list[Id]:
        """Remove documents, and forget duplicates; return the ids that `release` returns.

        Raises:
            UnknownIdError: No document has one of the ids, and none was a duplicate.
        """
        there, noted = self.numbers(ids), self.duplicates.noted(ids)
        for id_ in ids:
            if id_ not in there and id_ not in noted:
                raise no_document(id_)
        self.remove(list(there))
        return self.release(ids)

    def release(self, ids: Sequence[Id]) -> list[Id]:
        """Forget the duplicates noted for some ids.

        Returns:
            The duplicates of theirs, ascending, that neither are documents nor among these ids.
        """
        found = self.duplicates.release(ids)
        return sorted(found - self.numbers(list(found)).keys())
