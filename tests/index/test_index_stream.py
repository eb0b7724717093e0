"""A stream through an index is a batch: kept set, duplicates and similarities, bit for bit."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import neardup
from common import Tune
from neardup.index.answers import UpdateAnswer
from neardup.testing import definition

WORDS = [f"w{i}" for i in range(40)] + ["Müller", "漢字", "!"]
#: Settings by name: unit, bag, stem, no bands.
SETTINGS: dict[str, dict[str, Any]] = {
    "words": {"shingle": neardup.ShingleSpec(n=2), "num_bands": 6, "rows": 2},
    "chars": {"shingle": neardup.ShingleSpec("char", 3), "num_bands": 6, "rows": 2},
    "bag": {"shingle": neardup.ShingleSpec(n=1, bag=True), "num_bands": 4, "rows": 1},
    "stem": {"shingle": neardup.ShingleSpec(n=2, stem="english"), "num_bands": 6, "rows": 2},
    "all": {"shingle": neardup.ShingleSpec(n=2), "method": "allpairs"},
}


def spec_of(name: str, threshold: float = 0.5) -> neardup.Spec:
    return neardup.Spec(threshold=threshold, **SETTINGS[name])


def made_texts(seed: int, count: int) -> list[str]:
    """Texts of which many nearly repeat another one; short, empty and equal ones too."""
    draw = random.Random(seed)
    texts: list[str] = []
    for _ in range(count):
        kind = draw.random()
        if texts and kind < 0.5:
            words = draw.choice(texts).split()
            for _ in range(draw.randrange(3) if words else 0):
                words[draw.randrange(len(words))] = draw.choice(WORDS)
            texts.append(" ".join(words))
        elif kind < 0.6:
            texts.append(draw.choice(["", " ", "one", "w1", "W1!", "..."]))
        else:
            texts.append(" ".join(draw.choices(WORDS, k=draw.randrange(1, 14))))
    return texts


def shown(table: Any) -> list[tuple[Any, ...]]:
    columns = [table.column(name).to_pylist() for name in ("kept", "duplicate_of", "similarity")]
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("folder", [False, True])
def test_a_stream_in_batches_of_any_size_is_a_batch(
    name: str, folder: bool, tmp_path: Path, tune: Tune
) -> None:
    tune(logged_documents=40, inserted_documents=64, sketched_documents=16)
    texts, spec = made_texts(1, 400), spec_of(name)
    expected = shown(neardup.dedup(texts, spec=spec).clusters)
    draw = random.Random(2)
    path = tmp_path / "i" if folder else None
    index = neardup.Index.create(path, spec=spec, store_text=name != "chars", durable="process")
    found: list[tuple[Any, ...]] = []
    while len(found) < len(texts):
        low = len(found)
        high = min(len(texts), low + draw.choice([1, 1, 1, 7, 60, 130]))
        if high == low + 1:
            one = index.add_if_new(low, texts[low])
            found.append((one.kept, one.duplicate_of, one.similarity))
        else:
            found += shown(index.add_if_new(texts[low:high], ids=range(low, high)))
        if draw.random() < 0.1:
            index.compact()
        if path and draw.random() < 0.1:
            index.close()
            index = neardup.Index.open(path, durable="process")
    assert found == expected
    kept = [i for i, (is_kept, *_) in enumerate(expected) if is_kept]
    assert index.ids().to_pylist() == kept
    assert index.check() == []
    index.close()


class Streams(RuleBasedStateMachine):
    """Documents come, go and change; after each step the index is what the definition says."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.stored: dict[int, str] = {}  # in the order in which they came
        self.noted: dict[int, int] = {}  # what was a duplicate, and of which document
        self.next = 0

    @initialize(name=st.sampled_from(sorted(SETTINGS)), store=st.booleans(), disk=st.booleans())
    def create(self, name: str, store: bool, disk: bool) -> None:
        self.spec = spec_of(name)
        self.path = self.folder / "index" if disk else None
        self.index = neardup.Index.create(
            self.path, spec=self.spec, store_text=store, durable="process"
        )
        self.recipe = self.index.recipe
        self.store = store

    def edges(self, texts: list[str]) -> dict[tuple[int, int], float]:
        """Edges by the definition: pairs in a bucket, by position."""
        keys: list[list[Any]] = [["all"] for _ in texts]
        sets = definition.shingles_of(texts, self.spec.shingle)
        if self.recipe.num_bands:
            signed = neardup.signatures(
                texts, self.recipe.num_hashes, shingle=self.spec.shingle, seed=self.recipe.seed
            )
            rows = neardup.band_keys(signed, self.recipe.num_bands, self.recipe.rows)
            keys = [list(enumerate(row)) for row in rows.tolist()]
        keys = [names if some else [] for names, some in zip(keys, sets, strict=True)]
        return definition.edges(sets, definition.pairs_in_buckets(keys), self.spec.threshold)

    def decided(self, texts: list[str]) -> list[tuple[Any, ...]]:
        """What the definition says of texts that come after those that are there."""
        there = list(self.stored)
        edges = self.edges([*self.stored.values(), *texts])
        kept, answers = set(range(len(there))), []
        for number in range(len(there), len(there) + len(texts)):
            before = [n for n in sorted(kept) if (n, number) in edges]
            if before:
                first = before[0]
                id_ = there[first] if first < len(there) else self.next + first - len(there)
                answers.append((False, id_, edges[first, number]))
            else:
                kept.add(number)
                answers.append((True, None, None))
        return answers

    @rule(seed=st.integers(0, 10**6), count=st.integers(1, 12))
    def add_if_new(self, seed: int, count: int) -> None:
        known = list(self.stored.values())
        texts = made_texts(seed, count)
        draw = random.Random(seed)
        texts = [draw.choice(known) if known and draw.random() < 0.3 else t for t in texts]
        expected = self.decided(texts)
        ids = range(self.next, self.next + count)
        if count == 1:
            one = self.index.add_if_new(ids[0], texts[0])
            found = [(one.kept, one.duplicate_of, one.similarity)]
        else:
            found = shown(self.index.add_if_new(texts, ids=ids))
        assert found == expected
        self.stored |= {i: t for i, t, a in zip(ids, texts, expected, strict=True) if a[0]}
        self.noted |= {i: a[1] for i, a in zip(ids, expected, strict=True) if not a[0]}
        self.next += count

    @rule(seed=st.integers(0, 10**6), count=st.integers(1, 6))
    def add(self, seed: int, count: int) -> None:
        texts = made_texts(seed, count)
        ids = range(self.next, self.next + count)
        assert self.index.add(texts, ids=ids) == count
        self.stored |= dict(zip(ids, texts, strict=True))
        self.next += count

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        known = [*self.stored, *self.noted]
        some = data.draw(st.lists(st.sampled_from(known), min_size=1, unique=True))
        for id_ in some:
            self.stored.pop(id_, None)
            self.noted.pop(id_, None)
        assert self.index.remove(some) == self.released(some)

    def released(self, ids: list[int]) -> list[int]:
        """The duplicates of some documents, which are forgotten."""
        found = [id_ for id_, of in self.noted.items() if of in ids]
        for id_ in found:
            del self.noted[id_]
        return sorted(found)

    @precondition(lambda self: self.stored)
    @rule(data=st.data(), seed=st.integers(0, 10**6), if_new=st.booleans())
    def update(self, data: st.DataObject, seed: int, if_new: bool) -> None:
        id_ = data.draw(st.sampled_from(list(self.stored)))
        del self.stored[id_]
        known = list(self.stored.values())
        text = data.draw(st.sampled_from([made_texts(seed, 3)[-1], *known[:3]]))
        ((new, of, similarity),) = self.decided([text])
        released, kept = self.released([id_]), new or not if_new
        answer = self.index.update(id_, text, if_new=if_new)
        assert answer == UpdateAnswer(id_, kept, of, similarity, released)
        if kept:
            self.stored[id_] = text
        else:
            self.noted[id_] = of

    @rule(purge=st.booleans())
    def compact(self, purge: bool) -> None:
        self.index.compact(purge)

    @precondition(lambda self: self.path)
    @rule()
    def reopen(self) -> None:
        self.index.close()
        assert self.path
        self.index = neardup.Index.open(self.path, durable="process")

    @rule(seed=st.integers(0, 10**6))
    def query(self, seed: int) -> None:
        known = list(self.stored.values())
        texts = [*made_texts(seed, 2), *known[:1]]
        there = list(self.stored)
        edges = self.edges([*known, *texts])
        expected = [
            (row, there[n], edges[n, len(there) + row])
            for row in range(len(texts))
            for n in range(len(there))
            if (n, len(there) + row) in edges
        ]
        expected.sort(key=lambda match: (match[0], -match[2], match[1]))
        found = self.index.query(texts)
        columns = [found.column(name).to_pylist() for name in ("query", "id", "similarity")]
        assert list(zip(*columns, strict=True)) == expected
        sets = definition.shingles_of([*known, *texts], self.spec.shingle)
        for match in found.to_pylist():
            own = sets[len(known) + match["query"]]
            other = sets[there.index(match["id"])]
            assert match["query_contained"] == len(own & other) / len(own)
            assert match["match_contained"] == len(own & other) / len(other)

    @invariant()
    def holds_what_came(self) -> None:
        if not hasattr(self, "index"):
            return
        assert len(self.index) == len(self.stored)
        assert self.index.stats()["duplicates"] == len(self.noted)
        assert self.index.ids().to_pylist() == (list(self.stored) if self.stored else [])

    def teardown(self) -> None:
        if hasattr(self, "index"):
            assert self.index.check() == []
            if self.store:
                assert [self.index.get(i) for i in self.stored] == list(self.stored.values())
            self.index.close()
        shutil.rmtree(self.folder)


TestStreams = Streams.TestCase
TestStreams.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
