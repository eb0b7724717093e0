"""What is estimated next to what comes true; warnings of texts and settings that do not fit."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from bench.notes import SynthSpec, write
from common import Tune, core
from neardup import plan
from neardup.api.running import DedupRequest
from neardup.errors import ColumnError, SpecError
from neardup.forecast import looking
from neardup.forecast import plan as module
from neardup.forecast.advice import one_word_changed
from neardup.forecast.plan import Plan
from neardup.options.option_groups import Reading
from neardup.spec import ShingleSpec, Spec, preset
from neardup.values.readable import percent
from neardup.views.text.plan_text import render

SEED = 11


class Both:
    """A plan of a corpus, and the record of its run."""

    def __init__(self, folder: Path, documents: int, spec: Spec) -> None:
        self.source = folder / "notes.jsonl"
        write(SynthSpec(documents=documents, words=(10, 80), seed=SEED), self.source)
        self.plan = plan(self.source, id="id", spec=spec)
        made = neardup.dedup(self.source, id="id", spec=spec, out=folder / "out")
        self.record = made.summary
        files = (path for path in (folder / "out").rglob("*") if path.is_file())
        self.output = sum(path.stat().st_size for path in files)


@pytest.fixture(scope="module")
def small(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """All of it is looked at."""
    return Both(tmp_path_factory.mktemp("small"), 3000, preset("clinical"))


@pytest.fixture(scope="module")
def large(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """A part of it is looked at."""
    return Both(tmp_path_factory.mktemp("large"), 60_000, Spec())


def test_all_of_it_is_looked_at(small: Both) -> None:
    """Then what is estimated is what comes true."""
    found, counts = small.plan, small.record["counts"]
    assert (found.sample, found.exact, found.sampled) == ("all", True, 3000)
    assert found.documents == counts["documents"]
    assert found.text == pytest.approx(small.record["bytes"]["text"], rel=0.1)
    assert found.empty == counts["empty"] / 3000 and found.short == counts["short"] / 3000
    filled = 3000 - counts["empty"]
    assert found.equal_tokens.share == pytest.approx(counts["equal_tokens"] / filled)
    different = filled - counts["equal_tokens"]
    near = counts["removed"] - counts["equal_tokens"]
    assert set(found.near_duplicates) == {near / different} != {0}
    assert found.compared.share == counts["compared_documents"] / different


def test_some_documents_are_compared(large: Both) -> None:
    """All are read: exact copies are counted."""
    found, counts = large.plan, large.record["counts"]
    assert (found.sample, found.exact, found.read) == ("all", True, 1)
    assert 20_000 < found.sampled <= 40_000
    assert found.documents == counts["documents"]
    assert found.text == pytest.approx(large.record["bytes"]["text"], rel=0.1)
    filled = counts["documents"] - counts["empty"]
    equal = found.equal_tokens
    assert equal.low == equal.high == pytest.approx(counts["equal_tokens"] / filled)
    near = (counts["removed"] - counts["equal_tokens"]) / (filled - counts["equal_tokens"])
    assert found.near_duplicates.low < near < found.near_duplicates.high < 1.5 * near


@pytest.mark.parametrize("size", ["small", "large"])
def test_bands_disk_and_time(size: str, request: pytest.FixtureRequest) -> None:
    both = request.getfixturevalue(size)
    found, record = both.plan, both.record
    bands = record["bands"]
    assert (found.num_bands, found.rows) == (bands["num_bands"], bands["rows"])
    assert found.predicted_recall == pytest.approx(bands["predicted_recall"])
    assert both.output / 1.5 < found.disk_output < both.output * 1.5
    if size == "large":  # a small one has pages and blocks of no use
        assert record["disk"] / 2 < found.disk < record["disk"] * 2
    assert found.memory_minimum < found.memory_wanted and found.threads >= 1


def test_as_a_run_that_is_given_the_same(large: Both) -> None:
    """A job has the partitions of the run; settings that can't be are refused."""
    job = DedupRequest(large.source, Reading(id="id")).job()
    found = module.plan(job)
    assert found.documents == pytest.approx(large.plan.documents, rel=0.02)
    assert (found.num_bands, found.rows) == (large.plan.num_bands, large.plan.rows)
    for options, error, says in (
        ({"threads": 0}, SpecError, "`threads` is 0"),
        ({"memory": "x"}, SpecError, "is not a size"),
        ({"text": "body"}, ColumnError, "body"),
        ({"input_format": "pdf"}, SpecError, "input_format"),
    ):
        with pytest.raises(error, match=says):
            plan(large.source, **options)
    (large.source.parent / "empty.jsonl").touch()
    assert plan(large.source.parent / "empty.jsonl").documents == 0


