"""Texts: their words, their likeness to their sources, and that any slice is the same."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from neardup.errors import SpecError
from neardup.synth import SynthSpec, generate, truth
from neardup.synth.vocabulary import COMMON, HEADINGS, KINDS, make_words


def shingles(text: str, n: int = 5) -> set[tuple[str, ...]]:
    tokens = re.findall(r"\w+", text.lower())
    return {tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}


def jaccard(one: str, two: str) -> float:
    a, b = shingles(one), shingles(two)
    return len(a & b) / len(a | b)


def words_changed(source: str, made: str) -> int:
    """Words replaced, deleted or put in, by the longest matching blocks of Python's difflib."""
    matcher = difflib.SequenceMatcher(None, source.split(), made.split(), autojunk=False)
    return sum(
        max(high_a - low_a, high_b - low_b)
        for tag, low_a, high_a, low_b, high_b in matcher.get_opcodes()
        if tag != "equal"
    )


@pytest.fixture(scope="module")
def spec() -> SynthSpec:
    return SynthSpec(9000, seed=11)  # three chunks


@pytest.fixture(scope="module")
def table(spec: SynthSpec) -> pa.Table:
    return generate(spec)


@pytest.fixture(scope="module")
def facts(spec: SynthSpec) -> list[dict[str, object]]:
    return truth(spec).to_pylist()


def test_columns(spec: SynthSpec, table: pa.Table) -> None:
    table.validate(full=True)  # UTF-8 and offsets
    assert table.schema.names == ["id", "text", "date", "kind", "quality"]
    assert table["id"].to_pylist() == [f"note-{doc:07}" for doc in range(9000)]
    assert set(table["kind"].to_pylist()) == set(KINDS)
    assert all(re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", date) for date in table["date"].to_pylist())
    quality = table["quality"].to_numpy()
    assert quality.min() >= 0 and quality.max() <= 1
    assert spec.digest.encode() == table.schema.metadata[b"neardup.synth.digest"]


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 1), (4095, 4097), (1234, 1234), (5000, 9000), (8999, None)]
)
def test_a_slice_equals_that_part_of_the_whole(
    spec: SynthSpec, table: pa.Table, start: int, stop: int | None
) -> None:
    length = (spec.documents if stop is None else stop) - start
    assert generate(spec, start, stop).equals(table.slice(start, length))
    assert truth(spec, start, stop).equals(truth(spec).slice(start, length))


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (0, 9001)])
def test_a_slice_outside_the_corpus_is_refused(spec: SynthSpec, start: int, stop: int) -> None:
    with pytest.raises(SpecError):
        generate(spec, start, stop)
    with pytest.raises(SpecError):
        truth(spec, start, stop)


def test_notes_have_50_to_800_words(table: pa.Table) -> None:
    counts = np.array([len(text.split()) for text in table["text"].to_pylist()])
    assert counts.min() >= 50 and counts.max() <= 800
    assert counts.max() > 650  # the range is used: Beta(2, 4) exceeds 0.8 in 0.7 % of the notes
    # Beta(2, 4) over 50..800: mean 300, standard deviation 134, so 5 standard errors of 1.5; the
    # 450 family members have 220 words each and pull the mean by 4.
    assert abs(counts.mean() - 296) < 8


@pytest.mark.parametrize("words", [(5, 5), (50, 60), (300, 1500)])
def test_other_lengths(words: tuple[int, int]) -> None:
    made = SynthSpec(600, words=words, near=0.5, changed=(0.0, 1.0), family=())
    counts = {len(text.split()) for text in generate(made)["text"].to_pylist()}
    assert words[0] <= min(counts) and max(counts) <= words[1]


def test_word_frequencies_follow_zipf(table: pa.Table) -> None:
    tokens: Counter[str] = Counter()
    for text in table["text"].to_pylist()[:4000]:
        tokens.update(re.findall(r"[^\W\d]+", text.lower()))
    counts = np.array(sorted(tokens.values(), reverse=True))
    ranks = np.arange(10, 2000)  # some 1.2 million words, so rank 2000 is met about 50 times
    slope = np.polyfit(np.log(ranks), np.log(counts[ranks - 1]), 1)[0]
    assert abs(slope + 1) < 0.05  # copies and families repeat words, which widens it a little


def test_texts_look_like_notes_and_are_not_only_ascii(table: pa.Table) -> None:
    texts = table["text"].to_pylist()
    whole = "\n\n".join(texts)
    assert all(heading in whole for heading in HEADINGS)
    assert re.search(r" \d{2,3}/\d{2,3}[ ,.\n]", whole)
    assert re.search(r" \d\d/\d\d/20\d\d", whole)
    assert {"naïve", "µg", "β-blocker"} <= set(whole.split())
    assert all(re.match(r"[A-Z]+(-UP)?:[ \n]", text) and text.endswith(".") for text in texts)
    assert not any(re.search(r'["\\\t\r]|  |\n\n\n| \n', text) for text in texts)
    strange = sum(not word.isascii() for word in whole.split()) / len(whole.split())
    assert 0.002 < strange < 0.03


