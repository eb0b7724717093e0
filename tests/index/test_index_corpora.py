"""A new batch against an old corpus, and test items in a training corpus."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from common import Command, some_rows, write_lines
from neardup.errors import InputNotFoundError, OutputError, SpecError


def batches(count: int = 60) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """An old corpus and a new batch, of which many nearly repeat something of both."""
    rows = some_rows(count)
    random.Random(1).shuffle(rows)
    return rows[: count // 2], rows[count // 2 :]


@pytest.mark.parametrize("kind", ["index", "folder", "run", "out"])
def test_a_batch_against_an_old_corpus_is_the_end_of_both(kind: str, tmp_path: Path) -> None:
    old, new = batches()
    run = neardup.dedup(
        write_lines(tmp_path / "old.jsonl", old), id="id", out=tmp_path / "out", threshold=0.8
    )
    against: Any = {"run": run, "out": tmp_path / "out"}.get(kind)
    if against is None:
        against = neardup.Index.from_run(run, tmp_path / "index")
        if kind == "folder":
            against.close()
            against = tmp_path / "index"
    # What one run over both finds, with the same bands.
    recipe = run.summary["recipe"]
    spec = neardup.Spec(threshold=0.8, num_bands=recipe["num_bands"], rows=recipe["rows"])
    both = neardup.dedup(pa.Table.from_pylist(old + new), id="id", spec=spec)
    expected = both.clusters.select(["doc_id", "kept", "duplicate_of", "similarity"])
    found = neardup.against(pa.Table.from_pylist(new), against, id="id")
    columns = found.clusters.select(["doc_id", "kept", "duplicate_of", "similarity"])
    assert columns.to_pylist() == expected.slice(len(old)).to_pylist()
    names = {row["id"] for row in old}
    own = [row["id"] for row in new]
    for row in found.clusters.to_pylist():
        assert row["in_old"] == (row["duplicate_of"] in names)
        first = (
            row["doc"]
            if row["kept"]
            else own.index(row["duplicate_of"] or 0)
            if not row["in_old"]
            else None
        )
        assert row["cluster"] == first
    assert found.summary["counts"]["kept"] == found.keep_mask.sum() > 0
    clean: Any = found.clean()
    assert clean.column("id").to_pylist() == found.kept.tolist()
    assert found.duplicates.num_rows == found.summary["counts"]["removed"] > 0


def test_what_a_batch_against_an_index_writes(command: Command, tmp_path: Path) -> None:
    old, new = batches()
    index = neardup.Index.create(tmp_path / "i", threshold=0.8)
    index.add_if_new(pa.Table.from_pylist(old), id="id")
    there = len(index)
    index.close()
    source = write_lines(tmp_path / "new.jsonl", new)
    args = ["dedup", source, "--against", tmp_path / "i", "-o", tmp_path / "out", "--id", "id"]
    answer = command(*args)
    assert answer.code == 0 and "similar to the old corpus" in answer.err
    table = pq.read_table(tmp_path / "out" / "clusters.parquet")
    kept = set(table.filter(table.column("kept")).column("doc_id").to_pylist())
    (clean,) = (tmp_path / "out" / "clean").iterdir()
    lines = source.read_text().splitlines(keepends=True)
    assert clean.read_text() == "".join(x for x in lines if json.loads(x)["id"] in kept)
    assert 0 < len(kept) < len(new)
    assert "exists" in command(*args).error
    assert command(*args, "--overwrite", "--format", "parquet").code == 0
    (clean,) = (tmp_path / "out" / "clean").iterdir()
    assert set(pq.read_table(clean).column("id").to_pylist()) == kept
    assert len(neardup.Index.open(tmp_path / "i")) == there  # it was only read
    for more in (["--threshold", "0.9"], ["--keep", "longest"], ["--no-clean"]):
        answer = command(*args, *more)
        assert answer.code == 2 and "does not go with" in answer.error
    assert "neither an index nor" in command(*args[:3], tmp_path, *args[4:], "--overwrite").error
    with pytest.raises(InputNotFoundError):
        neardup.against(source, tmp_path / "none")


def test_what_does_not_apply_to_a_batch_is_refused(tmp_path: Path) -> None:
    old = neardup.dedup(["one two three four five six"])
    wrong: dict[str, Any] = {
        "threshold": 0.7,  # although it is that of the old corpus
        "preset": "clinical",
        "spec": neardup.Spec(),
        "keep": "longest",
        "order_by": "a",
    }
    for name, value in wrong.items():
        with pytest.raises(SpecError, match=f"`{name}` does not apply: the settings are those"):
            neardup.against(["a"], old, **{name: value})
    assert len(neardup.against(["a"], old, progress=False)) == 1
    with pytest.raises(SpecError, match="`old` is of type int"):
        neardup.against(["a"], 3)  # type: ignore[arg-type]
    found = neardup.against(["a", "a", "One two three four five six"], old)
    assert repr(found) == "<AgainstRun: 3 documents, 1 kept, 1 similar to the old corpus, 1 within>"
    assert found.labels.tolist() == [0, 0, -1]
    with pytest.raises(neardup.InputError, match="a duplicate of one of the old corpus") as caught:
        found.cluster(2)
    assert "`duplicate_of`" in caught.value.hint
    assert "in no cluster of the batch" in str(found.explain(2))
    nothing = neardup.against({"t": ["One two three four five six"]}, old, text="t")
    assert nothing.clean("arrow").schema.names == ["t"] and not nothing.keep_mask.any()
    for verb in ("save", "audit"):
        assert not hasattr(found, verb) and verb not in found.verbs()
        with pytest.raises(neardup.RefusedError, match=f"dedup --against; {verb} does not work"):
            getattr(found, verb)
    assert "removed" in found.explain(1).why and "old corpus" in found.explain(2).why


def words(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    return [f"w{draw.randrange(3000)}" for _ in range(count)]


def row(train: str, test: str, passage: str, **more: Any) -> dict[str, Any]:
    """A match by its passage, which is where it first is in both, white space apart."""
    spans = [re.search(r"\s+".join(passage.split()), text) for text in (train, test)]
    ends = [end for span in spans for end in (span.span() if span else (None, None))]
    names = ("train_start", "train_end", "test_start", "test_end")
    return {**more, "passage": len(passage.split()), **dict(zip(names, ends, strict=True))}


def test_an_item_inside_a_page_is_found_however_it_is_wrapped() -> None:
    item = words(1, 40)
    page = words(2, 500)
    inside = [*page[:200], *item, *page[200:]]
    wrapped = "\n".join(" ".join(inside[i : i + 7]) for i in range(0, len(inside), 7))
    changed = [*item[:10], "other", *item[11:]]
    train = [" ".join(page), wrapped, " ".join([*page[:50], *changed]), ""]
    tests = ["\n\n".join(item), "", "short one"]
    found = neardup.decontaminate(train, tests)
    assert found.keep_mask.tolist() == [True, False, False, True]
    ids = {"test_doc": 0, "test_id": 0, "by": "containment"}
    assert found.matches.to_pylist() == [
        row(*args, train_doc=doc, train_id=doc, **ids, containment=share)
        for doc, share, args in (
            (1, 1.0, (wrapped, tests[0], " ".join(item))),
            (2, 31 / 36, (train[2], tests[0], " ".join(item[11:]))),
        )
    ]
    counts = found.summary["counts"]
    assert counts["test_items_shorter_than_a_shingle"] == 1 and counts["test_items_too_short"] == 1
    alike = neardup.decontaminate(train, ["\n\n".join(item)], by="similarity", threshold=0.05)
    assert alike.matches.column("train_doc").to_pylist() == [1, 2]
    assert alike.matches.column("containment").to_pylist() == [1.0, 31 / 36]
    assert neardup.decontaminate(train, [" ".join(item)], threshold=0.9).keep_mask.sum() == 3
    assert neardup.decontaminate(train, [" ".join(item)], by="similarity").keep_mask.all()


@pytest.mark.parametrize("length", [1, 3, 8, 13])
def test_passages_are_exact(length: int) -> None:
    draw = random.Random(length)
    vocabulary = [f"w{i}" for i in range(30)]
    train = [[draw.choice(vocabulary) for _ in range(draw.randrange(60))] for _ in range(40)]
    items = [[draw.choice(vocabulary) for _ in range(draw.randrange(25))] for _ in range(15)]
    for i in range(0, 15, 2):
        target = draw.randrange(40)
        train[target][5:5] = items[i][: draw.randrange(1, 16)]
    items.append(train[3][:2])  # shorter than most passages, and a document of its own
    train.append(train[3][:2])

    def longest(a: list[str], b: list[str]) -> int:
        return max(
            (
                size
                for i in range(len(a))
                for j in range(len(b))
                for size in [
                    next(
                        k
                        for k in range(99)
                        if a[i : i + k + 1] != b[j : j + k + 1]
                        or i + k >= len(a)
                        or j + k >= len(b)
                    )
                ]
            ),
            default=0,
        )

    expected = {
        (d, t): longest(a, b)
        for d, a in enumerate(train)
        for t, b in enumerate(items)
        if longest(a, b) >= min(length, max(2, len(b)))
    }
    texts, others = ([" ".join(row) for row in rows] for rows in (train, items))
    found = neardup.decontaminate(texts, others, passage=length, texts=True)
    rows = found.matches.to_pylist()
    assert {(row["train_doc"], row["test_doc"]): row["passage"] for row in rows} == expected
    for row in rows:
        a, b = texts[row["train_doc"]], others[row["test_doc"]]
        passage = a[row["train_start"] : row["train_end"]]
        assert passage == b[row["test_start"] : row["test_end"]] == row["passage_text"]
        assert len(passage.split()) == row["passage"]
        assert row["by"] == ("item" if len(b.split()) < length else "passage")


def test_containment_is_exact() -> None:
    texts = [" ".join(words(i % 40, 30) + words(i, 20)) for i in range(120)]
    items = [" ".join(words(i, 30)) for i in range(50)]
    spec = neardup.ShingleSpec(n=3)
    found = neardup.decontaminate(texts, items, threshold=0.5, shingle=spec)

    def sets(values: list[str]) -> list[set[int]]:
        made = neardup.shingle_sets(values, spec)
        return [set(row.tolist()) for row in np.split(made.values, made.offsets[1:-1])]

    expected = {
        (d, t): len(a & b) / len(b)
        for d, a in enumerate(sets(texts))
        for t, b in enumerate(sets(items))
        if len(a & b) / len(b) >= 0.5
    }
    rows = found.matches.to_pylist()
    assert {(row["train_doc"], row["test_doc"]): row["containment"] for row in rows} == expected
    assert len(expected) > 100


def test_the_command(command: Command, tmp_path: Path) -> None:
    train = [{"id": f"t{i}", "text": " ".join(words(i, 60)), "n": i} for i in range(30)]
    source = write_lines(tmp_path / "train.jsonl", train)
    tests = [{"q": f"q{i}", "body": " ".join(words(i, 60)[20:40])} for i in (3, 7, 99)]
    items = write_lines(tmp_path / "test.jsonl", tests)
    out = tmp_path / "out"
    args = ["decontaminate", source, "--against", items, "-o", out, "--id", "id"]
    more = ["--test-text", "body", "--test-id", "q"]
    answer = command(*args, *more, "--threads", 1)
    assert answer.code == 0 and "they contain a test item" in answer.err, answer.err
    matches = pq.read_table(out / "matches.parquet").to_pylist()
    assert [(row["train_id"], row["test_id"]) for row in matches] == [("t3", "q3"), ("t7", "q7")]
    assert matches[0]["passage"] == 20 and matches[0]["test_start"] == 0
    (clean,) = (out / "clean").iterdir()
    kept = [json.loads(line) for line in clean.read_text().splitlines()]
    assert kept == [row for i, row in enumerate(train) if i not in (3, 7)]
    assert json.loads((out / "run.json").read_text())["counts"]["test_items_found"] == 2
    assert "exists" in command(*args, *more).error
    assert command(*args, *more, "--overwrite", "--passage", 21).code == 0
    shorter = pq.read_table(out / "matches.parquet")  # than a passage, and there as they are
    assert shorter.column("by").to_pylist() == ["item", "item"]
    tests.append({"q": "q7 too", "body": " ".join(words(7, 60)[10:25])})
    tests.append({"q": "half", "body": " ".join([*words(3, 60)[5:15], *words(98, 9)])})
    write_lines(items, tests)
    assert command(*args, *more, "--overwrite", "--removed", "--threshold", 0.3).code == 0
    (removed,) = (out / "removed").iterdir()
    assert [json.loads(line) for line in removed.read_text().splitlines()] == [
        train[i] | {"test_id": f"q{i}", "containment": 1.0} for i in (3, 7)
    ]
    assert clean.read_text().splitlines() == [json.dumps(row) for row in kept]
    modes = {oct(path.stat().st_mode)[-3:] for path in out.rglob("*") if path.is_file()}
    assert modes == {"600"}
    assert {path.name for path in tmp_path.iterdir()} == {"train.jsonl", "test.jsonl", "out"}
    assert command("decontaminate", source, "--against", items, "-o", out).code == 1


def test_settings_that_are_refused(tmp_path: Path) -> None:
    for more in ({"by": "other"}, {"threshold": 0}, {"threshold": 2}, {"passage": 0}):
        with pytest.raises(SpecError):
            neardup.decontaminate(["a"], ["b"], **more)  # type: ignore[arg-type]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(OutputError, match="exists, and neardup did not write it"):
        neardup.decontaminate(["a"], ["b"], out=tmp_path / "full", overwrite=True)


def test_a_table_that_was_not_made_is_no_attribute() -> None:
    """As for other tables of the command; the message says how to ask for it."""
    run = neardup.against(["a"], ["b"], progress=False)
    assert not hasattr(run, "matches")
    with pytest.raises(neardup.SpecError, match="no table 'matches'"):
        _ = run.matches


def test_a_folder_of_an_index_is_no_corpus(tmp_path: Path) -> None:
    people = {"name": ["Anna Schmidt", "Ana Schmitd", "Peter Huber"]}
    neardup.link(people, fields="name", progress=False).index(tmp_path / "people").close()
    neardup.Index.create(tmp_path / "notes").close()
    calls = [
        lambda folder: neardup.dedup(folder, progress=False),
        lambda folder: neardup.decontaminate(["a"], folder, progress=False),
        lambda folder: neardup.passages(folder, words=3, progress=False),
    ]
    for folder, what in (("people", "an index of records"), ("notes", "an index")):
        for call in calls:
            with pytest.raises(neardup.InputError, match=f"{folder} is {what}\n"):
                call(tmp_path / folder)
    with pytest.raises(neardup.InputError, match="is an index of records, made by neardup link"):
        neardup.against(["a"], tmp_path / "people", progress=False)