def test_values_for_programs(small: Both) -> None:
    values = small.plan.as_dict()
    assert json.loads(json.dumps(values)) == json.loads(json.dumps(values, default=str))
    assert set(values["equal_tokens"]) == {"share", "low", "high"}
    assert "documents   3,000" in render(small.plan)


def test_parts_are_read_from_everywhere(kernels: None, tmp_path: Path, tune: Tune) -> None:
    """Texts get longer from the first to the last; a part of them says how long all are."""
    for number in (1, 2, 5, 17, 100):
        assert list(looking._everywhere(number, lambda: True)) == list(range(number))
        assert sorted(looking._everywhere(number, lambda: False)) == list(range(number))
    order = list(looking._everywhere(100, lambda: False))
    assert sorted(order) == list(range(100)) and order[:7] == sorted(order[:7])
    assert min(order[:7]) < 30 and max(order[:7]) > 70
    tune(looked_seconds=100.0, looked_documents=8000, partition_bytes=1 << 16)
    lines = [json.dumps({"text": "x " * (20 + k // 20)}) + "\n" for k in range(20_000)]
    (tmp_path / "longer.jsonl").write_text("".join(lines))
    found = plan(tmp_path / "longer.jsonl", shingle="word:1")
    assert found.sample == "spread" and not found.exact and found.read < 0.6
    assert found.documents == pytest.approx(20_000, rel=0.3)
    assert found.tokens["low"] < 300 and found.tokens["high"] > 800
    assert "of the input, parts from all over it" in render(found)


WORDS = [f"word{i}" for i in range(5000)]
RANDOM = np.random.default_rng(SEED)


def changed(text: str) -> str:
    """Return a near-duplicate."""
    words = text.split()
    words[int(RANDOM.integers(len(words)))] = "changed"
    return " ".join(words)


def families(count: int) -> list[str]:
    """Texts of which many have copies, of which some are changed, and a few have very many."""
    texts: list[str] = []
    for number, text in enumerate(notes(count, 40)):
        copies = [text] * int(RANDOM.integers(1, 4))
        copies += [changed(text) for _ in range(int(RANDOM.integers(0, 3)))]
        copies += [changed(text) for _ in range(200 * (number % 500 == 0))]
        texts += copies
    return texts


def crawls(count: int) -> list[str]:
    first = notes(count, 40)
    again = [text if k % 2 else changed(text) for k, text in enumerate(first)]
    return [*first, *notes(count, 40, 1), *again]


def growing(count: int) -> list[str]:
    texts: list[str] = []
    for number, text in enumerate(notes(count, 40)):
        earlier = texts[int(RANDOM.integers(number))] if number else text
        copied = RANDOM.random() < 0.9 * number / count
        texts.append(changed(earlier) if copied and number % 2 else earlier if copied else text)
    return texts


CORPORA: dict[str, Callable[[int], list[str]]] = {
    "shuffled": lambda count: RANDOM.permutation(families(count // 3)).tolist(),
    "sorted": lambda count: sorted(families(count // 3)),
    "crawls": lambda count: crawls(count // 3),
    "growing": growing,
    "all alike": lambda count: [changed(notes(1, 60)[0]) for _ in range(count)],
}


@pytest.mark.parametrize("part", ["all", "a part", "the beginning"])
@pytest.mark.parametrize("corpus", core(CORPORA, "sorted"))
def test_the_truth_is_within_the_range(
    corpus: str, part: str, kernels: None, tmp_path: Path, tune: Tune
) -> None:
    """Wherever copies are; of a beginning, the range is that of the beginning."""
    lines = "".join(json.dumps({"text": text}) + "\n" for text in CORPORA[corpus](6000))
    path = tmp_path / ("a.jsonl.gz" if part == "the beginning" else "a.jsonl")
    path.write_bytes(gzip.compress(lines.encode()) if part == "the beginning" else lines.encode())
    tune(sampled_documents=1000, sampled_text=1 << 20, looked_seconds=100.0)
    if part != "all":
        tune(looked_documents=2000, partition_bytes=1 << 15, small_source=1000)
    found = plan(path)
    assert found.sample == {"all": "all", "a part": "spread", "the beginning": "head"}[part]
    if part == "the beginning":
        said = render(found)
        assert said.count(f"in the first {percent(found.read)} of the input only") == 3
        rows = lines.splitlines()[: round(found.read * found.documents)]
        path.write_bytes(gzip.compress("\n".join(rows).encode()))
    counts = neardup.dedup(path).summary["counts"]
    filled = counts["documents"] - counts["empty"]
    different = filled - counts["equal_tokens"]
    for share, of, number in (
        (found.equal_tokens, counts["equal_tokens"], filled),
        (found.near_duplicates, counts["removed"] - counts["equal_tokens"], different),
        (found.compared, counts["compared_documents"], different),
    ):
        slack = 0.01 if part == "the beginning" else 1e-9  # the size tells how many were read
        assert share.low - slack <= of / number <= share.high + slack
    if part == "all":
        equal = found.equal_tokens
        assert equal.low == equal.high == pytest.approx(counts["equal_tokens"] / filled)


def notes(count: int, words: int, seed: int = SEED) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, words)) for _ in range(count)]


def repeated(texts: list[str], copies: int) -> list[str]:
    """Near-duplicates: each with a word more."""
    return [f"{text} more{k}" for text in texts for k in range(copies)]


def family(count: int, slots: int) -> list[str]:
    template = notes(1, 60)[0].split()
    return [" ".join([*template, *(f"s{i}x{k}" for k in range(slots))]) for i in range(count)]


# Kind of the warning: texts, spec, words that it must hold, and its number.
WARNED: dict[str, tuple[list[str], Spec, list[str], float | None]] = {
    "short": ([*repeated(notes(60, 50), 2), *notes(40, 2)], Spec(), ["25 %", "5 words"], 0.25),
    "long shingle": (
        repeated(notes(60, 16), 2),
        Spec(shingle=ShingleSpec(n=8)),
        ["17 words", "shingle='word:2'", "below the threshold of 0.7"],
        None,
    ),
    "dense": (family(80, 3), Spec(), ["raise the `threshold`", "longer shingles"], 0.8),
}


@pytest.mark.parametrize("kind", WARNED)
def test_warnings(kind: str, kernels: None) -> None:
    texts, spec, words, share = WARNED[kind]
    found = plan(texts, spec=spec)
    warnings = {warning.kind: warning for warning in found.warnings}
    assert kind in warnings, warnings
    said = " ".join(render(found).split())
    for word in words:
        assert word in warnings[kind].text and word in said
    if share is not None:
        assert warnings[kind].value == pytest.approx(share, rel=0.15)


def test_no_warning_and_a_shingle_that_fits(kernels: None) -> None:
    assert plan(repeated(notes(300, 60), 2)).warnings == ()
    texts = repeated(notes(60, 40), 2)
    (warning,) = plan(texts, spec=Spec(shingle=ShingleSpec(n=8))).warnings
    assert warning.kind == "long shingle" and warning.value == one_word_changed(41, 8)
    fits = int(warning.text.rpartition("word:")[2].partition("'")[0])
    assert one_word_changed(41, fits) >= 0.7 > one_word_changed(41, fits + 1)
    assert plan(texts, spec=Spec(shingle=ShingleSpec(n=fits))).warnings == ()


@pytest.mark.long
def test_only_the_beginning_can_be_looked_at(kernels: None, tmp_path: Path, tune: Tune) -> None:
    texts = notes(1500, 60)
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(lines))
    tune(small_source=1000, looked_documents=100, sampled_documents=100, partition_bytes=1 << 16)
    found = plan(path)
    assert found.sample == "head" and not found.exact and 0 < found.read < 1
    assert "of the input, from its beginning" in render(found)


def test_many_compressed_files_are_read_in_an_order_by_chance(
    kernels: None, tmp_path: Path, tune: Tune
) -> None:
    """Some of them, each from its beginning; all of them as a run reads them."""
    texts = repeated(notes(400, 40), 2)
    for number in range(40):
        lines = (json.dumps({"text": text}) + "\n" for text in texts[20 * number :][:20])
        (tmp_path / f"{number:02}.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    tune(small_source=1000, looked_seconds=100.0)
    found = plan(tmp_path)
    assert (found.sample, found.sampled, found.near_duplicates.low) == ("all", 800, 0.5)
    tune(looked_documents=400, sampled_documents=100)
    found = plan(tmp_path)
    assert found.sample == "spread" and 0.3 < found.read < 0.7
    assert found.near_duplicates.low <= 0.5 <= found.near_duplicates.high


def test_sources_of_all_kinds(kernels: None, tmp_path: Path) -> None:
    texts = repeated(notes(200, 40), 2)
    table = pa.table({"text": texts, "note": [f"n{i}" for i in range(400)]})
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text(
        "note,text\n" + "".join(f"{i},{t}\n" for i, t in enumerate(texts))
    )
    folder = tmp_path / "texts"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number:03}.txt").write_text(text)
    sources: list[Any] = [table, texts, iter(texts), table.to_pandas(), folder]
    sources += [tmp_path / name for name in ("a.parquet", "a.csv")]
    measured = ("text", "memory", "memory_minimum", "memory_wanted")
    measured += ("disk", "disk_output")
    expected: dict[str, Any] = {}
    for source in sources:
        found = plan(source)
        assert isinstance(found, Plan)
        values = {k: v for k, v in found.as_dict().items() if k not in measured}
        expected = expected or values
        assert values == expected
    assert expected["documents"] == 400 and expected["near_duplicates"]["share"] == 0.5
    # A column that decides what is kept is read too.
    assert plan(table, spec=Spec(keep="max:note")).documents == 400
    with pytest.raises(ColumnError, match="nothing"):
        plan(table, spec=Spec(keep="max:nothing"))


def test_what_would_take_long_is_not_tried(kernels: None, tune: Tune) -> None:
    """Documents that all share buckets are compared as long as that takes little."""
    tune(compared_documents=300)
    texts = family(1500, 40)
    spec = Spec(shingle=ShingleSpec(unit="char", n=2), threshold=0.9, num_bands=20, rows=2)
    everything = plan(texts, spec=spec)
    assert (everything.sampled, everything.sample) == (1500, "all")
    tune(compared_shingles=0)
    found = plan(texts, spec=spec)
    assert 300 <= found.sampled <= 600 and (found.documents, found.exact) == (1500, True)
    assert found.compared.share == everything.compared.share == 1
    for one in (everything, found):
        (dense,) = [warning for warning in one.warnings if warning.kind == "dense"]
        assert "words as shingles" in dense.text and dense.value > 0.5
    assert " to " in render(found) and "chosen by their content" in render(found)


def test_long_texts_and_shingles_of_three_characters(kernels: None, tune: Tune) -> None:
    """Unrelated notes of 2 kB share many sequences of three letters: it says so, and ends."""
    tune(compared_documents=300, compared_shingles=10**8)
    random = np.random.default_rng(SEED)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, 5)) for _ in range(400)]
    texts = [" ".join(random.choice(words, 350)) for _ in range(800)]
    found = plan(texts, spec=preset("records").replace(num_bands=17, rows=2))
    assert 300 <= found.sampled <= 600 and found.compared.share > 0.99
    assert "dense" in {warning.kind for warning in found.warnings}
    assert "dense" not in {warning.kind for warning in plan(texts).warnings}


def test_settings_by_name(kernels: None) -> None:
    texts = repeated(notes(30, 40), 2)
    by_name = plan(texts, preset="clinical", threshold=0.8, recall=0.9, shingle="word:4")
    spec = preset("clinical").replace(threshold=0.8, recall=0.9, shingle="word:4")
    in_one = plan(texts, spec=spec)
    assert (by_name.num_bands, by_name.rows) == (in_one.num_bands, in_one.rows)
    assert by_name.near_duplicates == in_one.near_duplicates
    with pytest.raises(SpecError, match="no preset 'none'"):
        plan(texts, preset="none")


def test_all_pairs_have_no_bands(kernels: None) -> None:
    found = plan(notes(100, 30), spec=Spec(method="allpairs"))
    assert (found.num_bands, found.predicted_recall) == (0, 1)
    assert "an exact join of all pairs" in render(found)
    # Pairs that are listed need more memory than the sample does.
    low = plan(notes(100, 30), spec=Spec(cluster="components"), memory="400MB")
    assert low.memory == 400_000_000 < low.memory_minimum and "refused" in render(low)
