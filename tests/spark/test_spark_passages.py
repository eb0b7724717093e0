"""Copied passages on Spark: the definition, and the tables of one machine."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle_passages import Oracle, expected_rows, planted
from spark_parts import NO_SPARK, rows_of

import neardup
from common import Command, write_lines
from neardup.errors import InputError

pytestmark = pytest.mark.skipif(bool(NO_SPARK), reason=NO_SPARK)

#: 500 take some minutes: SPARK_CORPORA=500 python -m pytest tests/spark -k passages
CORPORA = int(os.environ.get("SPARK_CORPORA") or 60)
#: Corpora of a job; no two of them have a word in common.
TOGETHER = 20


def frame(spark: Any, table: pa.Table, schema: str) -> Any:
    return spark.createDataFrame(list(zip(*table.to_pydict().values(), strict=True)), schema)


def settings_of(job: int) -> dict[str, Any]:
    """Each rule, kind of groups and so on with each other, in turn."""
    rng = random.Random(job)
    return {
        "words": rng.randrange(2, 13),
        "name_source": ("longest", "latest", "first")[job % 3],
        "boilerplate": rng.choice([0, 2, 3, 5]),
        "bridge": rng.choice([0, 1, 3, 10]),
        "groups": (None, "within", "across")[(job // 3) % 3],
        "old": bool((job // 2) % 2),
        "range": rng.choice([1, 20, 200, 5000]),
    }


@pytest.mark.parametrize("job", range(max(1, CORPORA // TOGETHER)))
def test_random_corpora(spark: Any, job: int) -> None:
    assert check_job(spark, job, range(job * TOGETHER, (job + 1) * TOGETHER)) > 0


def check_job(spark: Any, job: int, seeds: range) -> int:
    """Compare the tables of some corpora; return how many passages there were."""
    from neardup.spark import passages

    given = settings_of(job)
    groups, length, gap = given.pop("groups"), given["words"], given["bridge"]
    has_old, tokens = given.pop("old"), given.pop("range")
    columns: dict[bool, list[tuple[Any, ...]]] = {True: [], False: []}
    expected: list[list[Any]] = []
    for seed in seeds:
        rng = random.Random(seed)
        documents = [[f"{word}{seed}" for word in words] for words in planted(rng)]
        old = rng.randrange(1, len(documents)) if has_old and len(documents) > 1 else 0
        # Ids are those of old documents again; new ones are not in their order.
        names = [f"c{seed:04}d{i if i < old else i - old:02}" for i in range(len(documents))]
        ranks = [rng.choice([None, 1, 2, 3, 4, 5, 6]) for _ in documents]
        of = [rng.choice([None, "x", "y", "z"]) for _ in documents]
        order = [*range(old)]
        places = [99 if rank is None else -rank if groups else rank for rank in ranks]
        order += sorted(range(old, len(documents)), key=lambda i: (places[i], names[i]))
        for i, words in enumerate(documents):
            group = of[i] or rng.choice([None, ""])
            columns[i < old].append((names[i], " ".join(words), ranks[i], group))
        oracle = Oracle(
            [documents[i] for i in order],
            length,
            given["name_source"],
            [of[i] for i in order] if groups else None,
            groups == "across",
            given["boilerplate"],
            old,
        )
        of_oracle = expected_rows(oracle, [names[i] for i in order], old)
        if has_old and not old:
            of_oracle = [[*row, False, False] for row in of_oracle]
        expected += of_oracle
    kinds = {"id": pa.string(), "text": pa.string(), "rank": pa.int64(), "group": pa.string()}
    tables = {
        is_old: pa.table(
            [pa.array([row[k] for row in rows], kind) for k, kind in enumerate(kinds.values())],
            names=list(kinds),
        )
        for is_old, rows in columns.items()
    }
    asked = {**given, "order_by": "-rank" if groups else "rank"}
    asked |= {groups: "group"} if groups else {}
    one = neardup.passages(
        tables[False].sort_by("id"),
        against=tables[True] if has_old else None,
        id="id",
        progress=False,
        **asked,
    )
    schema = "id string, text string, rank bigint, group string"
    run = passages(
        frame(spark, tables[False], schema),
        against=frame(spark, tables[True], schema) if has_old else None,
        task_bytes=64 * tokens,
        **asked,
    )
    found = rows_of(run.passages)
    assert found == rows_of(one.passages)
    assert rows_of(run.documents) == rows_of(one.documents)
    if given["boilerplate"]:
        assert run.boilerplate is not None
        assert rows_of(run.boilerplate) == rows_of(one.boilerplate)
    assert set(run.summary["notes"]) == set(one.summary["notes"])
    counts = run.summary["counts"]
    assert counts == {name: one.summary["counts"][name] for name in counts}
    # And by the definition: a global number of joined ones is not in it.
    without = sorted((row[:-1] if gap else row for row in found), key=repr)
    assert without == sorted(map(tuple, expected), key=repr)
    return len(expected)


@pytest.mark.parametrize("order_by", ["length", "-length"])
def test_the_order_of_lengths(spark: Any, order_by: str) -> None:
    from neardup.spark import passages

    texts = ["a b c d", None, "a b c d e f", "x a b c d", "é é é a b c d", "a b c d e  f"]
    table = pa.table({"id": [f"d{i}" for i in range(6)], "text": texts})
    run = passages(frame(spark, table, "id string, text string"), words=4, order_by=order_by)
    one = neardup.passages(table, id="id", words=4, order_by=order_by, progress=False)
    assert rows_of(run.passages) == rows_of(one.passages)
    assert set(run.summary["notes"]) == set(one.summary["notes"])


def test_a_job_that_is_started_again_continues(spark: Any, tmp_path: Path) -> None:
    from neardup.errors import ResumeError
    from neardup.spark import passages

    # Ids that are numbers as text have their order.
    texts = [("10", "one two three four five"), ("9", "one two three four"), ("11", "")]
    df = spark.createDataFrame(texts, "id string, text string")
    run = passages(df, words=3, checkpoint=str(tmp_path))
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    again = passages(df, words=3, checkpoint=str(tmp_path))
    assert rows_of(again.passages) == rows_of(run.passages)
    assert rows_of(run.passages) == [("10", 0, 18, 4, "9", 0, 18, "9", 0, 2, "copy")]
    assert {path: path.stat().st_mtime_ns for path in stored} == stored
    with pytest.raises(ResumeError, match="other settings"):
        passages(df, words=4, checkpoint=str(tmp_path))


def test_nothing_to_find(spark: Any) -> None:
    from neardup.spark import passages

    kinds = "id bigint, text string"
    empty = passages(spark.createDataFrame([], kinds), boilerplate=2, bridge=1)
    assert empty.passages.count() == empty.documents.count() == 0
    assert empty.summary["notes"] == ["the input has no documents"]
    nulls = passages(spark.createDataFrame([(1, None), (2, "one two"), (3, "one two")], kinds))
    assert nulls.documents.orderBy("doc_id").collect()[1].asDict() == {
        "doc_id": 2,
        "words": 2,
        "copied_words": 0,
        "copied_share": 0.0,
        "source_id": None,
        "words_from_source": 0,
        "kept": True,
    }


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"text": "n"}, "ColumnError", "of type bigint; expected string"),
        ({"id": "other"}, "ColumnError", "`id` is 'other', and there is no such column"),
        ({"order_by": "date"}, "ColumnError", "`order_by` is 'date', and there is no such column"),
        ({"within": "list"}, "ColumnError", "'list' of type array<int> can't be ordered"),
        ({"within": "n", "across": "n"}, "SpecError", "exclude each other"),
        ({"words": 1}, "SpecError", "`words` is 1; expected 2"),
        ({"preset": "records"}, "SpecError", "preset is 'records'"),
        ({"cut": True}, "SpecError", "`cut` is not for Spark"),
        ({"threshold": 0.5}, "ArgumentError", "no argument 'threshold'"),
        ({"task_bytes": 0}, "SpecError", "`task_bytes`"),
        ({"id": "n"}, "DuplicateIdError", "two documents have the id '5'"),
        ({"id": "n", "private_ids": True}, "DuplicateIdError", "two documents have one id"),
        ({"against": "bigint"}, "ColumnError", "and of type bigint in `against`"),
    ],
)
def test_what_is_refused(spark: Any, given: dict[str, Any], error: str, message: str) -> None:
    from neardup import errors
    from neardup.spark import passages

    kinds = "id string, text string, n bigint, list array<int>"
    df = spark.createDataFrame([("a", "x", 5, [1]), ("b", "y", 5, [])], kinds)
    if "against" in given:
        given = {"against": spark.createDataFrame([(1, "x")], "id bigint, text string")}
    with pytest.raises(getattr(errors, error), match=message):
        passages(df, **given)


def test_the_command(spark: Any, tmp_path: Path, command: Command) -> None:
    """Its tables, its record, and options of other commands."""
    rows = [{"id": f"d{n}", "text": f"w{n} one two three four five", "g": n % 2} for n in range(5)]
    source, out = write_lines(tmp_path / "a.jsonl", rows), tmp_path / "out"
    asked = ("spark", source, "-o", out, "--id", "id")
    given = ("--words", 4, "--within", "g", "--boilerplate", 9)
    done = command(*asked, "--passages", *given, "--single-file")
    assert done.code == 0, done.err
    assert "4 words that occur earlier" in done.err
    one = neardup.passages(source, id="id", words=4, within="g", boilerplate=9, progress=False)
    for name in ("passages", "documents", "boilerplate"):
        assert rows_of(pq.read_table(out / f"{name}.parquet")) == rows_of(getattr(one, name))
    record = json.loads((out / "run.json").read_text())
    assert (record["command"], record["engine"]) == ("passages", "spark") and record["counts"][
        "passages"
    ] == 3
    opened = neardup.open(out)
    for name in ("passages", "documents"):
        assert getattr(opened, name).to_pylist() == getattr(one, name).to_pylist()
    assert opened.boilerplate.num_rows == one.boilerplate.num_rows and len(opened) == len(one)
    assert opened.explain("d2") == one.explain("d2")
    with pytest.raises(InputError, match="its input was read by Apache Spark"):
        opened.explain("d2", texts=True)
    assert "text" in opened.boilerplate.column_names
    refused = command("recluster", out, "-o", tmp_path / "more")
    assert "recluster does not work on it" in refused.err
    refused = command(*asked, "--passages", "--threshold", 0.5)
    assert refused.error == "error: --threshold does not apply to --passages"
    refused = command(*asked, *given)
    assert refused.error == "error: --words is for copied passages"
    refused = command(*asked, "--no-text")
    assert refused.error == "error: --no-text is for copied passages"
