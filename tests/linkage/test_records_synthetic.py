"""Citations of three databases, contacts and households as `neardup synth` makes them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_records import true_pairs

import neardup
from common import Command
from neardup.linkage.columns.presets import work_kind

pytestmark = pytest.mark.long

Pairs = set[tuple[str, str]]


def made(command: Command, output: Path, kind: str, records: int, seed: int) -> pa.Table:
    """Write a corpus, and return its truth."""
    asked = ("--kind", kind, "-n", records, "--seed", seed, "-o", output)
    assert command("synth", *asked, "--overwrite").code == 0
    return pq.read_table(output.with_suffix(".truth.parquet"))


def found_in(run: neardup.LinkRun) -> Pairs:
    ids: Any = zip(run.pairs["id_a"].to_pylist(), run.pairs["id_b"].to_pylist(), strict=True)
    return {(min(pair), max(pair)) for pair in ids}


def f1(run: neardup.LinkRun, truth: pa.Table) -> float:
    found, true = found_in(run), true_pairs(truth)
    return 2 * len(found & true) / (len(found) + len(true))


def files_of(output: Path) -> list[Path]:
    return [output, output.with_suffix(".bib"), output.with_suffix(".csv")]


@pytest.mark.parametrize(("size", "seed"), [(300, 4), (900, 0)])
def test_citations_of_three_databases(
    tmp_path: Path, command: Command, size: int, seed: int
) -> None:
    output = tmp_path / "refs.ris"
    truth = made(command, output, "citations", size, seed)
    link = ("link", *files_of(output), "--id", "id", "--map", "refs.csv:id=EID")
    done = command(*link, "--preset", "citations", "-o", tmp_path / "out")
    assert done.code == 0 and "from pages, Page start + Page end" in done.err
    run = neardup.open(tmp_path / "out")
    assert isinstance(run, neardup.LinkRun)
    assert f1(run, truth) >= 0.98
    assert {*run.clusters["id"].to_pylist()} == {*truth["id"].to_pylist()}
    # Errata and parts are works of their own, which the preset knows from titles.
    assert run.summary["spec"]["must_agree"] == ["kind"]
    records = pq.read_table(tmp_path / "out" / "records.parquet")
    titles: list[Any] = records["value_title"].to_pylist()
    kind = map(work_kind, titles)
    kinds = dict(zip(records["id"].to_pylist(), kind, strict=True))
    assert {*kinds.values()} == {"article", "erratum", "part 1", "part 2"}
    assert all(kinds[a] == kinds[b] for a, b in found_in(run))


def test_the_kind_of_a_work_is_overruled(tmp_path: Path, command: Command) -> None:
    output = tmp_path / "refs.ris"
    made(command, output, "citations", 300, 2)
    how: dict[str, Any] = {"id": "id", "map": "refs.csv:id=EID", "preset": "citations"}
    plain = neardup.link(*files_of(output), **how)
    other = neardup.link(*files_of(output), **how, fields="kind:exact")
    assert not other.summary["spec"]["must_agree"]
    assert other.pairs.num_rows > plain.pairs.num_rows
    more = neardup.link(*files_of(output), **how, must_agree="doi")
    assert [*more.summary["spec"]["must_agree"]] == ["doi", "kind"]
    assert {row["similarity_doi"] for row in more.pairs.to_pylist()} <= {1.0, None}


def test_marks_raise_a_hard_set_and_have_their_answers(tmp_path: Path, command: Command) -> None:
    """Contacts of companies, whose numbers and addresses change: many scores are too low."""
    output = tmp_path / "contacts.csv"
    truth = made(command, output, "contacts", 2000, 0)
    run = neardup.link(output, id="id", preset="persons")
    true = true_pairs(truth)
    rows = sorted(run.candidates.to_pylist(), key=lambda row: abs(row["score"] - 0.5))
    for some in (rows[:500], rows[:: len(rows) // 500]):
        pairs: list[Any] = [tuple(sorted((row["id_a"], row["id_b"]))) for row in some]
        # One of them is wrong, and stays as it is marked.
        labels = [(*pair, (pair in true) != (k == 0)) for k, pair in enumerate(pairs)]
        again = neardup.link(output, id="id", preset="persons", labels=labels)
        found = found_in(again)
        ids, clusters = (again.clusters[name].to_pylist() for name in ("id", "cluster"))
        of = dict(zip(ids, clusters, strict=True))
        for a, b, match in labels:
            assert ((a, b) in found) == match == (of[a] == of[b])
        assert f1(again, truth) > f1(run, truth)
    assert f1(run, truth) < 0.9
    # Marks of any candidates say something about others, too.
    assert len(found & true - {*pairs}) > len(found_in(run) & true - {*pairs})


def test_members_of_households_are_separated(tmp_path: Path, command: Command) -> None:
    output = tmp_path / "homes.csv"
    truth = made(command, output, "households", 1500, 0)
    role: dict[Any, Any] = dict(
        zip(truth["id"].to_pylist(), truth["role"].to_pylist(), strict=True)
    )
    wrong: list[Counter[tuple[str, ...]]] = []
    scores: list[float] = []
    agree: list[str] = []
    for _ in range(2):  # then with the options that the notes of the first one name
        run = neardup.link(output, id="id", preset="persons", must_agree=agree)
        pairs = found_in(run) - true_pairs(truth)
        wrong.append(Counter(tuple(sorted((role[a], role[b]))) for a, b in pairs))
        scores.append(f1(run, truth))
        agree = re.findall(r"`must_agree` with (\S+) separates", "\n".join(run.notes))
        assert scores[1:] or agree == ["given_name:0.45", "birth:0.45"]
    for two in (("child", "twin"), ("father", "son of one name")):
        # The others have no value in one of the fields.
        assert wrong[0][two] > 20 and wrong[0][two] > 4 * wrong[1][two]
    assert scores[1] > 0.9 > scores[0]
