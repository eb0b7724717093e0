"""The contract of engines, as tests to inherit: each finds the result of the definition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from neardup.errors import InputError, SpecError
from neardup.spec import METHODS, ShingleSpec, Spec
from neardup.testing import small_corpora as corpora
from neardup.testing.definition import Shingles, defined, shingles_of


class EngineAnswer(NamedTuple):
    """The result of an engine.

    Attributes:
        documents: A row for each document, in any order: ``id``, ``duplicate_of`` (the id of a kept
            document; null for those that are kept), ``similarity`` with it, or null, and, from
            engines that have clusters, ``cluster``: the id of the document that names it.
        edges: ``id_a``, ``id_b`` and ``similarity`` of each pair that was found; None where they
            are not listed, or not all.
    """

    documents: pa.Table
    edges: pa.Table | None = None


def check(
    answer: EngineAnswer,
    documents: pa.Table,
    spec: Spec,
    old: pa.Table | None = None,
    shingles: Shingles = shingles_of,
) -> None:
    """Compare the answer of an engine with the definition.

    Args:
        answer: Of the engine.
        documents: ``id``, ``text``, and the columns that the settings name.
        spec: Settings.
        old: The same of an old corpus, all of whose documents stay.
        shingles: See `EngineContract.shingles`.
    """
    first = 0 if old is None else old.num_rows
    every = documents if old is None else pa.concat_tables([old, documents])
    expected, ids = defined(every, spec, first, shingles), every["id"].to_pylist()
    rows = {row["id"]: row for row in answer.documents.to_pylist()}
    assert answer.documents.num_rows == len(rows) == documents.num_rows
    for position in range(first, len(ids)):
        row, target = rows[ids[position]], expected.duplicate_of[position]
        assert row["duplicate_of"] == (None if target < 0 else ids[target])
        assert row["similarity"] == expected.similarity[position]
        if "cluster" in row and expected.clusters is not None:
            assert row["cluster"] == ids[expected.clusters[position]]
    if answer.edges is not None and spec.pairs == "all":
        columns = (answer.edges[name].to_pylist() for name in ("id_a", "id_b", "similarity"))
        listed = [(frozenset((a, b)), value) for a, b, value in zip(*columns, strict=True)]
        assert len(dict(listed)) == len(listed)
        assert dict(listed) == {
            frozenset((ids[a], ids[b])): value for (a, b), value in expected.edges.items()
        }


class EngineContract(ABC):
    """Tests that an engine passes; a class that inherits them defines how it is called.

    pytest finds them if the name of the class begins with ``Test``:

        class TestMine(EngineContract):
            def answer(self, documents, spec, folder):
                return EngineAnswer(my_engine(documents, spec))

    Attributes:
        seeds: Number of random corpora, each of which has random settings.
        ordered_by_id: The order of the input is the order of the ids, as for an engine whose tables
            have no order.
        refused: Values of settings that the engine refuses with a SpecError that names the setting.
        refused_ids: Kinds of `neardup.testing.small_corpora.IDS` that it refuses with an
            InputError, and a regular expression that finds its reason.
    """

    seeds: ClassVar[int] = 40
    ordered_by_id: ClassVar[bool] = False
    refused: ClassVar[Mapping[str, Sequence[Any]]] = {}
    refused_ids: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def answer(self, documents: pa.Table, spec: Spec, folder: Path) -> EngineAnswer:
        """Return the result for documents.

        Args:
            documents: ``id``, ``text``, and columns that the settings may name.
            spec: Settings.
            folder: Empty; it is removed after the test.
        """

    def answer_after(
        self, old: pa.Table, documents: pa.Table, spec: Spec, folder: Path
    ) -> EngineAnswer:
        """Return the result for documents after an old corpus, all of which stays.

        An engine that compares with no old corpus leaves this as it is: the tests are skipped.
        """
        pytest.skip("this engine compares with no old corpus")

    def shingles(self, texts: Sequence[str | None], shingle: ShingleSpec) -> Sequence[set[Any]]:
        """Return the sets of shingles of texts: those of neardup, unless a subclass has others."""
        return shingles_of(texts, shingle)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        # Parameters that depend on the subclass.
        if "seed" in metafunc.fixturenames:
            metafunc.parametrize("seed", range(self.seeds))
        if "setting" in metafunc.fixturenames:
            pairs = [(name, value) for name, values in self.refused.items() for value in values]
            metafunc.parametrize(("setting", "value"), pairs)

    def accepts(self, spec: Spec) -> bool:
        """Return whether the engine has all settings of a spec."""
        return not any(getattr(spec, name) in values for name, values in self.refused.items())

    def without_refused(self, spec: Spec) -> Spec:
        """Return settings with the default of each that the engine refuses."""
        default = Spec()
        return spec.replace(
            **{
                name: getattr(default, name)
                for name, values in self.refused.items()
                if getattr(spec, name) in values
            }
        )

    @pytest.mark.parametrize(("kind", "keep"), corpora.CASES)
    def test_ids_and_rules(self, kind: str, keep: str, tmp_path: Path) -> None:
        """Each kind of ids, and each rule of keeping, with default settings."""
        documents, spec = corpora.similar_texts(kind), Spec(keep=keep)
        if kind in self.refused_ids:
            with pytest.raises(InputError, match=self.refused_ids[kind]):
                self.answer(documents, spec, tmp_path)
        elif self.accepts(spec):
            answer = self.answer(documents, spec, tmp_path)
            assert answer.documents["duplicate_of"].null_count < documents.num_rows - 100
            check(answer, documents, spec)

    def test_random_settings(self, seed: int, tmp_path: Path) -> None:
        """A random corpus with random settings."""
        rng = np.random.default_rng([11, seed])
        documents = corpora.random_documents(rng, int(rng.integers(1, 90)))
        spec = self.without_refused(corpora.random_spec(rng))
        if self.ordered_by_id:
            documents = documents.sort_by("id")
        check(self.answer(documents, spec, tmp_path), documents, spec, shingles=self.shingles)

    @pytest.mark.parametrize("keep", corpora.KEEPS)
    def test_an_old_corpus_stays(self, keep: str, tmp_path: Path) -> None:
        """All old documents stay, even those that are similar to each other."""
        documents, spec = corpora.similar_texts(), Spec(keep=keep)
        half = documents.num_rows // 2
        old, batch = documents.slice(0, half), documents.slice(half)
        if self.accepts(spec):
            check(self.answer_after(old, batch, spec, tmp_path), batch, spec, old)

    @pytest.mark.parametrize("method", METHODS)
    def test_groups(self, method: str, tmp_path: Path) -> None:
        """Only documents of one group are compared."""
        documents, spec = corpora.similar_texts(), Spec(within="group", method=method)
        if self.accepts(spec):
            check(self.answer(documents, spec, tmp_path), documents, spec)

    def test_groups_of_an_old_corpus(self, tmp_path: Path) -> None:
        """They are those of the batch."""
        documents, spec = corpora.similar_texts(), Spec(within="group")
        old, batch = documents.slice(0, 150), documents.slice(150)
        if self.accepts(spec):
            check(self.answer_after(old, batch, spec, tmp_path), batch, spec, old)

    def test_ignored_text(self, tmp_path: Path) -> None:
        """The result of documents with ignored text is the result of those without it."""
        documents = corpora.similar_texts()
        noisy = corpora.noisy(documents)
        check(self.answer(noisy, corpora.ignoring(), tmp_path), documents, Spec())

    def test_texts_without_words(self, tmp_path: Path) -> None:
        """Only equal signs are duplicates of each other."""
        texts = pa.array([None, "", " \n", "...", "?!", "?!"], pa.string())
        documents = pa.table({"id": range(len(texts)), "text": texts})
        answer = self.answer(documents, Spec(), tmp_path)
        assert answer.documents["duplicate_of"].null_count == len(texts) - 1

    def test_refused_settings(self, setting: str, value: Any, tmp_path: Path) -> None:
        """The engine names the setting that it has not, and gives no other result."""
        with pytest.raises(SpecError, match=f"`{setting}`"):
            self.answer(corpora.similar_texts(), Spec(**{setting: value}), tmp_path)
