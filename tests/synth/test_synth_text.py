"""Texts: what they look like, and that similarities are those of the ground truth."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bench.notes import Family, SynthSpec, generate, truth
from bench.notes.tables import documents_batch, lines
from neardup.errors import SpecError
from neardup.synth.demo_notes import COMMON, HEADINGS, KINDS
from neardup.synth.synthetic_words import make_words


def shingles(text: str) -> set[tuple[str, ...]]:
    tokens = re.findall(r"\w+", text.lower())
    return {tuple(tokens[i : i + 5]) for i in range(len(tokens) - 4)}


def jaccard(one: str, two: str) -> float:
    a, b = shingles(one), shingles(two)
    return len(a & b) / len(a | b)


@pytest.fixture(scope="module")
def spec() -> SynthSpec:
    return SynthSpec(9000, seed=11)  # five batches


@pytest.fixture(scope="module")
def table(spec: SynthSpec) -> pa.Table:
    return generate(spec)


@pytest.fixture(scope="module")
def known(spec: SynthSpec) -> list[dict[str, Any]]:
    return truth(spec).to_pylist()


def test_columns(table: pa.Table) -> None:
    table.validate(full=True)  # UTF-8 and offsets
    assert table.schema.names == ["id", "text", "date", "kind", "quality"]
    assert table["id"].to_pylist() == [f"note-{doc:07}" for doc in range(9000)]
    assert set(table["kind"].to_pylist()) == set(KINDS)
    assert all(re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", date) for date in table["date"].to_pylist())
    quality = table["quality"].to_numpy()
    assert quality.min() >= 0 and quality.max() <= 1
    assert json.loads(table.schema.metadata[b"neardup.synth"])["seed"] == 11


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 1), (2047, 2049), (1234, 1234), (5000, 9000), (8999, None)]
)
def test_a_slice_equals_that_slice_of_the_whole(
    spec: SynthSpec, table: pa.Table, start: int, stop: int | None
) -> None:
    length = (spec.documents if stop is None else stop) - start
    assert generate(spec, start, stop).equals(table.slice(start, length))
    assert truth(spec, start, stop).equals(truth(spec).slice(start, length))


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (0, 9001)])
def test_a_slice_outside_the_corpus_is_refused(spec: SynthSpec, start: int, stop: int) -> None:
    for function in (generate, truth):
        with pytest.raises(SpecError, match="expected a range in 0 to 9000"):
            function(spec, start, stop)


def test_lines_hold_the_same_values_as_columns(spec: SynthSpec, table: pa.Table) -> None:
    whole = lines(documents_batch(spec, 2000, 2100)).to_pybytes()
    found = [json.loads(line) for line in whole.splitlines()]
    assert found == table.slice(2000, 100).to_pylist()


def test_large_corpora_need_no_table_of_all_documents() -> None:
    big = SynthSpec(2_000_000_000)
    assert generate(big, 1_999_999_999)["id"].to_pylist() == ["note-1999999999"]


def test_notes_have_50_to_800_words(table: pa.Table) -> None:
    counts = np.array([len(text.split()) for text in table["text"].to_pylist()])
    assert counts.min() >= 50 and counts.max() <= 800
    assert counts.max() > 650  # the range is used: Beta(2, 4) exceeds 0.8 in 0.7 % of the notes
    # Beta(2, 4) over 50 to 800: mean 300, standard deviation 134, so 5 standard errors of 1.5; the
    # 450 members of the family have 249 words each and move the mean by -2.5.
    assert abs(counts.mean() - 297.5) < 7.5


@pytest.mark.parametrize("words", [(5, 5), (5, 12), (50, 60), (300, 1500)])
def test_other_lengths(words: tuple[int, int]) -> None:
    spec = SynthSpec(600, words=words, near=0.5, changed=(0.0, 1.0), families=())
    counts = {len(text.split()) for text in generate(spec)["text"].to_pylist()}
    assert words[0] <= min(counts) and max(counts) <= words[1]


@pytest.mark.long
def test_word_frequencies_follow_zipf(table: pa.Table) -> None:
    tokens: Counter[str] = Counter()
    for text in table["text"].to_pylist()[:4000]:
        tokens.update(re.findall(r"[^\W\d]+", text.lower()))
    counts = np.array(sorted(tokens.values(), reverse=True))
    ranks = np.arange(10, 2000)  # of 1.2 million words, so the word of rank 2000 occurs 50 times
    slope = np.polyfit(np.log(ranks), np.log(counts[ranks - 1]), 1)[0]
    assert abs(slope + 1) < 0.05  # copies and families repeat words, which widens it a little


@pytest.mark.long
def test_texts_look_like_notes_and_are_not_only_ascii(table: pa.Table) -> None:
    texts = table["text"].to_pylist()
    whole = "\n\n".join(texts)
    assert all(heading in whole for heading in HEADINGS)
    assert re.search(r" \d{2,3}/\d{2,3}[ ,.\n]", whole)
    assert re.search(r" \d\d/\d\d/20\d\d", whole)
    words = whole.split()
    assert {"naïve", "µg", "β-blocker"} <= set(words)
    assert all(re.match(r"[A-Z]+(-UP)?:[ \n]", text) and text.endswith(".") for text in texts)
    assert not any(re.search(r'["\\\t\r]|  |\n\n\n| \n|\.[^ \n\d]', text) for text in texts)
    strange = sum(not word.isascii() for word in words) / len(words)
    assert 0.002 < strange < 0.03
    sentences = [len(s.split()) for text in texts[:300] for s in re.split(r"\.(?:\s|$)", text)]
    assert 9 < np.mean(sentences) < 13


def test_exact_copies_are_equal_byte_for_byte(table: pa.Table, known: list[dict[str, Any]]) -> None:
    texts = table["text"].to_pylist()
    copies = [row for row in known if row["kind"] == "exact"]
    assert len(copies) == 900
    assert all(texts[row["doc"]] == texts[row["source"]] for row in copies)
    originals = [texts[row["doc"]] for row in known if row["kind"] == "original"]
    assert len(set(originals)) == len(originals)


@pytest.mark.long
def test_originals_are_not_similar_to_each_other(
    table: pa.Table, known: list[dict[str, Any]]
) -> None:
    texts = table["text"].to_pylist()
    seen: Counter[tuple[str, ...]] = Counter()
    for row in known:
        if row["kind"] == "original":
            seen.update(shingles(texts[row["doc"]]))
    assert sum(seen.values()) > 1_500_000
    # Frequent words alone repeat: the six most frequent words make a shingle in 3e-5 of places.
    assert sum(count - 1 for count in seen.values()) / sum(seen.values()) < 2e-3


def test_near_duplicates_change_the_share_in_the_truth(
    table: pa.Table, known: list[dict[str, Any]]
) -> None:
    texts = table["text"].to_pylist()
    off = []
    for row in [row for row in known if row["kind"] == "near"][:300]:
        one, two = texts[row["source"]].split(), texts[row["doc"]].split()
        codes = difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
        found = sum(max(b - a, d - c) for tag, a, b, c, d in codes if tag != "equal")
        expected = round(row["changed"] * len(one))
        # difflib is greedy and may count a few words more; a word inserted next to a change makes
        # a range of one less.
        off.append(found - expected)
        assert abs(off[-1]) <= 2 + 0.1 * expected, row
    assert abs(np.mean(off)) < 1


def test_near_duplicates_lose_similarity_as_shares_predict(
    table: pa.Table, known: list[dict[str, Any]]
) -> None:
    texts = table["text"].to_pylist()
    for row in [row for row in known if row["kind"] == "near"][:200]:
        words = len(texts[row["source"]].split())
        # An edit destroys 5 shingles at most, and 5 replace them; numbers have up to 3 tokens.
        lost = min(1.0, 5 * row["changed"] * words / (words - 4))
        assert jaccard(texts[row["doc"]], texts[row["source"]]) >= (1 - lost) / (1 + lost) - 0.06


def test_near_duplicates_also_lose_and_gain_words() -> None:
    spec = SynthSpec(2000, seed=2, changed=(0.2, 0.2), families=())
    texts, tags = generate(spec)["text"].to_pylist(), Counter[str]()
    for row in truth(spec).to_pylist()[:1000]:
        if row["kind"] == "near":
            one, two = texts[row["source"]].split(), texts[row["doc"]].split()
            matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
            tags.update(opcode[0] for opcode in matcher.get_opcodes())
    changes = tags["replace"] + tags["delete"] + tags["insert"]
    for tag in ("delete", "insert"):  # a tenth each is drawn, fewer where words carry layout
        assert 0.03 < tags[tag] / changes < 0.15


def test_nothing_changed_is_a_copy() -> None:
    spec = SynthSpec(500, changed=(0.0, 0.0), families=())
    texts = generate(spec)["text"].to_pylist()
    near = [row for row in truth(spec).to_pylist() if row["kind"] == "near"]
    assert len(near) == 100
    assert all(row["changed"] == 0 and texts[row["doc"]] == texts[row["source"]] for row in near)


@pytest.mark.parametrize(
    ("low", "high"), [(0.4, 0.4), (0.9, 0.9), (0.65, 0.75), (0.6, 0.8), (0.1, 0.2), (0.98, 0.98)]
)
def test_members_of_a_family_are_as_similar_as_asked_for(low: float, high: float) -> None:
    found: list[float] = []
    for seed in range(3):
        spec = SynthSpec(60, seed=seed, near=0, exact=0, families=(Family(50, low, high),))
        family = truth(spec)["family"].to_pylist()
        texts = generate(spec)["text"].to_pylist()
        members = [shingles(t) for t, of in zip(texts, family, strict=True) if of is not None]
        assert len(members) == 50
        found += [len(a & b) / len(a | b) for a, b in combinations(members, 2)]
    # Numbers of several tokens and slots near the ends of a template raise it by about 0.01.
    assert abs(np.median(found) - (low + high) / 2) < 0.03
    inside = np.mean((np.array(found) >= low - 0.02) & (np.array(found) <= high + 0.02))
    assert inside > 0.9
    if high > low:
        assert np.percentile(found, 90) - np.percentile(found, 10) > (high - low) / 2


def test_families_differ() -> None:
    spec = SynthSpec(300, near=0, exact=0, families=(Family(20, 0.9), Family(20, 0.5)))
    texts, rows = generate(spec)["text"].to_pylist(), truth(spec).to_pylist()
    one, two = ([texts[r["doc"]] for r in rows if r["family"] == number] for number in (0, 1))
    assert (len(one), len(two)) == (20, 20)
    assert jaccard(one[0], one[1]) > 0.85
    assert jaccard(one[0], two[0]) < 0.01


@pytest.mark.parametrize("count", [100, 600, 20_000])
def test_vocabulary(count: int) -> None:
    words = make_words(count)
    assert len({word.lower() for word in words}) == len(words) == count
    assert words == make_words(20_000)[:count]
    assert not any(re.search(r"[\s\"\\\x00-\x1f]", word) for word in words)


def test_hand_written_words_differ() -> None:
    assert len({word.lower() for word in COMMON}) == len(COMMON)
    assert len(set(HEADINGS)) == len(HEADINGS)
