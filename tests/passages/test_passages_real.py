"""Passages of real texts: copied words by a suffix array of words, passages by the definition.

The texts are not part of the project, see ``tests/truth``.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from oracle_passages import Oracle

import neardup
from neardup.sketch.texts import as_text
from neardup.sketch.tokenising import Tokeniser, batches
from neardup.spec import ShingleSpec

pytestmark = pytest.mark.long

DATA = Path(os.environ.get("NEARDUP_DATA") or Path(__file__).parents[3] / "shared" / "data")
SETS: tuple[str, ...] = ("textreuse_samples", "mtsamples", "mts_dialog")
SMALL: tuple[str, ...] = ("mts_dialog",)
#: Others take two minutes: PASSAGE_SETS=all python -m pytest tests/passages/test_passages_real.py
if os.environ.get("PASSAGE_SETS"):
    SMALL = SETS
    SETS = (*SETS, "aci_bench", "license_rules", "primock57", "mts_dialog_backtranslated")


@functools.cache
def texts_of(name: str) -> list[str]:
    path = DATA / name / "docs.parquet"
    if not path.exists():
        pytest.skip(f"{name} is not there")
    return [text or "" for text in pq.read_table(path, columns=["text"]).column(0).to_pylist()]


def tokens_of(texts: list[str]) -> list[np.ndarray]:
    """Hashes of the words of each text, uint64[words]."""

    def every() -> Iterator[np.ndarray]:
        tokeniser = Tokeniser(ShingleSpec(n=1))
        data, offsets = tokeniser.normalise(as_text(texts))
        for first, last in batches(offsets):
            tokens = tokeniser.tokens(data, offsets[first : last + 1])[0]
            limits = tokens.offsets
            yield from (tokens.values[a:b].copy() for a, b in pairwise(limits))

    return list(every())


@functools.cache
def tokens_of_set(name: str) -> list[np.ndarray]:
    return tokens_of(texts_of(name))


def copied_by_suffix_array(tokens: list[np.ndarray], length: int) -> list[int]:
    """Copied words of each document, by a library that knows nothing of anchors."""
    divsufsort = pytest.importorskip("pydivsufsort")
    sizes = np.array([len(words) for words in tokens])
    _, numbers = np.unique(np.concatenate(tokens), return_inverse=True)
    text = np.empty(int(sizes.sum()) + len(sizes), np.int64)
    ends = np.cumsum(sizes + 1) - 1
    is_end = np.zeros(len(text), np.bool_)
    is_end[ends] = True
    text[~is_end] = numbers
    text[ends] = numbers.max() + 1 + np.arange(len(ends))  # each its own: no run goes across
    array = divsufsort.divsufsort(text)
    common = divsufsort.kasai(text, array)
    group = np.concatenate([[0], np.cumsum(common[:-1] < length)])
    first = np.full(int(group[-1]) + 1, len(text))
    np.minimum.at(first, group, array)
    document = np.cumsum(is_end) - is_end
    origin = first[group]
    repeated = (document[origin] < document[array]) | (origin + length <= array)
    change = np.zeros(len(text) + length + 1, np.int64)
    np.add.at(change, array[repeated], 1)
    np.add.at(change, array[repeated] + length, -1)
    copied = np.cumsum(change)[: len(text)] > 0
    return np.bincount(document, copied, len(sizes)).astype(int).tolist()


@pytest.mark.parametrize("length", [10, 25, 50])
@pytest.mark.parametrize("name", SETS)
def test_real_texts_against_a_suffix_array(name: str, length: int, kernels: None) -> None:
    texts, tokens = texts_of(name), tokens_of_set(name)
    run = neardup.passages(texts, words=length, progress=False)
    assert run.documents.column("words").to_pylist() == [len(words) for words in tokens]
    assert run.documents.column("copied_words").to_pylist() == copied_by_suffix_array(
        tokens, length
    )


@pytest.mark.parametrize("length", [10, 25, 50])
@pytest.mark.parametrize("name", SMALL)
def test_real_texts_against_the_definition(name: str, length: int, kernels: None) -> None:
    texts = texts_of(name)
    tokens = [words.tolist() for words in tokens_of_set(name)]
    for rule in ("longest", "latest", "first"):
        run = neardup.passages(texts, words=length, name_source=rule, progress=False)
        oracle = Oracle(tokens, length, rule)
        columns = ("doc_id", "words", "source_id", "origin_id", "documents", "kind")
        rows: list[dict[str, Any]] = run.passages.select(columns).to_pylist()
        assert [tuple(row.values()) for row in rows] == [
            (p.document, p.words, p.source[0], p.origin[0], p.documents, p.kind)
            for p in oracle.passages
        ]
        some = run.passages.to_pylist()[:100]
        here = tokens_of([texts[row["doc_id"]][row["start"] : row["end"]] for row in some])
        there = tokens_of(
            [texts[row["source_id"]][row["source_start"] : row["source_end"]] for row in some]
        )
        for row, one, two in zip(some, here, there, strict=True):
            assert len(one) == row["words"] and one.tolist() == two.tolist()
