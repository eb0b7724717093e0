"""What is foreseen beside what comes true; what is said of texts and options that do not fit."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup
from common import write_lines
from neardup.core.shingle import shingle_sets
from neardup.errors import FormatError
from neardup.report.plan import render
from neardup.run import planning, sampling
from neardup.run.advice import one_word_changed
from neardup.run.planning import THOROUGH
from neardup.run.storage import Storage
from neardup.spec import ShingleSpec, Spec
from neardup.synth import SynthSpec, write

SEED = 11
FACTOR = 1.5


class Both:
    """A plan of a corpus, and the record of its run."""

    def __init__(self, folder: Path, source: Path, spec: Spec) -> None:
        self.source = source
        self.plan = neardup.plan(source, id="id", spec=spec)
        self.record = neardup.dedup_files(source, folder / "out", id="id", spec=spec)
        outputs = [f.stat().st_size for f in (folder / "out").iterdir() if f.suffix == ".parquet"]
        self.outputs = sum(outputs)

    @property
    def predictions(self) -> Iterator[dict[str, Any]]:
        yield self.plan["predicted"]
        yield self.record["predicted"]


@pytest.fixture(scope="module")
def small(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """All of it is looked at."""
    folder = tmp_path_factory.mktemp("small")
    write(SynthSpec(documents=3000, words=(20, 120), seed=SEED), folder / "notes.jsonl")
    return Both(folder, folder / "notes.jsonl", neardup.preset("clinical"))


@pytest.fixture(scope="module")
def large(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """A part of it is looked at: 24 MB, some 90,000 notes."""
    folder = tmp_path_factory.mktemp("large")
    write(SynthSpec(documents=90_000, words=(10, 80), seed=SEED), folder / "notes.jsonl")
    return Both(folder, folder / "notes.jsonl", Spec(second_round=True))


def within(predicted: float, actual: float) -> bool:
    return actual / FACTOR <= predicted <= actual * FACTOR


def test_all_of_it_is_looked_at(small: Both) -> None:
    """Then what is foreseen is what comes true."""
    counts = small.record["counts"]
    for predicted in small.predictions:
        for name in ("documents", "exact_duplicates", "candidates", "sets"):
            assert predicted[name] == counts[name], name
        assert predicted["kept"] == pytest.approx(counts["kept"], rel=0.02)
        assert predicted["sample"]["of"] == "all"
    assert small.plan["candidates"]["by_band"] == small.record["candidates_by_band"]
    assert small.plan["short"] == counts["short"] and small.plan["empty"] == counts["empty"]
    assert small.plan["lengths"]["tokens"]["mean"] * 3000 == pytest.approx(counts["tokens"])
    assert small.plan["lengths"]["shingles"]["mean"] * 3000 == pytest.approx(counts["shingles"])


def test_a_part_of_it_is_looked_at(large: Both) -> None:
    counts = large.record["counts"]
    for predicted in large.predictions:
        sample = predicted["sample"]
        assert sample["of"] == "everywhere" and sample["documents"] < counts["documents"] / 2
        for name in ("documents", "candidates", "kept"):
            assert within(predicted[name], counts[name]), name
    low, high = large.plan["documents_between"]
    assert low <= counts["documents"] <= high
    equal = large.plan["exact_duplicates"]
    assert equal["low"] <= counts["exact_duplicates"] <= equal["high"]
    for found, band in zip(
        large.plan["candidates"]["by_band"], large.record["candidates_by_band"], strict=True
    ):
        assert within(found, band) or abs(found - band) < 0.1 * counts["candidates"]


@pytest.mark.parametrize("size", ["small", "large"])
def test_bands_store_stages_and_disk(size: str, request: pytest.FixtureRequest) -> None:
    both = request.getfixturevalue(size)
    plan, record = both.plan, both.record
    bands = record["bands"]
    assert (plan["num_bands"], plan["rows"]) == (bands["num_bands"], bands["rows"])
    assert plan["predicted_recall"] == pytest.approx(bands["predicted_recall"])
    assert plan["store"] == record["store"]["store"]
    most = record["disk"] + both.outputs
    for predicted in both.predictions:
        assert set(predicted["seconds"]) == set(record["seconds"]) | {"kernels"}
        assert max(record["disk"], both.outputs) / FACTOR <= predicted["disk"] <= FACTOR * most
        assert predicted["recall_low"] <= predicted["recall"] <= predicted["recall_high"]
    assert plan["rates"]["measured"]


def test_store_that_auto_takes(small: Both, tmp_path: Path) -> None:
    """Little memory: less than everything would need."""
    source = tmp_path / "notes.jsonl"
    write(SynthSpec(documents=3000, words=(20, 120), seed=SEED), source)
    between = Storage(memory=(small.plan["least"] + small.plan["needed"]) // 2)
    assert neardup.plan(source, storage=between)["store"] == "sqlite"
    record = neardup.dedup_files(source, tmp_path / "out", storage=between)
    assert record["store"]["store"] == "sqlite"


def test_similarities_of_all_pairs(kernels: None) -> None:
    """By hand, for each pair of 300 different texts."""
    random = np.random.default_rng(SEED)
    base = [f"w{i}" for i in range(60)]
    texts = []
    for i in range(300):
        words = [*base[: int(random.integers(5, 60))], *(f"x{i}y{j}" for j in range(10))]
        texts.append(" ".join(words))
    sets = shingle_sets(texts, ShingleSpec())
    ends = sets.offsets
    values = [set(sets.values[a:b].tolist()) for a, b in itertools.pairwise(ends.tolist())]
    expected = np.zeros(20)
    for a, b in itertools.combinations(values, 2):
        expected[min(19, 20 * len(a & b) // len(a | b))] += 1
    found = neardup.plan(texts)["similarities"]
    assert found["queries"] == found["against"] == 300
    assert found["pairs"] == pytest.approx(expected.tolist())


WORDS = [f"word{i}" for i in range(5000)]


def notes(count: int, words: int, seed: int = SEED) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, words)) for _ in range(count)]


def repeated(texts: list[str], copies: int) -> list[str]:
    """Each near-repeated: with a word more."""
    return [f"{text} more{k}" for text in texts for k in range(copies)]


def family(count: int, slots: int) -> list[str]:
    template = notes(1, 60)[0].split()
    return [" ".join([*template, *(f"s{i}x{k}" for k in range(slots))]) for i in range(count)]


# Kind of the warning, texts, spec, words that the text must hold, and a number of it.
WARNED: dict[str, tuple[list[str], Spec, list[str], float | None]] = {
    "empty": ([*repeated(notes(60, 50), 2), *[" ... "] * 40], Spec(), ["25 %", "empty"], 0.25),
    "short": ([*repeated(notes(60, 50), 2), *notes(40, 2)], Spec(), ["25 %", "5 words"], 0.25),
    "equal": (3 * repeated(notes(40, 50), 2), Spec(), ["67 %", "exactly"], 2 / 3),
    "template": ([*notes(270, 60), *family(30, 60)], Spec(), ["10 %", "share a template"], 0.1),
    "long shingle": (
        repeated(notes(60, 16), 2),
        Spec(shingle=ShingleSpec(n=8)),
        ["17 words", "--shingle word:2", "below the edge threshold of 0.7"],
        None,
    ),
    "nearly all": (family(80, 3), Spec(), ["100 %", "threshold of 0.7", "higher"], 1.0),
    "nearly nothing": (notes(1500, 40), Spec(), ["threshold of 0.7"], None),
    "without blanks": (
        repeated(
            ["".join(chr(0x4E00 + (i * 7 + k * k) % 3000) for k in range(60)) for i in range(60)], 2
        ),
        Spec(),
        ["without blanks", "5 characters"],
        None,
    ),
}


@pytest.mark.parametrize("kind", WARNED)
def test_warnings(kind: str, kernels: None) -> None:
    texts, spec, words, share = WARNED[kind]
    plan = neardup.plan(texts, spec=spec)
    found = {warning["kind"]: warning for warning in plan["warnings"]}
    assert kind in found, found
    said = " ".join(render(plan).split())
    for word in words:
        assert word in found[kind]["text"] and word in said
    if share is not None:
        assert found[kind]["share"] == pytest.approx(share, rel=0.15)


def test_no_warning(kernels: None) -> None:
    assert neardup.plan(repeated(notes(300, 60), 2))["warnings"] == []


def test_a_shingle_that_fits_is_named(kernels: None) -> None:
    """With it the same texts are no longer warned of."""
    texts = repeated(notes(60, 40), 2)
    (warning,) = neardup.plan(texts, spec=Spec(shingle=ShingleSpec(n=8)))["warnings"]
    assert warning["kind"] == "long shingle" and warning["n"] < 8
    assert one_word_changed(41, warning["n"]) >= 0.7 > one_word_changed(41, warning["n"] + 1)
    fits = Spec(shingle=ShingleSpec(n=warning["n"]))
    assert neardup.plan(texts, spec=fits)["warnings"] == []


def test_only_the_begin_can_be_looked_at(kernels: None, tmp_path: Path) -> None:
    texts = notes(1500, 60)
    plan = neardup.plan(iter(texts), storage=Storage(part_bytes=1 << 16))
    assert "begin only" in [warning["kind"] for warning in plan["warnings"]]
    assert render(plan).startswith("documents   at least ")
    path = tmp_path / "one.txt.gz"
    with gzip.open(path, "wt") as file:
        file.write(texts[0])
    assert "begin only" not in [w["kind"] for w in neardup.plan(path)["warnings"]]


def test_very_long_texts_are_cut(kernels: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of them stands for all of them."""
    monkeypatch.setattr(sampling, "_LONGEST", 2000)
    long, other = notes(2, 5000)
    plan = neardup.plan([long, "short text", long, other])
    assert plan["exact_duplicates"]["expected"] == 1
    assert plan["lengths"]["bytes"]["longest"] == pytest.approx(len(other), rel=0.01)
    assert plan["lengths"]["tokens"]["longest"] == pytest.approx(5000, rel=0.05)
    text, stretch = sampling.shortened(sampling.pa.array(["é" * 3000, "x"], "large_string"))
    assert text.to_pylist() == ["é" * 2000, "x"] and stretch.tolist() == [1.5, 1.0]


