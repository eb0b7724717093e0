"""Short test items, files of them, and passages that are cut instead of documents."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from common import Command, write_lines
from neardup.errors import ColumnError, SpecError
from neardup.files.scratch import Disk
from neardup.files.table_spill import TableSpill

TRAIN = [
    "Before. The quick brown fox jumps over the lazy dog, and after it.",
    "Süß: what is\nthe capital of Perú? Lima",
    "nothing of the kind",
    "The quick brown fox",
]
LONG = "the QUICK brown fox jumps over the lazy dog"


def test_short_items_are_looked_for_as_they_are() -> None:
    tests = [LONG, "Capital of Perú", "quick", "brown fox", "fox brown", ""]
    found = neardup.decontaminate(TRAIN, tests, texts=True)
    rows = [
        (row["train_doc"], row["test_doc"], row["by"], row["passage_text"])
        for row in found.matches.to_pylist()
    ]
    assert rows == [
        (0, 0, "containment", "The quick brown fox jumps over the lazy dog"),
        (0, 3, "item", "brown fox"),
        (1, 1, "item", "capital of Perú"),
        (3, 3, "item", "brown fox"),
    ]
    counts = found.summary["counts"]
    assert counts["test_items_shorter_than_a_shingle"] == 3
    assert counts["test_items_too_short"] == 2 and counts["only_by_short_items"] == 2
    assert found.keep_mask.tolist() == [False, False, True, False]
    three = neardup.decontaminate(TRAIN, tests, min_words=3)
    assert three.keep_mask.tolist() == [False, False, True, True]
    one = neardup.decontaminate(TRAIN, tests, min_words=1)
    assert one.summary["counts"]["test_items_too_short"] == 1
    assert len(one.matches) == len(found.matches) + 2
    # Whatever the unit: of characters, too, short items are words in a row.
    of_characters = neardup.decontaminate(TRAIN, ["of Perú"], shingle="char:20", texts=True)
    assert of_characters.matches.column("passage_text").to_pylist() == ["of Perú"]


def test_an_item_that_many_documents_have_is_named(command: Command, tmp_path: Path) -> None:
    train = [{"id": f"t{i}", "text": f"in the beginning, w{i} x{i}"} for i in range(30)]
    train += [{"id": f"u{i}", "text": f"other words {i}, and of the end"} for i in range(20)]
    items = [{"key": "secret-1", "text": "of the"}, {"key": "secret-2", "text": "In THE beginning"}]
    items += [{"key": f"secret-{i}", "text": f"W{i} x{i}"} for i in range(3, 9)]
    paths = [write_lines(tmp_path / f"{i}.jsonl", rows) for i, rows in enumerate((train, items))]
    line = ["decontaminate", paths[0], "--id", "id", "--against", paths[1], "--test-id", "key"]
    shown = command(*line, "-o", tmp_path / "out").lines
    assert [" ".join(row.split()) for row in shown if row.startswith("warning")] == [
        "warning 60.0 % of the documents (30) have the test item secret-2, of 3 words; "
        "--min-words 4 leaves out such short ones",
        "warning 40.0 % of the documents (20) have the test item secret-1, of 2 words; "
        "--min-words 3 leaves out such short ones",
    ]
    assert "min_words=4 leaves" in str(neardup.open(tmp_path / "out"))
    private = command(*line, "-o", tmp_path / "private", "--private-ids").err
    assert "the test item in row 1, of 3 words" in private and "secret" not in private
    assert "secret-" not in (tmp_path / "private" / "run.json").read_text()
    few = command(*line, "-o", tmp_path / "few", "--min-words", 4).lines
    assert not [row for row in few if row.startswith("warning")]
    # One that is no short item has another remedy.
    write_lines(paths[1], [{"key": "k", "text": train[0]["text"]}])
    write_lines(paths[0], [train[0]] * 30)
    line.remove("--id"), line.remove("id")
    assert "take it out of the test items" in command(*line, "-o", tmp_path / "long").err


def test_cut_takes_the_passage_and_keeps_the_document(tmp_path: Path) -> None:
    lines = "".join(
        json.dumps({"n": 1.50, "text": text}, ensure_ascii=False) + "\n" for text in TRAIN
    )
    (tmp_path / "train.jsonl").write_text(lines)
    tests = [LONG, "capital of Perú"]
    given = {"cut": True, "out": tmp_path / "out"}
    found = neardup.decontaminate(tmp_path / "train.jsonl", tests, **given)
    assert found.keep_mask.all()
    counts = found.summary["counts"]
    assert (counts["contaminated"], counts["removed"], counts["cut_words"]) == (2, 0, 12)
    (path,) = (tmp_path / "out" / "clean").iterdir()
    clean = path.read_text().splitlines(keepends=True)
    texts = [json.loads(line)["text"] for line in clean]
    assert texts[:2] == ["Before. , and after it.", "Süß: what is\nthe ? Lima"]
    assert clean[2:] == lines.splitlines(keepends=True)[2:] and '"n": 1.5,' in clean[0]
    for row in pq.read_table(tmp_path / "out" / "cuts.parquet").to_pylist():
        text = TRAIN[row["doc_id"]]
        assert text[: row["start"]] == texts[row["doc_id"]][: row["at"]]
    again = neardup.open(tmp_path / "out")
    assert again.keep_mask.all() and again.matches.equals(found.matches)
    masked = neardup.decontaminate(
        tmp_path / "train.jsonl", tests, cut=True, mask="[...]", out=tmp_path / "masked"
    )
    (path,) = (tmp_path / "masked" / "clean").iterdir()
    assert json.loads(path.read_text().splitlines()[0])["text"] == "Before. [...], and after it."
    assert masked.summary["settings"]["mask"] == "[...]"


@pytest.mark.parametrize("length", [2, 3, 5])
def test_nothing_that_matches_is_left_where_no_new_neighbours_are(
    length: int, tmp_path: Path
) -> None:
    """Every run of so many words that a matching item has is cut, and no other word."""
    draw = random.Random(length)
    train = [[draw.choice("abcdefgh") for _ in range(draw.randrange(30))] for _ in range(40)]
    items = [[draw.choice("abcdefgh") for _ in range(draw.randrange(12))] for _ in range(6)]
    table = pa.table({"text": [" ".join(row) for row in train]})
    others = [" ".join(row) for row in items]
    neardup.decontaminate(
        table, others, passage=length, cut=True, mask="|", out=tmp_path / "out", format="jsonl"
    )
    (path,) = (tmp_path / "out" / "clean").iterdir()
    found = [json.loads(line)["text"].split() for line in path.read_text().splitlines()]
    for words, left in zip(train, found, strict=True):
        gone = [False] * len(words)
        for item in items:
            size = length if len(item) >= length else len(item)
            runs = {tuple(item[i : i + size]) for i in range(len(item) - size + 1)}
            for i in range(len(words) - size + 1) if size >= 2 else ():
                if tuple(words[i : i + size]) in runs:
                    gone[i : i + size] = [True] * size
        expected = []
        for word, is_gone in zip(words, gone, strict=True):
            if not is_gone:
                expected.append(word)
            elif expected[-1:] != ["|"]:
                expected.append("|")
        assert left == expected


@pytest.mark.parametrize("length", [2, 3, 6, 13])
def test_passages_of_items_are_those_copied_from_them(length: int, tmp_path: Path) -> None:
    """One question, two commands: the same words are cut."""
    draw = random.Random(length)
    tables = []
    for kind, count, size in (("train", 60, 60), ("items", 9, 30)):
        texts = [
            " ".join(draw.choices(["ab,", "c\n"], k=draw.randrange(size))) for _ in range(count)
        ]
        tables.append(pa.table({"text": texts, "of": [kind] * count}))
    train, items = tables
    given: dict[str, Any] = {"cut": True, "format": "jsonl", "id": None}
    neardup.passages(train, against=items, words=length, across="of", out=tmp_path / "a", **given)
    neardup.decontaminate(train, items, passage=length, min_words=99, out=tmp_path / "b", **given)
    one, two = (pq.read_table(tmp_path / name / "cuts.parquet") for name in "ab")
    assert one.to_pylist() == two.to_pylist() and one.num_rows > 2
    clean = [[path.read_text() for path in (tmp_path / n / "clean").iterdir()] for n in "ab"]
    assert clean[0] == clean[1]


def test_periodic_texts_take_no_longer() -> None:
    """Where each run is at all positions: quadratic work would not end."""
    zeros, more = "0 " * 100_000, "0 1 " * 50_000
    found = neardup.decontaminate([zeros, "x " + more], [zeros[2:], "1 0 " * 9], passage=5)
    columns = found.matches.select(["train_doc", "test_doc", "passage", "train_start"])
    assert columns.to_pylist() == [
        {"train_doc": 0, "test_doc": 0, "passage": 99_999, "train_start": 0},
        {"train_doc": 1, "test_doc": 1, "passage": 18, "train_start": 4},
    ]


def test_counts_of_each_file(tmp_path: Path, command: Any) -> None:
    (tmp_path / "train.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in TRAIN))
    (tmp_path / "a.jsonl").write_text(
        json.dumps({"q": LONG}) + "\n" + json.dumps({"q": "x y z"}) + "\n"
    )
    (tmp_path / "b.jsonl").write_text(json.dumps({"q": "brown fox"}) + "\n")
    files = ("--against", tmp_path / "a.jsonl", "--against", tmp_path / "b.jsonl")
    given = ("decontaminate", tmp_path / "train.jsonl", *files, "-o", tmp_path / "out")
    answer = command(*given)
    assert answer.code == 1 and "--test-text, that of the ids with --test-id" in answer.err
    answer = command(*given, "--test-text", "q", "--texts", "--cut")
    assert answer.code == 0, answer.err
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    found = [tuple(file.values())[1:] for file in record["test_files"]]
    assert found == [(2, 1, 1, 1), (1, 1, 2, 2)]
    assert "of 2 found, in 1 document: " in answer.err and "a.jsonl" in answer.err
    assert "looked for as they are" in answer.err and "words, of 2 documents" in answer.err
    names = pq.read_schema(tmp_path / "out" / "matches.parquet").names
    assert names[4:] == [
        *("by", "containment", "passage", "train_start", "train_end", "test_start", "test_end"),
        "passage_text",
    ]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "characters": ({"cut": True, "shingle": "char:5"}, "`cut` cuts words"),
    "mask without cut": ({"mask": "x"}, "`mask` says how to cut, and nothing is cut"),
    "no mask": ({"cut": True, "mask": " "}, "`mask` is empty"),
    "no words": ({"min_words": 0}, "`min_words` is 0; expected 1 word or more"),
    "cut and removed": ({"cut": True, "removed": True}, "with `cut` no document is removed"),
    "removed, and where": ({"removed": True}, "`removed` needs an output folder"),
    "two columns": ({"cut": True, "text": ["a", "b"]}, "it can't be cut in several"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused(case: str) -> None:
    given, message = BAD[case]
    with pytest.raises(SpecError, match=message):
        neardup.decontaminate(pa.table({"text": ["a"], "a": ["b"], "b": ["c"]}), ["a"], **given)


def test_the_hint_names_the_argument_of_the_test_items() -> None:
    with pytest.raises(ColumnError) as caught:
        neardup.decontaminate(["a"], pa.table({"q": ["a"]}))
    assert "`test_text`" in caught.value.hint and "`test_id`" in caught.value.hint


def written(out: Path) -> dict[str, bytes]:
    """The corpora that are in a folder."""
    files = (path for path in sorted(out.rglob("*")) if path.is_file())
    return {str(p.relative_to(out)): p.read_bytes() for p in files if p.parent != out}


@pytest.mark.parametrize("cut", [False, True])
def test_matches_in_files_are_those_in_memory(cut: bool, tmp_path: Path) -> None:
    train = [f"number {n} before one two three four five six and after {n % 7}" for n in range(500)]
    items = ["one two three four five six", "two three four five six and after"]
    with pytest.raises(SpecError) as refused:
        neardup.decontaminate(train, items, memory=1, cut=cut)
    least = int(re.findall(r"at least (\d+) MB", str(refused.value))[0]) * 10**6
    found = []
    for memory in (least, None):
        out = tmp_path / str(memory)
        made = neardup.decontaminate(
            train, items, memory=memory, cut=cut, removed=not cut, texts=True, out=out
        )
        assert made.summary["counts"]["matches"] == 1000
        assert made.matches.equals(pq.read_table(out / "matches.parquet"))
        found.append((made.matches, made.keep_mask.tolist(), written(out)))
    assert found[0] == found[1]


def test_tables_go_to_a_file_where_memory_ends(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    schema = pa.schema([("n", pa.int64()), ("t", pa.string())])
    columns = [{"n": list(range(k)), "t": [f"text {k}"] * k} for k in (0, 3, 1000, 0, 7)]
    parts = [pa.table(each, schema) for each in columns]
    for memory in (0, 500, 1 << 30):
        with TableSpill(memory, disk) as spill:
            for part in parts:
                spill.add(part)
            found = spill.table()
        assert found.equals(pa.concat_tables(parts))
        assert not list(tmp_path.iterdir())  # the file has no name
    assert disk.most > 0


def test_which_items_are_in_how_many_documents(command: Command, tmp_path: Path) -> None:
    """Nothing is written; the same without and with the files."""
    rows = [{"id": f"t{k}", "text": f"{text} number{k}"} for k, text in enumerate(TRAIN * 3)]
    train = write_lines(tmp_path / "train.jsonl", rows)
    tests = [LONG, "brown fox", "nothing there at all"]
    items = [{"id": f"q{k}\x1b", "text": text} for k, text in enumerate(tests)]
    asked = ("decontaminate", train, "--against", write_lines(tmp_path / "test.jsonl", items))
    asked = (*asked, "--id", "id", "--test-id", "id")
    before = sorted(tmp_path.iterdir())
    answer = command(*asked, "--dry-run", "--quiet")
    assert answer.code == 0 and sorted(tmp_path.iterdir()) == before
    lines = answer.out.splitlines()
    assert lines[-2].split() == ["q1␛", "6", "50.0", "%"]
    assert lines[-1].split() == ["q0␛", "3", "25.0", "%"]
    found = json.loads(command(*asked, "--dry-run", "--json").out)
    assert [(row["test_doc"], row["documents"]) for row in found["items"]] == [(1, 6), (0, 3)]
    private = command(*asked, "--dry-run", "--quiet", "--private-ids").out
    assert "q1" not in private and "row 1" in private
    assert "q1" not in command(*asked, "--dry-run", "--private-ids", "--json").out
    for more, says in (
        ((), "no output folder is named"),
        (("--dry-run", "-o", tmp_path / "out"), "a dry run writes nothing"),
        (("--dry-run", "-o", "s3://bucket/out"), "a dry run writes nothing"),
        (("-o", tmp_path / "out", "--max-documents", "1"), "expected a share between 0 and 1"),
    ):
        assert says in command(*asked, *more).error


@pytest.mark.parametrize("passage", [None, 5, 9])
@pytest.mark.parametrize("cut", [False, True])
def test_items_of_many_documents_are_left_out(
    cut: bool, passage: int | None, command: Command, tmp_path: Path
) -> None:
    """The result is that without these items, which are named."""
    train = [f"{text} and so on" for text in TRAIN] * 3
    tests = [LONG, "brown fox", "capital of Perú Lima", "and so"]
    less = [LONG, "capital of Perú Lima"]
    how: dict[str, Any] = {"cut": cut, "passage": passage}
    found = neardup.decontaminate(train, tests, max_documents=0.4, out=tmp_path / "a", **how)
    expected = neardup.decontaminate(train, less, out=tmp_path / "b", **how)
    assert found.summary["counts"]["test_items_left_out"] == 2
    named = [(row["test_doc"], row["documents"]) for row in found.summary["left_out_items"]]
    assert named == [(3, 12), (1, 6)]
    assert found.keep_mask.tolist() == expected.keep_mask.tolist()
    numbers = {0: 0, 2: 1}
    same = [
        {**row, "test_doc": numbers[row["test_doc"]], "test_id": numbers[row["test_id"]]}
        for row in found.matches.to_pylist()
    ]
    assert same == expected.matches.to_pylist()
    texts = [next(iter((tmp_path / name / "clean").iterdir())).read_bytes() for name in "ab"]
    assert texts[0] == texts[1]
    assert "left out         2  of the test items, which more than 40.0 %" in str(found)
    everything = neardup.decontaminate(train, tests, max_documents=0.99, **how)
    assert everything.summary["counts"]["test_items_left_out"] == 1
    # What can be read only once is compared twice all the same.
    once = neardup.decontaminate(iter(train), tests, max_documents=0.4, **how)
    assert once.keep_mask.tolist() == found.keep_mask.tolist()


def test_a_clean_corpus_of_several_formats_is_noted(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_lines(folder / "a.jsonl", [{"text": "one text"}])
    pq.write_table(pa.table({"text": ["another text"]}), folder / "b.parquet")
    answer = command("dedup", folder, "-o", tmp_path / "out")
    assert "files of several formats (jsonl, parquet)" in answer.err
    assert "--format jsonl writes all as one" in answer.err
    both = {path.suffix for path in (tmp_path / "out" / "clean").iterdir()}
    assert both == {".jsonl", ".parquet"}
    for more in (("--format", "parquet"), ("--no-clean",)):
        answer = command("dedup", folder, "-o", tmp_path / "out", "--overwrite", *more)
        assert answer.code == 0 and "several formats" not in answer.err
