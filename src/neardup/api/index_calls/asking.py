"""What an index is asked: the half of `neardup.Index` that only reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from neardup.errors import InputError, SpecError, spelled
from neardup.index.answers import id_values, matches_table
from neardup.index.bodies import Id
from neardup.index.incoming import batches_of, checked_id
from neardup.index.index_check import problems_of
from neardup.index.merging import Merger
from neardup.index.transactions import BATCH, Batch, Core
from neardup.inspect.compare import Comparison, compare
from neardup.io.opening import Reading
from neardup.recipe import Recipe
from neardup.sketch.bands import candidate_probability
from neardup.sketch.texts import as_text
from neardup.spec import Spec


class Asking:
    """An index that answers.

    Args:
        core: The index.
        spec: What it was made for.
    """

    def __init__(self, core: Core, spec: Spec) -> None:
        self._core, self._spec = core, spec
        self._merger = Merger(core)

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

    def __enter__(self) -> Self:
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
            >>> from neardup import Index
            >>> index = Index.create(shingle="word:2", threshold=0.5)
            >>> index.add(["a b c d", "a b c e", "x y"], ids=["p", "q", "r"])
            3
            >>> index.query("a b c d").select(["id", "similarity"]).to_pylist()
            [{'id': 'p', 'similarity': 1.0}, {'id': 'q', 'similarity': 0.5}]
        """
        limit = self._threshold(threshold)
        if top is not None and (type(top) is not int or top < 1):
            raise SpecError(f"`top` is {spelled(top)}; expected a whole number, 1 or more")
        tables: list[pa.Table] = []
        base = 0
        with self._core.reading() as state:
            for batch in self._asked(texts, Reading(text, id)):
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
            found = self._core.matches(as_text([text]), self._spec.threshold, first=True)
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
            for batch in self._asked(texts, Reading(text)):
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
        if threshold is None:
            return own
        if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
            raise SpecError(f"threshold is {spelled(threshold)}; expected a number in (0, 1]")
        recipe = self.recipe
        if threshold < own and recipe.num_bands:
            found = candidate_probability(threshold, recipe.num_bands, recipe.rows)
            raise SpecError(
                f"threshold {threshold:g} is below {own:g}, which the bands were chosen for: they "
                f"would find {found:.1%} of the pairs at {threshold:g}",
                "make an index for the lower threshold",
            )
        return float(threshold)

    def _asked(self, texts: object, reading: Reading) -> Iterator[Batch]:
        found = False
        for batch in batches_of([texts] if isinstance(texts, str) else texts, None, reading):
            found = True
            yield batch
        if not found:
            yield Batch([], as_text([]))

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
