"""The persistent index: the same answers as those of a run, document by document."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack, overload

import pyarrow as pa

from neardup.api.indexes.index_folders import (
    Durable,
    copy_index,
    index_from_run,
    is_power,
    made_core,
    opened_core,
    settings_of,
)
from neardup.api.progress import show_progress
from neardup.deduplication.clock import Clock
from neardup.errors import ArgumentError, InputError, ids_left_out, rows_from, spelled
from neardup.index.answers import (
    Bucket,
    NewAnswer,
    UpdateAnswer,
    answers_table,
    buckets_of,
    first_answer,
    found_in,
    id_values,
    numbers_of,
    required_threshold,
    stored_text,
)
from neardup.index.copied import copied_in
from neardup.index.incoming import (
    batches_of,
    checked_id,
    checked_ids,
    groups_asked,
    is_file,
    is_one,
    one_text,
    typed_ids,
)
from neardup.index.inserting import Conflict, add_all, add_new, check_conflict, merge_all, replace
from neardup.index.storing.bodies import Id
from neardup.index.storing.catalogue import Options
from neardup.index.storing.index_check import problems_of
from neardup.index.storing.merging import Merger, compact
from neardup.index.storing.transactions import Batch, Core
from neardup.io.remote import local_target
from neardup.options.arguments import by_preset, expanded, is_given, is_one_document, refuse_column
from neardup.options.how_read import HowRead, how_read
from neardup.options.option_groups import (
    AddingOptions,
    ProgressOptions,
    Reading,
    ReadingOptions,
)
from neardup.recipe import Recipe
from neardup.sketch.baskets import basket_items
from neardup.spec import ShingleSpec, Spec, check_integer

if TYPE_CHECKING:
    from neardup.api.finished.runs import DedupRun
    from neardup.inspect.compare import Comparison, Text


#: Options of several documents, which one by its id and its text has not.
_OF_SEVERAL = ("id", "input_format", "delimiter")


def with_text(reading: Reading, text: str | Sequence[str], items: bool) -> HowRead:
    """Return how documents are read, with another column of texts if one was given."""
    asked = dataclasses.replace(reading, text=text) if is_given(text) else reading
    return how_read(asked, items=items)


class Index:
    """Documents that stay, and queries for similar ones; made by `create`, `open` or `from_run`.

    One process writes at a time, and any number read; each read is of one moment. An object can be
    used by several threads, and after a fork.

    Args:
        core: The index.
        spec: Its settings.
    """

    #: Command and kind of its view.
    shown_as: ClassVar[tuple[str, str]] = ("index", "run")

    def __init__(self, core: Core, spec: Spec) -> None:
        self._core, self._spec = core, spec
        self._merger = Merger(core)

    @classmethod
    @expanded
    def create(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        preset: str | None = None,
        threshold: float | None = None,
        recall: float | None = None,
        shingle: str | ShingleSpec | None = None,
        within: str | None = None,
        spec: Spec | None = None,
        recipe: Recipe | None = None,
        store_text: bool = True,
        passages: int | None = None,
        durable: Durable = "power",
        timeout: float = 10.0,
    ) -> Index:
        """Make an empty index.

        Args:
            path: Folder to make; None for an index in memory.
            preset: As for `neardup.dedup`, as are ``threshold``, ``recall``, ``shingle``,
                ``within`` and ``spec``.
            recipe: How texts become band keys, such as that of a run, which has its threshold, too;
                bands are chosen without it.
            store_text: Store texts, compressed; else only their shingles.
            passages: Answer `copied` too: words of the shortest copied passage, such as 25. Such an
                index keeps its documents: `remove` and `update` are refused.
            durable: Committed documents survive a power failure (``"power"``), or the end of a
                process only (``"process"``), which is quicker.
            timeout: Seconds to wait for another process that writes.

        Raises:
            OutputError: There is something at the path, or it can't be written.
            RecipeError: The recipe contradicts the other settings, or has no threshold.
            SpecError: A setting is out of range, or not for an index.
            StoreError: The path is on a network file system.

        Examples:
            >>> index = Index.create(threshold=0.8)
            >>> index.add(["one two three four five six"], ids=["a"])
            1
            >>> index.is_duplicate("One, two; three four five six!")
            True
        """
        given = {"threshold": threshold, "recall": recall, "shingle": shingle, "within": within}
        asked, made = settings_of(spec, preset, recipe, given)
        options = Options(False, timeout, is_power(durable))
        return cls(made_core(path, options, asked, made, bool(store_text), passages), asked)

    @classmethod
    @expanded
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        readonly: bool = False,
        durable: Durable = "power",
        timeout: float = 10.0,
    ) -> Index:
        """Open an index; its recipe comes from the folder.

        Args:
            path: Its folder.
            readonly: Refuse to write.
            durable: As for `create`.
            timeout: As for `create`.

        Raises:
            InputNotFoundError: There is no index.
            RecipeError: It was made by other versions of what keys depend on.
            StoreError: It is damaged, or on a network file system.
        """
        core, spec = opened_core(path, Options(readonly, timeout, is_power(durable)))
        return cls(core, spec)

    @classmethod
    @expanded
    def from_run(
        cls,
        run: str | os.PathLike[str] | DedupRun,
        path: str | os.PathLike[str] | None = None,
        *,
        store_text: bool = True,
        passages: int | None = None,
        durable: Durable = "power",
        **options: Unpack[ProgressOptions],
    ) -> Index:
        """Make an index of the kept documents of a run; they are read from its input again.

        Its settings are those of the run, but for ``keep``, ``order_by`` and ``max_bucket``: of the
        documents that are added later the first one is kept, and all are compared.

        Args:
            run: The run, or its output folder.
            path: As for `create`, as are ``store_text``, ``passages`` and ``durable``.

        Raises:
            InputError: There is no finished run, or its input has changed.
            OutputError: There is something at the path, or it can't be written.
        """
        stored: dict[str, Any] = {"store_text": store_text, "passages": passages}
        folder = None if path is None else local_target(path)
        with show_progress(options["resources"].progress) as listener:
            index = index_from_run(cls, run, folder, Clock(listener), durable=durable, **stored)
        return cls.open(folder or "", durable=durable) if index is None else index

    def __repr__(self) -> str:
        where = f" in {self.path}" if self.path else ""
        about = f"{self._spec.shingle}, threshold {self._spec.threshold:g}"
        count = "closed" if self._core.catalogue.closed else f"{len(self):,} documents"
        return f"<Index{where}: {count}, {about}>"

    def __len__(self) -> int:
        """Number of documents."""
        with self._core.reading() as state:
            return state.documents

    def __contains__(self, id_: object) -> bool:
        """Whether there is a document with an id."""
        with suppress(InputError), self._core.reading():
            known = checked_id(id_)
            return known in self._core.numbers([known])
        return False

    def __enter__(self) -> Self:
        with self._core.catalogue.thread_lock():  # refused once it is closed
            return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for merges, and let go of the files; every later call raises `StoreError`."""
        self._merger.finish()
        self._core.close()

    @property
    def path(self) -> Path | None:
        """Its folder; None in memory."""
        return self._core.folder

    @property
    def spec(self) -> Spec:
        """Its settings."""
        return self._spec

    @property
    def recipe(self) -> Recipe:
        """How texts become band keys; with the threshold."""
        return dataclasses.replace(self._core.recipe, threshold=self._core.threshold)

    @property
    def _items(self) -> bool:
        """Whether its documents are baskets: lists of items."""
        return self._core.recipe.shingle.unit == "item"

    @property
    def _within(self) -> str | None:
        """Column of the groups of its documents; None where all are compared."""
        return self._core.recipe.within

    def ids(self) -> pa.Array[Any]:
        """Return the ids of all documents, in the order in which they came."""
        with self._core.reading() as state:
            return id_values([id_ for _, id_ in self._core.catalogue.listed()], state.ids)

    def spelled(self, ids: Sequence[str]) -> list[Id]:
        """Return ids as the index has them, of texts: 17 of ``"17"`` where ids are integers.

        Raises:
            InputError: Ids are integers, and one given is not.
        """
        with self._core.reading() as state:
            return typed_ids(ids, state.ids)

    def get(self, id_: Id) -> str | list[str] | None:
        """Return the text of a document, or its items; None where only shingles are stored.

        Raises:
            UnknownIdError: There is no such document.
        """
        text = stored_text(self._core, checked_id(id_))
        return None if text is None else self._shown(text)

    def _shown(self, text: str) -> str | list[str]:
        """Return a text as it came, of one as it is compared."""
        text = text[self._core.key :]
        return basket_items(text) if self._items else text

    @expanded
    def query(
        self,
        texts: object,
        *,
        threshold: float | None = None,
        top: int | None = None,
        group: object = None,
        **options: Unpack[ReadingOptions],
    ) -> pa.Table:
        """Return the documents that are similar to some texts, with exact similarities.

        They are those of the candidates that share a bucket with a text: a document at the
        threshold is one of them with the probability that the bands were chosen for.

        Args:
            texts: A text, a list or an Arrow array of texts, or a table as for `neardup.dedup`.
                Where items are compared, a basket, or a list of baskets.
            threshold: Lowest similarity; that of the index by default, and not below it.
            top: Documents for each text, at most: the most similar of the candidates.
            group: Where the index compares ``within`` a column, the value of a text there, or a
                list with that of each; ``""`` for none. A table has the column instead.
            id: Column that names the texts in the answer, where a table is given.

        Returns:
            A row for each pair. Columns: ``query``, the row of the text from 0, or its id; ``id``,
            that of the document; ``similarity`` float64, exact; ``query_contained`` float64, the
            share of the text's shingles that the document has; ``match_contained`` float64, the
            share of the document's that the text has. Ordered by text, then similarity from 1
            down, then id.

        Raises:
            SpecError: The threshold is below that of the index.

        Examples:
            >>> from neardup import Index
            >>> index = Index.create(shingle="word:2", threshold=0.5)
            >>> index.add(["a b c d", "a b c e", "x y"], ids=["p", "q", "r"])
            3
            >>> index.query("a b c d").select(["id", "similarity"]).to_pylist()
            [{'id': 'p', 'similarity': 1.0}, {'id': 'q', 'similarity': 0.5}]
        """
        limit = required_threshold(self._spec, self._core.recipe, threshold)
        if top is not None:
            check_integer("`top`", top, 1, 2**31)
        batches = self._asked(texts, options["reading"], group)
        return found_in(self._core, batches, limit, top=top)

    @expanded
    def copied(self, texts: object, **options: Unpack[ReadingOptions]) -> pa.Table:
        """Return which parts of some texts are copied, and from where; nothing is added.

        The answer for a text is that of `neardup.passages` for it as the last of all documents,
        after those of the index in the order in which they came. Texts that are asked about
        together are not compared with each other.

        Args:
            texts: As for `query`, as is ``id``.

        Returns:
            A row for each passage. Columns: ``query``, the row of the text from 0, or its id;
            ``start``, ``end``, ``words``, ``source_id``, ``source_start``, ``source_end``,
            ``origin_id``, ``origin_start``, ``documents``, ``kind``, as in the table of passages of
            a run, in characters, half open. A source in the text itself (kind ``within``) has no
            id: null. Ordered by text, then start.

        Raises:
            InputError: The index was made without ``passages``.

        Examples:
            >>> index = Index.create(passages=3)
            >>> index.add(["the patient is well and goes home"], ids=["a"])
            1
            >>> found = index.copied("today the patient is well")
            >>> found.select(["start", "end", "source_id", "source_start"]).to_pylist()
            [{'start': 6, 'end': 25, 'source_id': 'a', 'source_start': 0}]
        """
        return copied_in(self._core, self._asked(texts, options["reading"]))

    def is_duplicate(self, text: Text, *, group: object = None) -> bool:
        """Whether a document is similar to a text; ``group`` is as for `query`."""
        texts = self._one(0, text, group).compared().texts
        with self._core.reading():
            found = self._core.matches(texts, self._spec.threshold, first=True)
            return bool(len(found.row))

    @expanded
    def first_matches(
        self, texts: object, *, group: object = None, **options: Unpack[ReadingOptions]
    ) -> pa.Table:
        """Return, for each text, the first document that it is similar to.

        Args:
            texts: As for `query`, as are ``group`` and ``id``.

        Returns:
            A row for each text that is similar to a document; columns as for `query`.
        """
        batches = self._asked(texts, options["reading"], group)
        return found_in(self._core, batches, self._spec.threshold, first=True)

    def explain(self, text: Text, id: Id, *, group: object = None) -> Comparison:
        """Compare a text with a document: similarity and common passages, exactly.

        Args:
            text: The text.
            id: Id of the document.
            group: Of the text, as for `query`.

        Raises:
            InputError: Only shingles are stored.
            UnknownIdError: There is no such document.
        """
        return self._explained(self._one(id, text, group).compared().texts[0].as_py(), id)

    def _explained(self, text: Any, id_: Id) -> Comparison:
        """Compare a text, as it is compared, with a document."""
        from neardup.inspect.compare import compare

        stored = stored_text(self._core, id_)
        if stored is None:
            raise InputError(
                "the index stores shingles only, and the text can't be compared word by word",
                "use `query`, or make the index with store_text=True",
            )
        found = compare(self._shown(text), self._shown(stored), self._spec)
        return dataclasses.replace(found, other_group=self._core.apart(text, stored))

    def _one(self, id: object, text: Any, group: object) -> Batch:
        groups = groups_asked(self._within, group, 1)
        return Batch([checked_id(id)], one_text(text, self._items), groups)

    def _asked(self, texts: object, reading: Reading, group: object = None) -> Iterable[Batch]:
        asked = [texts] if is_one(texts, self._items) else texts
        how = how_read(reading, items=self._items)
        return batches_of(asked, None, how, None, self._within, group)

    @overload
    def buckets(self, minimum: int = 2, *, keys: Literal[False] = False) -> Iterator[list[Id]]: ...
    @overload
    def buckets(self, minimum: int = 2, *, keys: Literal[True]) -> Iterator[Bucket]: ...
    def buckets(
        self, minimum: int = 2, *, keys: bool = False
    ) -> Iterator[list[Id]] | Iterator[Bucket]:
        """Yield the ids of the documents in each bucket: candidates, which nothing has compared.

        Two similar documents share several buckets: a pair may come more than once. To find
        similar documents, use `query`.

        Args:
            minimum: Documents of a bucket, at least; 1 or more.
            keys: Yield ``(band, key, ids)`` instead: the number of the band, from 0, and the key
                that the documents have in it. All documents are signed again for that.

        Raises:
            SpecError: The minimum is below 1.

        Examples:
            >>> from neardup import Index
            >>> index = Index.create(shingle="word:1", threshold=0.9)
            >>> index.add(["a b c", "c b a", "x"])
            3
            >>> {tuple(ids) for ids in index.buckets()}
            {(0, 1)}
        """
        check_integer("`minimum`", minimum, 1, 2**31)
        found = buckets_of(self._core, minimum, keys)
        return found if keys else (bucket.ids for bucket in found)

    def check(self) -> list[str]:
        """Read all of the index; return its problems, in words: none if all is well."""
        return problems_of(self._core)

    def stats(self) -> dict[str, Any]:
        """Return numbers of documents, segments and bytes, by name."""
        return numbers_of(self._core, self._spec)

    @expanded
    def add(
        self,
        source: object,
        text: str | Sequence[str] = by_preset("text"),
        *,
        ids: Iterable[Id] | None = None,
        on_conflict: Conflict = "error",
        group: object = None,
        **options: Unpack[AddingOptions],
    ) -> int:
        """Add documents, whatever they are similar to.

        All are added, or none if there is an error; of files, partition by partition.

        Args:
            source: Texts in a list or an Arrow array, or a table, frame or file as for
                `neardup.dedup`; or the id of one document.
            text: Column with the text, or several, where a table is given; or the text of the one
                document.
            ids: An id for each, of strings or integers, all of one kind; none may be there
                already.
            on_conflict: Where an id is there, or given twice: ``"error"``, ``"replace"`` the
                document that has it, or ``"skip"`` the new one.
            group: As for `query`.
            id: Column with the ids, instead of ``ids``.

        Returns:
            How many were added.

        Raises:
            DuplicateIdError: An id is there already, or given twice.
            InputError: The source can't be used.
            OutputError: The disk is full; nothing was added.
            StoreError: Another process writes.

        Examples:
            >>> from neardup import Index
            >>> index = Index.create()
            >>> index.add("a", "one text"), index.add(["two", "more"], ids=["b", "c"])
            (1, 2)
        """
        check_conflict(on_conflict)
        reading = options["reading"]
        several = {"ids": ids, **{name: getattr(reading, name) for name in _OF_SEVERAL}}
        if is_one_document(source, text, **several):
            refuse_column(source, text)
            return self._insert([self._one(source, text, group)], on_conflict)
        how, progress = with_text(reading, text, self._items), options["resources"].progress
        with ids_left_out(reading.private_ids), show_progress(progress) as listener:
            batches = batches_of(source, ids, how, Clock(listener), self._within, group)
            if not is_file(source):
                return self._insert(batches, on_conflict)
            count = done = 0
            for batch in batches:
                with rows_from(done):
                    count += self._insert([batch], on_conflict)
                done += len(batch.texts)
            return count

    def _insert(self, batches: Iterable[Batch], on_conflict: Conflict) -> int:
        with self._core.writing():
            count = add_all(self._core, batches, on_conflict)
        self._merger.after_insert()
        return count

    @overload
    def add_if_new(self, id_or_batch: Id, text: Text, *, group: object = None) -> NewAnswer: ...

    @overload
    def add_if_new(
        self,
        id_or_batch: object,
        text: None = None,
        *,
        ids: Iterable[Id] | None = None,
        column: str | Sequence[str] = "text",
        group: object = None,
        **options: Unpack[AddingOptions],
    ) -> pa.Table: ...

    @expanded
    def add_if_new(
        self,
        id_or_batch: object,
        text: Text | None = None,
        *,
        ids: Iterable[Id] | None = None,
        column: str | Sequence[str] = by_preset("text"),
        group: object = None,
        **options: Unpack[AddingOptions],
    ) -> NewAnswer | pa.Table:
        """Add documents that are similar to none before them, in one transaction.

        Documents are decided in order, and later ones are compared with those that were just added:
        the kept documents, and those that the others duplicate, are those of `neardup.dedup` with
        the same settings and ``keep="first"``, whatever the batches. A document that is there
        already with the same text is answered as kept. Ids of duplicates are noted down: `remove`
        and `update` return them if that document goes.

        Args:
            id_or_batch: The id of one document; or several documents, as for `add`.
            text: The text of the one document.
            ids: Ids of several documents, as for `add`.
            column: Column with the text of several documents, or several columns.
            group: As for `query`.
            id: Column with the ids of several documents.

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
        reading = options["reading"]
        single = text is not None or isinstance(id_or_batch, str | int)
        with (
            ids_left_out(reading.private_ids),
            show_progress(not single and options["resources"].progress) as listener,
        ):
            if single:
                is_one_document(id_or_batch, text, ids=ids, id=reading.id)
                batches: Iterable[Batch] = [self._one(id_or_batch, text, group)]
            else:
                how = with_text(reading, column, self._items)
                clock = Clock(listener)
                batches = batches_of(id_or_batch, ids, how, clock, self._within, group)
            with self._core.writing():
                names, answers = add_new(self._core, batches)
                kind = self._core.catalogue.state().ids
        self._merger.after_insert()
        if single:
            of, similarity = first_answer(answers)
            return NewAnswer(names[0], of is None, of, similarity)
        return answers_table(names, answers, kind)

    def remove(self, ids: Id | Iterable[Id]) -> list[Id]:
        """Remove documents, or forget that they were answered as duplicates.

        Their text stays on the disk, unused, until `compact` with ``purge=True``.

        Args:
            ids: An id, or several.

        Returns:
            Ids of other documents that `add_if_new` has answered as duplicates of these,
            ascending. They are not in the index, and nothing that they are similar to may be there
            now: to have them back, send them again.

        Raises:
            UnknownIdError: No document has one of the ids, and none was a duplicate; nothing was
                removed.
            StoreError: Another process writes.

        Examples:
            >>> from neardup import Index
            >>> index = Index.create()
            >>> index.add_if_new(["the same words", "the same words"], ids=["a", "b"]).num_rows
            2
            >>> index.remove("a")
            ['b']
        """
        several = isinstance(ids, Iterable) and not isinstance(ids, str)
        given: Any = ids if several else [ids]
        unique = list(dict.fromkeys(checked_ids(given)))
        with self._core.writing():
            return self._core.remove_known(unique)

    @expanded
    def update(
        self, id: Id, text: Text, *, if_new: bool = False, group: object = None
    ) -> UpdateAnswer:
        """Replace the text of a document, which then counts as the last one that came.

        Args:
            id: Its id.
            text: The new text.
            if_new: Keep it only if it is similar to no other document, as `add_if_new` does: else
                the document is removed, and noted as a duplicate. Without, it is kept whatever it
                is similar to, and two documents of the index may be near-duplicates from then on.
            group: Of the new text, as for `query`.

        Returns:
            Whether it was kept, and the documents that the new text is similar to.

        Raises:
            UnknownIdError: There is no document with this id.
            StoreError: Another process writes.
        """
        batch = self._one(id, text, group)
        with self._core.writing():
            answers, released = replace(self._core, batch, if_new)
        self._merger.after_insert()
        of, similarity = first_answer(answers)
        return UpdateAnswer(batch.ids[0], of is None or not if_new, of, similarity, released)

    @expanded
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
            ArgumentError: It is a path, or another thing that is no index.
        """
        if not isinstance(other, Index):
            raise ArgumentError(f"`other` is {spelled(other)}; expected an Index", "use Index.open")
        check_conflict(on_conflict)
        count = merge_all(self._core, other._core, on_conflict)
        self._merger.after_insert()
        return count

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the index, as it is at this moment; others can write meanwhile.

        Args:
            path: Folder to make.

        Raises:
            OutputError: There is something at the path, or it can't be written.
            StoreError: The path is on a network file system, or the index is damaged.
        """
        copy_index(self._core, path)

    def compact(self, purge: bool = False) -> None:
        """Make one segment of all, without the removed documents.

        Args:
            purge: Remove the text of removed documents from the disk too, which writes the
                complete database again.

        Raises:
            OutputError: The disk is full.
            StoreError: Another process writes; or, with ``purge``, reads all the time.
        """
        self._merger.stop()
        compact(self._core, purge)
