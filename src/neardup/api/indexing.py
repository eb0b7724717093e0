"""The persistent index: the same answers as those of a run, document by document."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pyarrow as pa

from neardup.api.arguments import checked
from neardup.errors import (
    InputError,
    InputNotFoundError,
    RecipeError,
    SpecError,
)
from neardup.index.answers import answers_table, id_values, matches_table
from neardup.index.bodies import Id
from neardup.index.catalogue import Catalogue, Options
from neardup.index.core import BATCH, Answers, Batch, Core
from neardup.index.incoming import (
    Reading,
    batches_of,
    checked_id,
    checked_ids,
    one_text,
)
from neardup.index.index_check import problems_of
from neardup.index.merging import Merger, clean, compact
from neardup.index.place import index_folder, require_local
from neardup.inspect.compare import Comparison, compare
from neardup.recipe import Recipe
from neardup.sketch.bands import candidate_probability, choose_bands, rounded_documents
from neardup.spec import ShingleSpec, Spec
from neardup.spec import preset as settings_of

if TYPE_CHECKING:
    from neardup.api.runs import Run

Conflict = Literal["error", "replace", "skip"]
#: What a committed document survives.
Durable = Literal["power", "process"]

_FILE = "index.sqlite"


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


class Index:
    """Documents that stay, and what is similar to them; by `create`, `open` or `from_run`.

    One process writes at a time, and any number read; each read is of one moment. An object can be
    used by several threads, and after a fork.

    Args:
        core: The index.
        spec: What it was made for.
    """

    def __init__(self, core: Core, spec: Spec) -> None:
        self._core, self._spec = core, spec
        self._merger = Merger(core)

    @classmethod
    @checked
    def create(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        preset: str | None = None,
        threshold: float | None = None,
        recall: float | None = None,
        shingle: str | ShingleSpec | None = None,
        spec: Spec | None = None,
        recipe: Recipe | None = None,
        store_text: bool = True,
        durable: Durable = "power",
        timeout: float = 10.0,
    ) -> Index:
        """Make an empty index.

        Args:
            path: Folder to make; None for an index in memory.
            preset: As for `neardup.dedup`, as are ``threshold``, ``recall``, ``shingle``, ``spec``.
            recipe: How texts become band keys, such as that of a run; bands are chosen without it.
            store_text: Store texts, compressed; else only their shingles.
            durable: What is committed survives a power failure (``"power"``), or the end of a
                process only (``"process"``), which is quicker.
            timeout: Seconds to wait for another process that writes.

        Raises:
            OutputError: There is something at the path, or it can't be written.
            RecipeError: The recipe contradicts the other settings.
            SpecError: A setting is out of range.
            StoreError: The path is on a network file system.

        Examples:
            >>> index = Index.create(threshold=0.8)
            >>> index.add(["one two three four five six"], ids=["a"])
            1
            >>> index.is_duplicate("One, two; three four five six!")
            True
        """
        asked = _asked_spec(spec, preset, threshold=threshold, recall=recall, shingle=shingle)
        if recipe is not None:
            asked = _for_recipe(asked, recipe, shingle is not None or preset or spec)
        made = recipe or _recipe(asked)
        made.require_usable("the recipe")
        folder = None if path is None else Path(path)
        options = Options(False, timeout, _power(durable))
        about = {"recipe": made.as_dict(), "spec": asked.as_dict(), "texts": bool(store_text)}
        catalogue = Catalogue(None if folder is None else folder / _FILE, options)
        if folder is None:
            catalogue.create(about)
        else:
            require_local(folder.absolute().parent)
            with index_folder(folder) as new, closing(Catalogue(new / _FILE, options)) as fresh:
                fresh.create(about)
        return cls(Core(folder, catalogue, made, asked.threshold, bool(store_text)), asked)

    @classmethod
    @checked
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
        folder = Path(path)
        if not (folder / _FILE).is_file():
            raise InputNotFoundError(f"{folder}: there is no index", "make one with Index.create")
        require_local(folder)
        catalogue = Catalogue(folder / _FILE, Options(readonly, timeout, _power(durable)))
        about = catalogue.about()
        spec, recipe = Spec.from_dict(about["spec"]), Recipe.from_dict(about["recipe"])
        recipe.require_usable(f"{folder}: this index")
        core = Core(folder, catalogue, recipe, spec.threshold, about["texts"])
        if not readonly:
            clean(core)
        core.warm()
        return cls(core, spec)

    @classmethod
    @checked
    def from_run(
        cls,
        run: str | os.PathLike[str] | Run,
        path: str | os.PathLike[str] | None = None,
        *,
        store_text: bool = True,
        durable: Durable = "power",
    ) -> Index:
        """Make an index of the kept documents of a run; they are read from its input again.

        Args:
            run: The run, or its output folder.
            path: As for `create`, as are ``store_text`` and ``durable``.

        Raises:
            InputError: There is no finished run, or its input has changed.
            OutputError: There is something at the path, or it can't be written.
        """
        from neardup.index.whole.of_run import kept_batches, results_of

        results = results_of(run)

        def filled(place: Path | None) -> Index:
            index = cls.create(
                place,
                spec=results.spec,
                recipe=results.recipe,
                store_text=store_text,
                durable=durable,
            )
            for batch in kept_batches(results):
                index._insert([batch], "error")
            return index

        if path is None:
            return filled(None)
        with index_folder(Path(path)) as partial, closing(filled(partial)):
            pass
        return cls.open(path, durable=durable)

    # What it is.

    def __repr__(self) -> str:
        where = f" in {self.path}" if self.path else ""
        about = f"{self._spec.shingle}, threshold {self._spec.threshold:g}"
        return f"<Index{where}: {len(self):,} documents, {about}>"

    def __len__(self) -> int:
        """Number of documents."""
        with self._core.reading() as state:
            return state.documents

    def __contains__(self, id_: object) -> bool:
        """Whether there is a document with an id."""
        with suppress(InputError), self._core.reading():
            wanted = checked_id(id_)
            return wanted in self._core.catalogue.numbers([wanted])
        return False

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for merges, and let go of the files; the next call opens them again."""
        self._merger.finish()
        if self.path is not None:
            self._core.close()

    @property
    def path(self) -> Path | None:
        """Its folder; None in memory."""
        return self._core.folder

    @property
    def spec(self) -> Spec:
        """What it was made for."""
        return self._spec

    @property
    def recipe(self) -> Recipe:
        """How texts become band keys."""
        return self._core.recipe

    def ids(self) -> pa.Array[Any]:
        """Return the ids of all documents, in the order in which they came."""
        with self._core.reading() as state:
            rows = self._core.catalogue.rows("SELECT id FROM documents ORDER BY doc")
            return id_values([row[0] for row in rows], state.ids)

    def spelled(self, ids: Sequence[str]) -> list[Id]:
        """Return ids as the index has them, of texts that spell them.

        Args:
            ids: Such as ``"17"`` for the id 17, where ids are whole numbers.

        Raises:
            InputError: Ids are whole numbers, and one given is not.
        """
        with self._core.reading() as state:
            if state.ids != "int":
                return list(ids)
        try:
            return [int(id_) for id_ in ids]
        except ValueError as error:
            raise InputError("the ids of this index are whole numbers, and one is not") from error

    def get(self, id_: Id) -> str | None:
        """Return the text of a document; None where only shingles are stored.

        Raises:
            InputError: There is no such document.
        """
        with self._core.reading():
            catalogue = self._core.catalogue
            found = catalogue.numbers([checked_id(id_)])
            if not found:
                raise InputError(f"the index has no document with the id {id_!r}")
            return self._core.verifier.text_of(catalogue.fetch(list(found.values()))[0])

    # Asking.

    def query(
        self,
        texts: object,
        *,
        threshold: float | None = None,
        top: int | None = None,
        text: str | Sequence[str] = "text",
        id: str | None = None,
    ) -> pa.Table:
        """Return the documents that are similar to some texts, with exact similarities.

        They are those of the candidates that share a bucket with a text: a document at the
        threshold is one of them with the probability that the bands were chosen for.

        Args:
            texts: A text, a list or an Arrow array of texts, or a table as for `neardup.dedup`.
            threshold: Lowest similarity; that of the index by default, and not below it.
            top: Documents for each text, at most: the most similar of the candidates.
            text: Column with the text, or several, where a table is given.
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
            >>> index = Index.create(shingle="word:2", threshold=0.5)
            >>> index.add(["a b c d", "a b c e", "x y"], ids=["p", "q", "r"])
            3
            >>> index.query("a b c d").select(["id", "similarity"]).to_pylist()
            [{'id': 'p', 'similarity': 1.0}, {'id': 'q', 'similarity': 0.5}]
        """
        limit = self._threshold(threshold)
        if top is not None and (type(top) is not int or top < 1):
            raise SpecError(f"`top` is {top!r}; expected a whole number, 1 or more")
        tables: list[pa.Table] = []
        base = 0
        with self._core.reading() as state:
            for batch in self._asked(texts, _reading(text, id)):
                for low in range(0, max(1, len(batch.texts)), BATCH):
                    some = batch.texts.slice(low, BATCH)
                    found = self._core.matches(some, limit)
                    names = None
                    if batch.ids:
                        kind = "int" if isinstance(batch.ids[0], int) else "str"
                        names = id_values(batch.ids[low : low + BATCH], kind)
                    tables.append(matches_table(found, base + low, names, state.ids, top))
                base += len(batch.texts)
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables)

    def is_duplicate(self, text: str) -> bool:
        """Whether a document is similar to a text."""
        with self._core.reading():
            found = self._core.matches(one_text(text), self._spec.threshold, first=True)
            return bool(len(found.row))

    def first_matches(self, texts: object, *, text: str | Sequence[str] = "text") -> pa.Table:
        """Return, for each text, the first document that it is similar to.

        Args:
            texts: As for `query`.
            text: As for `query`.

        Returns:
            A row for each text that is similar to a document; columns as for `query`.
        """
        tables: list[pa.Table] = []
        base = 0
        with self._core.reading() as state:
            for batch in self._asked(texts, _reading(text, None)):
                for low in range(0, max(1, len(batch.texts)), BATCH):
                    some = batch.texts.slice(low, BATCH)
                    found = self._core.matches(some, self._spec.threshold, first=True)
                    tables.append(matches_table(found, base + low, None, state.ids))
                base += len(batch.texts)
        return pa.concat_tables(tables)

    def explain(self, text: str, id: Id) -> Comparison:
        """Compare a text with a document: what they share, exactly.

        Args:
            text: The text.
            id: Id of the document.

        Raises:
            InputError: There is no such document, or only its shingles are stored.
        """
        stored = self.get(id)
        if stored is None:
            raise InputError(
                "the index stores shingles only, so that the text can't be compared word by word",
                "use `query`, or make the index with store_text=True",
            )
        return compare(text, stored, self._spec)

    def _threshold(self, threshold: float | None) -> float:
        own = self._spec.threshold
        if threshold is None or threshold == own:
            return own
        if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
            raise SpecError(f"threshold is {threshold!r}; expected a number in (0, 1]")
        recipe = self.recipe
        if threshold < own and recipe.num_bands:
            found = candidate_probability(threshold, recipe.num_bands, recipe.rows)
            raise SpecError(
                f"threshold {threshold:g} is below {own:g}, which the bands were chosen for: they "
                f"would find {found:.1%} of the pairs at {threshold:g}",
                "make an index for the lower threshold",
            )
        return float(threshold)

    def _asked(self, texts: Any, reading: Reading) -> Iterator[Batch]:
        if isinstance(texts, str):
            yield Batch([], one_text(texts))
            return
        found = False
        for batch in batches_of(texts, None, reading):
            found = True
            yield batch
        if not found:
            yield Batch([], one_text("").slice(0, 0))

    # Writing.

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
        reading = _reading(text, id)._replace(
            input_format=input_format,
            encoding_errors=encoding_errors,
            delimiter=delimiter,
            max_document=max_document,
        )
        batches = batches_of(source, ids, reading)
        if not _is_file(source):
            return self._insert(batches, on_conflict)
        return sum(self._insert([batch], on_conflict) for batch in batches)

    def _insert(self, batches: Iterable[Batch], on_conflict: Conflict) -> int:
        count = 0
        with self._core.writing():
            for batch in batches:
                for low in range(0, len(batch.texts), BATCH):
                    some = self._core.with_ids(batch, low, BATCH)
                    count += self._core.insert_all(some, on_conflict)
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
            >>> index = Index.create()
            >>> index.add_if_new(1, "one two three four five six").kept
            True
            >>> index.add_if_new(2, "One, two; three four five six!").duplicate_of
            1
        """
        if text is not None:
            name = checked_id(id_or_batch)
            one = Batch([name], one_text(text))
            with self._core.writing():
                self._core.require_kind(one.ids)
                found = self._core.insert_new(one)
            self._merger.after_insert()
            of = found.duplicate_of[0]
            how = None if of is None else float(found.similarity[0])
            return NewAnswer(name, of is None, of, how)
        names: list[Id] = []
        answers = Answers([], np.empty(0))
        with self._core.writing():
            for batch in batches_of(id_or_batch, ids, _reading(column, id)):
                some = self._core.with_ids(batch, 0, len(batch.texts))
                self._core.require_kind(some.ids)
                more = self._core.insert_new(some)
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
        batch = Batch([checked_id(id)], one_text(text))
        with self._core.writing():
            self._core.remove(batch.ids)
            self._core.insert(batch)
        self._merger.after_insert()

    @checked
    def merge(self, other: Index, *, on_conflict: Conflict = "error") -> int:
        """Add all documents of another index, in their order.

        Args:
            other: The other index, which stores texts.
            on_conflict: As for `add`.

        Returns:
            How many were added.

        Raises:
            RecipeError: It has another recipe.
            InputError: It stores shingles only.
            DuplicateIdError: An id is in both.
        """
        self.recipe.require_same(other.recipe, f"the index {self.path or 'in memory'}")
        if not other._core.stores_texts:
            raise InputError("the other index stores shingles only", "merge an index with texts")
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

    def check(self) -> list[str]:
        """Read all of the index; return what is wrong with it, in words. Empty if all is well."""
        return problems_of(self._core)

    def stats(self) -> dict[str, Any]:
        """Return numbers of documents, segments and bytes, by name."""
        core = self._core
        with core.reading() as state:
            removed = core.catalogue.rows("SELECT count(*) FROM removed")[0][0]
            pending = core.catalogue.rows("SELECT count(*) FROM log")[0][0]
            sizes = [segment.bytes for segment in core.snapshot.segments]
            pages = [core.catalogue.rows(f"PRAGMA {n}")[0][0] for n in ("page_count", "page_size")]
        return {
            "documents": state.documents,
            "removed": removed,
            "pending": pending,
            "segments": len(sizes),
            "bytes_segments": sum(sizes),
            "bytes_documents": pages[0] * pages[1],
            "num_bands": self.recipe.num_bands,
            "rows": self.recipe.rows,
            "threshold": self._spec.threshold,
            "shingle": str(self._spec.shingle),
            "store_text": core.stores_texts,
            "recipe": self.recipe.digest,
        }


def _asked_spec(spec: Spec | None, preset: str | None, **given: Any) -> Spec:
    if spec is not None and (preset is not None or not isinstance(spec, Spec)):
        raise SpecError("give a neardup.Spec as `spec`, or a `preset`; not both")
    base = spec or settings_of(preset or "web")
    return base.replace(**{name: value for name, value in given.items() if value is not None})


def _recipe(spec: Spec) -> Recipe:
    bands, rows = spec.num_bands, spec.rows
    if spec.method == "allpairs":
        bands, rows = 0, 0
    elif bands is None or rows is None:
        documents = rounded_documents(spec.documents or 0)
        bands, rows, _ = choose_bands(spec.threshold, spec.recall, documents)
    return Recipe(spec.shingle, spec.scheme, spec.seed, bands, rows)


def _for_recipe(asked: Spec, recipe: Recipe, shingle_asked: object) -> Spec:
    """Return settings that agree with a recipe."""
    if shingle_asked and asked.shingle != recipe.shingle:
        raise RecipeError(
            f"the recipe has the shingle {recipe.shingle}, and {asked.shingle} was asked for",
            "leave `shingle` out, or give another recipe",
        )
    if recipe.num_bands and asked.num_bands is None:
        found = candidate_probability(asked.threshold, recipe.num_bands, recipe.rows)
        if found < asked.recall - 1e-9:
            raise RecipeError(
                f"the recipe's {recipe.num_bands} bands of {recipe.rows} rows find {found:.1%} of "
                f"the pairs at threshold {asked.threshold:g}; expected {asked.recall:.1%}",
                "raise `threshold`, lower `recall`, or give a recipe for this threshold",
            )
    return asked.replace(shingle=recipe.shingle)


def _power(durable: str) -> bool:
    if durable not in ("power", "process"):
        raise SpecError(f"`durable` is {durable!r}; expected 'power' or 'process'")
    return durable == "power"


def _reading(text: str | Sequence[str], id: str | None) -> Reading:
    return Reading((text,) if isinstance(text, str) else tuple(text), id)


def _is_file(source: Any) -> bool:
    paths = source if isinstance(source, list | tuple) else [source]
    return bool(paths) and isinstance(paths[0], os.PathLike)
