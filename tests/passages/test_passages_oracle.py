"""Passages against the definition in plain Python, on small corpora over few words."""

from __future__ import annotations

import os
import random
from typing import Any

import pyarrow as pa
import pytest
from oracle_passages import Oracle, expected_rows, planted

import neardup
from common import core, tries
from neardup.copied_passages import work
from neardup.copied_passages.repeated import hashed_runs
from neardup.errors import InputError
from neardup.tuning import TUNING

#: 2,000 take a minute: PASSAGE_CORPORA=2000 python -m pytest tests/passages -k random
CORPORA = int(os.environ.get("PASSAGE_CORPORA") or tries(60, 160))
_RULES = ("longest", "latest", "first")


@pytest.mark.parametrize("block", core(range(4), 0))
def test_random_corpora(block: int, kernels: None) -> None:
    found = sum(check_corpus(seed) for seed in range(block, CORPORA, 4))
    assert found > 20


def check_corpus(seed: int) -> int:
    """Compare a run with the definition; return how many passages there were.

    Parts, and the memory after which rows go to files, are chosen at random too.
    """
    rng = random.Random(seed)
    documents, length = planted(rng), rng.randrange(2, 13)
    rule, boilerplate = rng.choice(_RULES), rng.choice([0, 0, 2, 3, 5])
    gap = rng.choice([0, 0, 1, 3, 10])
    old = rng.randrange(1, len(documents)) if len(documents) > 1 and rng.random() < 0.3 else 0
    if rng.random() < 0.3:  # characters are not bytes
        documents = [[word.replace("a", "äß") for word in words] for words in documents]
    names = [f"d{i}" for i in range(len(documents))]
    rank = list(range(old, len(documents)))
    rng.shuffle(rank)
    order = [*range(old), *(old + rank.index(n) for n in range(old, len(documents)))]
    groups = [rng.choice([None, "x", "y", "z"]) for _ in documents]
    grouped = rng.choice([None, "within", "across"])
    table = pa.table(
        {
            "id": pa.array(names, pa.string()),
            "text": pa.array([" ".join(words) for words in documents], pa.string()),
            "rank": pa.array([*range(old), *rank], pa.int64()),
            "group": pa.array([group or rng.choice([None, ""]) for group in groups], pa.string()),
        }
    )
    bounds = TUNING.replaced(
        partition_bytes=rng.choice([64, 300, 1 << 20]),
        text_bytes=rng.choice([1, 40, 256 << 10]),
        spill_share=rng.choice([4, 1 << 30]),
        spill_part=rng.choice([1, 16, 1 << 20]),
        spill_parts=rng.randrange(1, 65),
        sorted_rows=rng.choice([1, 5, 1 << 20]),
        freeing_steps=rng.choice([1, 16, 1 << 20]),
        words_of_records=rng.choice([1, 32]),
        run_segments=rng.choice([1, 7, 1 << 20]),
    )
    with pytest.MonkeyPatch.context() as patch, bounds:
        patch.setattr(work.Work, "cached", rng.choice([0, 300, 2000, 1 << 30]))
        recent = rng.choice([1, 4, 1 << 10])
        patch.setattr(hashed_runs, "RECENT", recent)
        patch.setattr(hashed_runs, "_MORE", rng.choice([1, 9, 1 << 19]))
        run = neardup.passages(
            table.slice(old),
            against=table.slice(0, old) if old else None,
            id="id",
            words=length,
            order_by="rank",
            name_source=rule,
            boilerplate=boilerplate,
            bridge=gap,
            threads=rng.choice([1, 2, 8]),
            progress=False,
            **({grouped: "group"} if grouped else {}),
        )
    in_order = [documents[i] for i in order]
    group_of = [groups[i] for i in order] if grouped else None
    oracle = Oracle(in_order, length, rule, group_of, grouped == "across", boilerplate, old)
    rows = expected_rows(oracle, [names[i] for i in order], old)
    joined, changed = oracle.bridges(gap)
    place = {tuple(row[:2]): i for i, row in enumerate(rows)}
    rows.sort(key=lambda row: (names.index(row[0]), row[1]))
    found = run.passages.to_pylist()
    numbers = [row.pop("bridge", None) for row in found]
    assert [list(row.values()) for row in found] == rows, seed
    _check_words(run, oracle, [names[i] for i in order], old)
    if gap:
        first: dict[int, int] = {}  # of the joined ones, by their number
        for row, number in zip(rows, numbers, strict=True):
            i = place[tuple(row[:2])]
            assert (number is None) == (joined[i] is None), seed
            if number is not None:
                assert first.setdefault(number, joined[i] or 0) == joined[i], seed
        of = {row["doc_id"]: row["changed_words"] for row in run.documents.to_pylist()}
        for name in names[old:]:
            own = [i for key, i in place.items() if key[0] == name]
            assert of[name] == sum(changed[i] for i in own), seed
    return len(rows)