def test_time_that_does_not_suffice(large: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some blocks from everywhere are a sample too."""
    hasty = replace(THOROUGH, seconds=0.0)
    monkeypatch.setattr("neardup.run.survey.THOROUGH", hasty)
    plan = neardup.plan(large.source)
    assert plan["sample"]["documents"] < large.plan["sample"]["documents"] / 2
    assert not plan["documents_exact"] and within(plan["documents"], 90_000)


def test_families_of_which_a_sample_holds_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That two of them meet there does not mean that everything meets something."""
    random = np.random.default_rng(SEED)

    def words(count: int) -> str:
        return " ".join(f"{word:x}" for word in random.integers(0, 1 << 40, count))

    texts = [words(90) for _ in range(18_000)]
    for _ in range(100):
        template = words(30)
        texts += [f"{template} {words(60)}" for _ in range(60)]
    rows = [{"id": i, "text": texts[i]} for i in random.permutation(len(texts)).tolist()]
    source = write_lines(tmp_path / "notes.jsonl", rows)
    spec = Spec(num_bands=10, rows=3)
    monkeypatch.setattr(
        "neardup.run.survey.THOROUGH", replace(THOROUGH, documents=1500, text=2 << 20)
    )
    plan = neardup.plan(source, id="id", spec=spec)
    record = neardup.dedup_files(source, tmp_path / "out", id="id", spec=spec)
    assert plan["sample"]["documents"] < 3000
    actual = record["counts"]["sets"]
    assert actual / 3 <= plan["predicted"]["sets"] <= 3 * actual


@pytest.mark.parametrize("error", [IndexError("list index"), FormatError("a block is damaged")])
def test_a_run_that_can_not_be_foreseen(
    error: Exception, kernels: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It runs all the same, and an error of ours is not hidden."""

    def fail(*_: Any) -> None:
        raise error

    (tmp_path / "a.jsonl").write_text('{"text": "one two three four five six"}\n' * 3)
    monkeypatch.setattr(planning, "foresee", fail)
    if isinstance(error, IndexError):
        with pytest.warns(RuntimeWarning, match="could not be foreseen: IndexError"):
            record = neardup.dedup_files(tmp_path / "a.jsonl", tmp_path / "out")
    else:
        record = neardup.dedup_files(tmp_path / "a.jsonl", tmp_path / "out")
    assert record["predicted"] is None and record["counts"]["kept"] == 1
