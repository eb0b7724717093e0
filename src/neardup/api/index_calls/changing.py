"""What changes an index: the half of `neardup.Index` that writes."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pyarrow as pa

from neardup.api.arguments import checked
from neardup.api.index_calls.asking import Asking
from neardup.errors import InputError, SpecError
from neardup.index.answers import answers_table
from neardup.index.bodies import Id
from neardup.index.incoming import batches_of, checked_id, checked_ids, is_file
from neardup.index.inserting import Answers, insert, insert_all, insert_new
from neardup.index.merging import compact
from neardup.index.transactions import BATCH, Batch
from neardup.io.opening import Reading
from neardup.sketch.texts import as_text

if TYPE_CHECKING:
    from neardup.api.indexing import Index

#: What happens where an index has an id already.
Conflict = Literal["error", "replace", "skip"]


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """What `Index.add_if_new` did with a document.

    Attributes:
        id: Its id.
        kept: Whether it is in the index now.
        duplicate_of: Id of the first document that it is similar to; None if it was kept.
        similarity: Exact similarity of the two; None if it was kept.
    """

    id: Id
    kept: bool
    duplicate_of: Id | None
    similarity: float | None


class Changing(Asking):
    """An index that can be written to, see `Asking`."""

    @checked
    def add(
        self,
        source: object,
        *,
        ids: Iterable[Id] | None = None,
        on_conflict: Conflict = "error",
        text: str | Sequence[str] = "text",
        id: str | None = None,
        input_format: str | None = None,
        encoding_errors: str = "strict",
        delimiter: str | None = None,
        max_document: int | str = "256MB",
    ) -> int:
        """Add documents, whatever they are similar to.

        All are added, or none if there is an error; of files, partition by partition.

        Args:
            source: Texts in a list or an Arrow array, or a table, frame or file as for
                `neardup.dedup`.
            ids: An id for each, of strings or whole numbers, all of one kind; none may be there
                already.
            on_conflict: What happens where an id is there: ``"error"``, ``"replace"`` the document
                with it, or ``"skip"`` the new one. An id that is given twice is there when it comes
                again.
            text: Column with the text, or several, where a table is given.
            id: Column with the ids, instead of ``ids``.
            input_format: As for `neardup.dedup`.
            encoding_errors: As for `neardup.dedup`.
            delimiter: As for `neardup.dedup`.
            max_document: As for `neardup.dedup`; of files and tables.

        Returns:
            How many were added.

        Raises:
            DuplicateIdError: An id is there already, or given twice.
            InputError: The source can't be used.
            OutputError: The disk is full; nothing was added.
            StoreError: Another process writes.
        """
        if on_conflict not in ("error", "replace", "skip"):
            raise SpecError(
                f"`on_conflict` is {on_conflict!r}; expected 'error', 'replace' or 'skip'"
            )
        reading = Reading(text, id, input_format, encoding_errors, delimiter, max_document)
        batches = batches_of(source, ids, reading)
        if not is_file(source):
            return self._insert(batches, on_conflict)
        return sum(self._insert([batch], on_conflict) for batch in batches)

    def _insert(self, batches: Iterable[Batch], on_conflict: Conflict) -> int:
        count = 0
        with self._core.writing():
            for batch in batches:
                for low in range(0, len(batch.texts), BATCH):
                    some = self._core.with_ids(batch, low, BATCH)
                    count += insert_all(self._core, some, on_conflict)
        self._merger.after_insert()
        return count

    @overload
    def add_if_new(self, id_or_batch: Id, text: str) -> NewAnswer: ...

    @overload
    def add_if_new(
        self,
        id_or_batch: object,
        text: None = None,
        *,
        ids: Iterable[Id] | None = None,
        id: str | None = None,
        column: str | Sequence[str] = "text",
    ) -> pa.Table: ...

    def add_if_new(
        self,
        id_or_batch: object,
        text: str | None = None,
        *,
        ids: Iterable[Id] | None = None,
        id: str | None = None,
        column: str | Sequence[str] = "text",
    ) -> NewAnswer | pa.Table:
        """Add documents that are similar to none before them, in one transaction.

        Documents are decided in order, and later ones are compared with those that were just added:
        what is kept, and what the others are duplicates of, is what `neardup.dedup` with
        ``keep="first"`` finds, in whatever batches they come. A document that is there already
        with the same text is answered as kept.

        Args:
            id_or_batch: The id of one document; or several documents, as for `add`.
            text: The text of the one document.
            ids: Ids of several documents, as for `add`.
            id: Column with the ids of several documents.
            column: Column with the text of several documents, or several columns.

        Returns:
            For one document a `NewAnswer`. For several a table with a row for each: ``id``,
            ``kept``, ``duplicate_of``, ``similarity``.

        Raises:
            DuplicateIdError: An id is there with another text.
            OutputError: The disk is full; nothing was added.
            StoreError: Another process writes.

        Examples:
            >>> from neardup import Index
            >>> index = Index.create()
            >>> index.add_if_new(1, "one two three four five six").kept
            True
            >>> index.add_if_new(2, "One, two; three four five six!").duplicate_of
            1
        """
        if text is not None:
            name = checked_id(id_or_batch)
            one = Batch([name], as_text([text]))
            with self._core.writing():
                self._core.require_kind(one.ids)
                found = insert_new(self._core, one)
            self._merger.after_insert()
            of = found.duplicate_of[0]
            how = None if of is None else float(found.similarity[0])
            return NewAnswer(name, of is None, of, how)
        names: list[Id] = []
        answers = Answers([], np.empty(0))
        with self._core.writing():
            for batch in batches_of(id_or_batch, ids, Reading(column, id)):
                some = self._core.with_ids(batch, 0, len(batch.texts))
                self._core.require_kind(some.ids)
                more = insert_new(self._core, some)
                if not batch.ids:  # also those of duplicates, which are in no document
                    self._core.give_away(some.ids[-1] + 1 if some.ids else 0)  # type: ignore[operator]
                names += some.ids
                answers = Answers(
                    answers.duplicate_of + more.duplicate_of,
                    np.concatenate([answers.similarity, more.similarity]),
                )
            kind = self._core.catalogue.state().ids
        self._merger.after_insert()
        return answers_table(names, answers, kind)

    def remove(self, ids: Id | Iterable[Id]) -> int:
        """Remove documents; return how many.

        Their text stays on the disk, unused, until `compact` with ``purge=True``.

        Args:
            ids: An id, or several.

        Raises:
            InputError: There is no document with one of the ids; none was removed.
            StoreError: Another process writes.
        """
        several = isinstance(ids, Iterable) and not isinstance(ids, str)
        given: Any = ids if several else [ids]
        wanted = checked_ids(given)
        wanted = list(dict.fromkeys(wanted))
        with self._core.writing():
            self._core.remove(wanted)
        return len(wanted)

    def update(self, id: Id, text: str) -> None:
        """Replace the text of a document, which then counts as the last one that came.

        Args:
            id: Its id.
            text: The new text.

        Raises:
            InputError: There is no document with this id.
            StoreError: Another process writes.
        """
        batch = Batch([checked_id(id)], as_text([text]))
        with self._core.writing():
            self._core.remove(batch.ids)
            insert(self._core, batch)
        self._merger.after_insert()

    @checked
    def merge(self, other: Index, *, on_conflict: Conflict = "error") -> int:
        """Add all documents of another index, in their order.

        Args:
            other: The other index; one that stores shingles only can be added to such a one only.
            on_conflict: As for `add`.

        Returns:
            How many were added.

        Raises:
            RecipeError: It has another recipe.
            InputError: It stores shingles only, and this one stores texts.
            DuplicateIdError: An id is in both.
        """
        self.recipe.require_same(other.recipe, f"the index {self.path or 'in memory'}")
        if self._core.stores_texts and not other._core.stores_texts:
            raise InputError(
                "the other index stores shingles only, and this one stores texts",
                "merge it into an index with store_text=False",
            )
        if any("seed" in core.catalogue.about() for core in (self._core, other._core)):
            raise InputError("an index of MinHashLSH has keys of its own", "use MinHashLSH.merge")
        if other._core is self._core:
            raise SpecError("an index can't be merged with itself")
        with ExitStack() as locks:
            # In one order, whoever merges whom.
            for core in sorted((self._core, other._core), key=builtins.id):
                locks.enter_context(core.catalogue.own_lock())
            locks.enter_context(other._core.reading())
            return self._insert(other._core.batches(), on_conflict)

    def compact(self, purge: bool = False) -> None:
        """Make one segment of all, without what was removed.

        Args:
            purge: Remove the text of removed documents from the disk too, which writes the whole
                database again.

        Raises:
            OutputError: The disk is full.
            StoreError: Another process writes; or, with ``purge``, reads all the time.
        """
        self._merger.stop()
        compact(self._core, purge)