def test_exact_copies_are_equal_byte_for_byte(
    table: pa.Table, facts: list[dict[str, object]]
) -> None:
    texts = table["text"].to_pylist()
    copies = [row for row in facts if row["kind"] == "exact"]
    assert len(copies) == 900
    assert all(texts[row["doc"]] == texts[row["source"]] for row in copies)
    originals = [texts[row["doc"]] for row in facts if row["kind"] == "original"]
    assert len(set(originals)) == len(originals)


def test_near_duplicates_change_the_share_that_the_truth_says(
    table: pa.Table, facts: list[dict[str, object]]
) -> None:
    texts = table["text"].to_pylist()
    near = [row for row in facts if row["kind"] == "near"][:300]
    off = []
    for row in near:
        source, made = texts[row["source"]], texts[row["doc"]]
        said = round(row["changed"] * len(source.split()))
        # difflib is greedy, so it may miss the shortest way and count a few words more; a word
        # put in beside a change makes a block of one less.
        off.append(words_changed(source, made) - said)
        assert abs(off[-1]) <= 2 + 0.1 * said, row
    assert abs(np.mean(off)) < 1


def test_near_duplicates_also_lose_and_gain_words() -> None:
    made = SynthSpec(2000, seed=2, changed=(0.2, 0.2), family=())
    texts = generate(made)["text"].to_pylist()
    tags: Counter[str] = Counter()
    for row in truth(made).to_pylist()[:1000]:
        if row["kind"] == "near":
            one, two = texts[row["source"]].split(), texts[row["doc"]].split()
            matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
            tags.update(opcode[0] for opcode in matcher.get_opcodes())
    changes = tags["replace"] + tags["delete"] + tags["insert"]
    for tag in ("delete", "insert"):  # a tenth each is drawn, less where words carry layout
        assert 0.03 < tags[tag] / changes < 0.15


def test_nothing_changed_is_a_copy() -> None:
    made = SynthSpec(500, changed=(0.0, 0.0), family=())
    texts = generate(made)["text"].to_pylist()
    for row in truth(made).to_pylist():
        if row["kind"] == "near":
            assert row["changed"] == 0 and texts[row["doc"]] == texts[row["source"]]


def test_members_of_a_family_share_boilerplate_and_differ_in_slots() -> None:
    made = SynthSpec(3000, seed=4, family=(200, 40), near=0, exact=0)
    table = generate(made)["text"].to_pylist()
    facts = truth(made)["family"].to_pylist()
    fixed = []
    for family in (0, 1):
        members = [text.split() for text, of in zip(table, facts, strict=True) if of == family]
        assert {len(words) for words in members} == {220}
        differ = [i for i in range(220) if len({words[i] for words in members}) > 1]
        assert len(differ) == 20  # 200 words of boilerplate, 20 slots, one in every 11 words
        assert [i // 11 for i in differ] == list(range(20))
        fixed.append([members[0][i] for i in range(220) if i not in differ])
    assert fixed[0] != fixed[1]


@pytest.mark.parametrize(
    # A pair agrees in a slot with chance sum(w**2) / sum(w)**2 for weights w = 1, 1/2, ..., 1/K.
    # Over 5-word shingles Jaccard then is (216 - 5d) / (216 + 5d) for d slots that differ and lie
    # apart; slots that lie close together, and numbers of two tokens, bring it up a little.
    ("values", "agree", "expected"),
    [(2, 5 / 9, 0.68), (8, 0.207, 0.47), (1000, 0.0293, 0.39)],
)
def test_family_values_set_the_likeness(values: int, agree: float, expected: float) -> None:
    means, sames = [], []
    for seed in range(3):
        made = SynthSpec(120, seed=seed, family=(60,), family_values=values, near=0, exact=0)
        facts = truth(made)["family"].to_pylist()
        texts = generate(made)["text"].to_pylist()
        members = [text for text, of in zip(texts, facts, strict=True) if of is not None]
        pairs = list(combinations(members[:30], 2))
        means.append(np.mean([jaccard(one, two) for one, two in pairs]))
        slots = [i for i in range(220) if len({text.split()[i] for text in members}) > 1]
        sames += [
            sum(one.split()[i] == two.split()[i] for i in slots) + 20 - len(slots)
            for one, two in pairs
        ]
    assert abs(np.mean(means) - expected) < 0.04
    # 60 slots with 30 members each: the standard error is at most sqrt(.25 / 60 / 15) = 0.017.
    assert abs(np.mean(sames) / 20 - agree) < 0.06


@pytest.mark.parametrize("count", [100, 600, 20_000])
def test_vocabulary(count: int) -> None:
    words = make_words(count)
    assert len({word.lower() for word in words}) == len(words) == count
    assert words == make_words(20_000)[:count]
    assert not any(re.search(r"[\s\"\\\x00-\x1f]", word) for word in words)
    assert max(len(word.encode()) for word in words) <= 15


def test_hand_written_words_differ() -> None:
    assert len({word.lower() for word in COMMON}) == len(COMMON)
    assert len(set(HEADINGS)) == len(HEADINGS)