def _check_words(run: neardup.PassagesRun, oracle: Oracle, ids: list[str], old: int) -> None:
    """Copied words are those in a repeated run, each counted for one source."""
    table = {row["doc_id"]: row for row in run.documents.to_pylist()}
    for d in range(old, len(ids)):
        words = oracle.documents[d]
        common, copied = set(), set()
        by_source: dict[int, int] = {}
        own = [p for p in oracle.passages if p.document == d]
        for p in own:
            if p.kind == "boilerplate":
                common |= set(range(p.first, p.first + p.words))
        for p in own:
            if p.kind != "boilerplate":
                new = set(range(p.first, p.first + p.words)) - common - copied
                copied |= new
                by_source[p.source[0]] = by_source.get(p.source[0], 0) + len(new)
        row = table[ids[d]]
        assert row["words"] == len(words) and row["copied_words"] == len(copied)
        assert row.get("boilerplate_words", 0) == len(common)
        best = max(by_source.values(), default=0)
        sources = [e for e, count in by_source.items() if count == best and best]
        assert row["words_from_source"] == best
        assert row["source_id"] == (ids[min(sources)] if sources else None)


def test_the_worked_example(kernels: None) -> None:
    table = pa.table(
        {
            "id": list("ABCD"),
            "text": [
                "the patient is well and goes home today",
                "seen at noon the patient is well and has no pain",
                "the patient is well and goes home today",
                "no pain no pain no pain no pain",
            ],
        }
    )

    def rows(source: str) -> list[list[Any]]:
        run = neardup.passages(table, id="id", words=3, name_source=source, progress=False)
        assert run.documents.column("copied_words").to_pylist() == [0, 5, 8, 4]
        assert run.summary["counts"]["novel_words"] == 18
        return [list(row.values()) for row in run.passages.to_pylist()]

    last = ["D", 16, 31, 4, "D", 0, 15, "D", 0, 1, "within"]
    first = ["B", 13, 36, 5, "A", 0, 23, "A", 0, 3, "copy"]
    assert rows("longest") == [first, ["C", 0, 39, 8, "A", 0, 39, "A", 0, 2, "copy"], last]
    assert rows("latest") == [
        first,
        ["C", 0, 23, 5, "B", 13, 36, "A", 0, 3, "copy"],
        ["C", 15, 39, 5, "A", 15, 39, "A", 15, 2, "copy"],
        last,
    ]


def test_boilerplate_that_is_one_word_again_and_again() -> None:
    """Texts of different lengths are different ones."""
    texts = ["a " * 10, "b", "a " * 10, "a " * 7, "a " * 7]
    run = neardup.passages(texts, words=3, boilerplate=2, name_source="first", progress=False)
    rows = run.boilerplate.to_pylist()
    assert sorted((row["words"], row["occurrences"]) for row in rows) == [(7, 4), (10, 2)]


def test_sources_of_a_document() -> None:
    """An overview: from where which share of the words was copied."""
    words = [[f"w{d}x{i}" for i in range(40)] for d in range(3)]
    copied = [*words[0][:10], "new", *words[1][5:25], "other", *words[0][20:28], "last"]
    texts = [*map(" ".join, words), " ".join(copied)]
    run = neardup.passages(pa.table({"text": texts, "id": list("abcd")}), words=5, id="id")
    assert run.sources("d").to_pylist() == [
        {"source_id": "b", "words": 20, "share": 20 / 41, "passages": 1},
        {"source_id": "a", "words": 18, "share": 18 / 41, "passages": 2},
    ]
    assert run.sources("a").num_rows == 0
    by_position = neardup.passages(texts, words=5).sources(3)
    assert by_position["source_id"].to_pylist() == [1, 0]
    with pytest.raises(InputError, match="no document has the id z"):
        run.sources("z")
    numbered = neardup.passages(texts, words=5)
    for unknown in ("zz", 1.5, -1, None):
        with pytest.raises(InputError, match="no document has the id"):
            numbered.sources(unknown)  # type: ignore[arg-type]
