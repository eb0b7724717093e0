"""What is left of texts whose copied words are cut, in every format."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from common import Command, write_lines
from neardup.errors import SpecError
from neardup.sketch.texts import as_text
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec

_PIECES = [
    "Patient",
    "seen",
    "today",
    "no",
    "pain",
    "ÄÖ",
    "e\u0301t",
    "中文",
    "3.5",
    "x_y",
    "don't",
]
_BETWEEN = [" ", "  ", "\n", ".\n", ", ", "-", "\r\n", "\u3000", "\n\n", "! ", "\t"]


def words_of(text: str) -> list[int]:
    """Hashes of the words of a text, in order."""
    tokeniser = Tokeniser(ShingleSpec(n=1))
    data, offsets = tokeniser.normalise(as_text([text]))
    tokens = tokeniser.tokens(data, offsets)[0]
    return [int(value) for value in tokens.values]


def texts(seed: int, count: int = 60) -> list[str]:
    rng = random.Random(seed)
    made: list[list[str]] = []
    for _ in range(count):
        parts = []
        for _ in range(rng.randrange(25)):
            parts += [rng.choice(_PIECES), rng.choice(_BETWEEN)]
        if made and rng.random() < 0.7:
            other = rng.choice(made)
            at = rng.randrange(len(other) + 1)
            where = rng.randrange(len(parts) + 1)
            parts[where:where] = other[at : at + rng.randrange(30)]
        made.append(parts)
    return ["".join(parts) for parts in made]


@pytest.mark.parametrize(
    "options", [{}, {"mask": "[...]"}, {"whole": "line"}, {"whole": "sentence"}]
)
@pytest.mark.parametrize("seed", range(4))
def test_the_words_of_what_is_left(options: dict[str, Any], seed: int, kernels: None) -> None:
    """They are the words that were not cut, in order; offsets lead from one text to the other."""
    given = texts(seed)
    run = neardup.passages(given, words=4, cut=True, progress=False, **options)
    clean: list[str] = run.clean().column("text").to_pylist()
    cuts = run.cuts.to_pylist()
    assert cuts
    for number, (before, after) in enumerate(zip(given, clean, strict=True)):
        own = [row for row in cuts if row["doc_id"] == number]
        kept: list[int] = []
        at = 0
        for row in own:
            kept += words_of(before[at : row["start"]])
            kept += words_of(options.get("mask", ""))
            assert (
                after[row["at"] - row["start"] + at :][: row["start"] - at]
                == (before[at : row["start"]])
            )
            at = row["end"]
        kept += words_of(before[at:])
        assert words_of(after) == kept
        assert own or after == before
    again = neardup.passages(clean, words=4, progress=False)
    if not options:
        assert again.summary["counts"]["words"] == run.summary["counts"]["novel_words"]


def test_every_cut_word_still_stands(kernels: None) -> None:
    """Following the sources from any cut word ends at a word that is not cut."""
    given = texts(9, 120)
    run = neardup.passages(given, words=4, cut=True, progress=False)
    rows = run.passages.to_pylist()
    copied: dict[int, set[int]] = {}
    source: dict[tuple[int, int], tuple[int, int]] = {}
    for row in rows:
        text = given[row["doc_id"]][row["start"] : row["end"]]
        there = given[row["source_id"]][row["source_start"] : row["source_end"]]
        assert words_of(text) == words_of(there) and len(words_of(text)) == row["words"]
        first = len(words_of(given[row["doc_id"]][: row["start"]]))
        where = len(words_of(given[row["source_id"]][: row["source_start"]]))
        for i in range(row["words"]):
            copied.setdefault(row["doc_id"], set()).add(first + i)
            source.setdefault((row["doc_id"], first + i), (row["source_id"], where + i))
    for position in list(source):
        word = position
        while word in source:
            assert source[word] < word
            word = source[word]
        assert word[1] not in copied.get(word[0], set())
    assert run.summary["counts"]["cut_words"] == sum(map(len, copied.values()))


_ROWS = [
    {"id": "a", "n": 1.50, "text": "one two three four five six", "tags": ["x"]},
    {"id": "b", "n": None, "text": 'zero, "one" two three four', "tags": []},
    {"id": "c", "n": 3, "text": "nothing is like it", "tags": [1, {"y": None}]},
]


def test_json_lines(tmp_path: Path, command: Command, kernels: None) -> None:
    lines = [json.dumps(row) for row in _ROWS]
    lines[1] = '{"n":1e5, "id":"b","text" : "zero one two three four" , "big":12345678901234567890}'
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    out = tmp_path / "out"
    done = command(
        "passages", tmp_path / "in.jsonl", "-o", out, "--id", "id", "--words", 3, "--cut"
    )
    assert done.code == 0, done.err
    (clean,) = (out / "clean").iterdir()
    lines[1] = '{"n":1e5, "id":"b","text" : "zero" , "big":12345678901234567890}'
    lines[1] = lines[1].replace('"zero"', '"zero "')
    assert clean.read_text() == "\n".join(lines) + "\n"
    run = neardup.PassagesRun.open(out)
    assert run.passages.num_rows == 1 and run.explain("b")["copied_words"] == 4
    assert "4  words, 26.7 %" in done.err


def test_strings_of_json_in_any_form(tmp_path: Path, kernels: None) -> None:
    """Escapes, halves of surrogate pairs, invalid bytes: offsets count characters of the text."""
    copied = r"\u00e9\t \ud83d\ude00x \"q\" back\\slash"
    lines = [
        rf'{{"text":"one {copied} five", "n":1}}',
        rf'{{"z":{{"text":"inner"}}, "text" :"\ud83d two \u2028 {copied} \n six"}}  ',
        f'{{"text":"be\udcff r {copied}"}}',
    ]
    path = tmp_path / "in.jsonl"
    path.write_bytes("\r\n\r\n".join(lines).encode("utf-8", "surrogateescape"))
    out = tmp_path / "out"
    neardup.passages(path, words=4, cut=True, out=out, encoding_errors="replace")
    (clean,) = (out / "clean").iterdir()
    records = clean.read_bytes().split(b"\r\n")
    assert records[0] == lines[0].encode()
    assert records[1].startswith(b'{"z":{"text":"inner"}, "text" :"') and b'"}  ' in records[1]
    texts = [json.loads(record.decode("utf-8", "replace"))["text"] for record in records[1:3]]
    assert texts == ["\ufffd two \u2028 six", "be\ufffd r "]
    cuts = pq.read_table(out / "cuts.parquet").to_pylist()
    given = [json.loads(lines[1])["text"], json.loads(lines[2].replace("\udcff", "\ufffd"))["text"]]
    assert [text[: c["start"]] + text[c["end"] :] for text, c in zip(given, cuts, strict=True)] == [
        "\ud83d two \u2028 six",
        "be\ufffd r ",
    ]


def test_csv_with_line_ends_in_fields(tmp_path: Path, command: Command, kernels: None) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(
        b'id;text;n\r\na;"one two\nthree ""four""";1\r\nb;"x;y\none two three four";2\r\nc;z;3\r\n'
    )
    out = tmp_path / "out"
    done = command(
        *("passages", path, "-o", out, "--id", "id", "--words", 3, "--cut", "--delimiter", ";")
    )
    assert done.code == 0, done.err
    (clean,) = (out / "clean").iterdir()
    assert clean.read_bytes() == (
        b'id;text;n\r\na;"one two\nthree ""four""";1\r\nb;"x;y\n";2\r\nc;z;3\r\n'
    )


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_parquet(kind: Any, tmp_path: Path, kernels: None) -> None:
    table = pa.table(
        {
            "text": pa.array([row["text"] for row in _ROWS], pa.string()).cast(kind),
            "n": pa.array([1, None, 3]),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=2)
    out = tmp_path / "out"
    neardup.passages(tmp_path / "in.parquet", words=3, cut=True, mask="[...]", out=out)
    (file,) = (out / "clean").iterdir()
    clean = pq.read_table(file)
    assert clean.schema.field("n").type == pa.int64()
    assert clean.column("text").to_pylist()[1] == 'zero, "[...]'
    assert clean.column("n").to_pylist() == [1, None, 3]


def test_text_files_and_other_columns(tmp_path: Path, kernels: None) -> None:
    (tmp_path / "in").mkdir()
    for name, text in {"a": "one two three four", "b": "x one two three four y"}.items():
        (tmp_path / "in" / f"{name}.txt").write_text(text)
    neardup.passages(tmp_path / "in", words=3, cut=True, annotate=False, out=tmp_path / "out")
    names = {path.name: path.read_text() for path in (tmp_path / "out" / "clean").rglob("*.txt")}
    assert names == {"a.txt": "one two three four", "b.txt": "x y"}
    for path in (tmp_path / "in").iterdir():
        with gzip.open(tmp_path / "in" / f"{path.name}.gz", "wb") as file:
            file.write(path.read_bytes())
        path.unlink()
    neardup.passages(tmp_path / "in", words=3, cut=True, out=tmp_path / "packed")
    files = (tmp_path / "packed" / "clean").rglob("*.txt.gz")
    assert {path.stem: gzip.decompress(path.read_bytes()).decode() for path in files} == names
    path = write_lines(tmp_path / "n.jsonl", _ROWS)
    run = neardup.passages(path, words=3, annotate=True, id="id", out=tmp_path / "annotated")
    (clean,) = (tmp_path / "annotated" / "clean").iterdir()
    rows = [json.loads(line) for line in clean.read_text().splitlines()]
    assert [row["copied_from"] for row in rows] == [None, "a", None]
    assert [row["words"] for row in rows] == [6, 5, 4]
    assert run.documents.column("copied_share").to_pylist() == [0, 0.8, 0]


def test_documents_that_are_left_out(kernels: None) -> None:
    given = [
        "one two three four five",
        "one two three four",
        "x y z one two three",
        "three four five",
    ]
    run = neardup.passages(given, words=3, drop_above=0.9, progress=False)
    assert run.documents.column("kept").to_pylist() == [True, False, True, False]
    assert run.clean().num_rows == 2
    cut = neardup.passages(given, words=3, cut=True, drop_below=3, progress=False)
    assert cut.clean().column("text").to_pylist() == ["one two three four five", "x y z "]
    # What is left out may have the only occurrence of words that are cut elsewhere.
    given = ["a b c", "a b c d e f g h", "q r s t a b c u v w"]
    lost = neardup.passages(given, words=3, cut=True, drop_below=4, progress=False)
    assert lost.documents.column("kept").to_pylist() == [False, True, True]
    assert lost.summary["counts"]["cut_words_left_nowhere"] == 6
    assert "stand nowhere" in lost.summary["notes"][-1]
    kept = neardup.passages(
        given, words=3, cut=True, drop_below=4, keep_sources=True, progress=False
    )
    assert kept.documents.column("kept").to_pylist() == [True, True, True]
    assert kept.summary["counts"]["cut_words_left_nowhere"] == 0


def test_boilerplate(kernels: None) -> None:
    header = "general hospital department of medicine"
    given = [f"{header} note {i} w{i} x{i} y{i}" for i in range(5)]
    given.append("w1 x1 y1 and more")
    run = neardup.passages(given, words=3, boilerplate=4, cut=True, progress=False)
    assert [row["kind"] for row in run.passages.to_pylist()] == ["boilerplate"] * 4 + ["copy"]
    (row,) = run.boilerplate.to_pylist()
    assert row == {
        "words": 6, "documents": 5, "occurrences": 5, "doc_id": 0, "start": 0, "end": 44,
        "text": f"{header} note",
    }  # fmt: skip
    counts = run.summary["counts"]
    assert counts["boilerplate_words"] == 24 and counts["copied_words"] == 3
    assert counts["words"] == counts["novel_words"] + 27
    assert run.clean().column("text").to_pylist() == [*given[:5], "and more"]
    both = neardup.passages(
        given, words=3, boilerplate=4, cut=True, cut_boilerplate=True, progress=False
    )
    assert both.clean().column("text").to_pylist()[1] == "1 w1 x1 y1"


def test_bridges(kernels: None) -> None:
    given = ["a b c d e f g h i j", "a b c d X f g h i j"]
    run = neardup.passages(given, words=3, bridge=2, progress=False)
    assert run.passages.column("bridge").to_pylist() == [0, 0]
    assert run.documents.column("changed_words").to_pylist() == [0, 1]
    assert run.documents.column("copied_words").to_pylist() == [0, 9]


def test_offsets_in_normalised_texts(kernels: None) -> None:
    given = ["ﬁve Ünder ①② naïve words", "🎉 x e\u0301 ﬁve u\u0308NDER ①② nai\u0308ve words ﷺ"]
    for options in ({"nfkc": True}, {"strip_accents": True}, {"nfkc": True, "strip_accents": True}):
        run = neardup.passages(given, words=2, progress=False, **options)  # type: ignore[arg-type]
        (row,) = run.passages.to_pylist()
        assert given[1][row["start"] : row["end"]].endswith("words")
        assert given[1][row["start"]] in "ﬁ①w"
        assert given[0][row["source_start"] : row["source_end"]].endswith("words")


def test_totals(tmp_path: Path, kernels: None) -> None:
    rows = [
        {"text": "a b c d", "by": "x", "date": "2020-01-02"},
        {"text": "a b c d", "by": "y", "date": "2021-01-02"},
        {"text": "e a b c", "by": "x", "date": None},
    ]
    run = neardup.passages(
        write_lines(tmp_path / "n.jsonl", rows), words=3, by="by", order_by="date", progress=False
    )
    assert run.summary["by_value"] == [
        {"values": ["x"], "documents": 2, "words": 8, "copied_words": 3},
        {"values": ["y"], "documents": 1, "words": 4, "copied_words": 4},
    ]
    assert [row["year"] for row in run.summary["by_year"]] == ["2020", "2021", None]
    assert run.to_pandas("by_month")["documents"].tolist() == [1, 1, 1]
    assert "1 document has no date" in run.summary["notes"][0]


def test_totals_by_value_have_boilerplate_words() -> None:
    rows = {"text": ["a b c x", "a b c y", "y a b c"], "by": ["p", "q", "q"]}
    run = neardup.passages(rows, words=3, by="by", boilerplate=3, progress=False)
    assert run.summary["by_value"] == [
        {"values": ["q"], "documents": 2, "words": 8, "copied_words": 0, "boilerplate_words": 6},
        {"values": ["p"], "documents": 1, "words": 4, "copied_words": 0, "boilerplate_words": 0},
    ]
    assert "2  of copied words, in 0 documents, and of boilerplate" in str(run)


def test_totals_by_several_columns_and_as_csv(tmp_path: Path) -> None:
    rows = {
        "text": ["a b c x", "a b c y", "y a b c", "a b c"],
        "author": ["=1+1", "@b", "@b", None],
        "ward": ["w", "w", "v", "v"],
    }
    out = tmp_path / "out"
    given: dict[str, Any] = {"words": 3, "by": ["author", "ward"], "progress": False}
    run = neardup.passages(pa.table(rows), out=out, tables="csv", **given)
    table = run.table("by_value")
    assert table.column_names == ["author", "ward", "documents", "words", "copied_words"]
    assert table.select(["author", "ward", "words"]).to_pylist()[:2] == [
        {"author": "=1+1", "ward": "w", "words": 4},
        {"author": "@b", "ward": "v", "words": 4},
    ]
    assert run.summary["by_value"][-1]["values"] == [None, "v"]
    assert neardup.passages(pa.table(rows), **given).table("by_value").equals(table)
    lines = (out / "by_value.csv").read_text().splitlines()
    assert "'=1+1,w,1,4,0" in lines and "'@b,v,1,4,3" in lines
    assert sorted(path.name for path in out.glob("*.csv")) == [
        "by_value.csv",
        "documents.csv",
        "passages.csv",
    ]
    with pytest.raises(SpecError, match="`by` is 'words', and the table has"):
        neardup.passages(pa.table({**rows, "words": rows["ward"]}), by="words", progress=False)


@pytest.mark.parametrize("how", [{"mask": "[...]"}, {"whole": "line"}])
def test_to_say_how_to_cut_asks_for_a_cut(how: dict[str, Any]) -> None:
    texts = ["a b c d", "e\na b c\nf", "a b c g"]
    run = neardup.passages(texts, words=3, progress=False, **how)
    asked = neardup.passages(texts, words=3, progress=False, cut=True, **how)
    found = run.clean().column("text").to_pylist()
    assert found == asked.clean().column("text").to_pylist() != texts
    options = {"words": 3, "boilerplate": 3, "cut_boilerplate": True}
    run = neardup.passages([*texts, "a b c d"], progress=False, **options, **how)
    assert run.clean().column("text").to_pylist()[3].endswith("d")


def test_a_word_of_boilerplate_is_followed_to_the_source_of_that() -> None:
    """Not to that of a copy which begins before it, and whose source is left out."""
    texts = ["a b z", "p a p a p a", "p a b", "a b"]
    options = {"words": 2, "boilerplate": 3, "cut_boilerplate": True, "drop_above": 0.5}
    for keep in (False, True):
        run = neardup.passages(texts, progress=False, keep_sources=keep, **options)
        assert run.summary["counts"]["cut_words_left_nowhere"] == 0
        assert run.documents.column("kept").to_pylist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": 1}, "`words` is 1"),
        ({"words": 0}, "`words` is 0"),
        ({"within": "text", "across": "text"}, "exclude each other"),
        ({"name_source": "best"}, "`name_source` is 'best'"),
        ({"boilerplate": 1}, "`boilerplate` is 1"),
        ({"cut": True, "mask": ""}, "`mask` is empty"),
        ({"cut": True, "whole": "page"}, "`whole` is 'page'"),
        ({"drop_above": 2}, "`drop_above` is 2"),
        ({"drop_below": 0}, "`drop_below` is 0"),
        ({"keep_sources": True}, "`keep_sources` needs"),
        ({"cut_boilerplate": True}, "needs `boilerplate`"),
        ({"order_by": "none"}, "none"),
        ({"preset": "records"}, "preset is 'records'"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(neardup.NeardupError) as caught:
        neardup.passages(pa.table({"text": ["a b"]}), progress=False, **options)
    assert message in str(caught.value)


def test_odd_inputs(kernels: None) -> None:
    def run(given: Sequence[str], **options: Any) -> neardup.PassagesRun:
        return neardup.passages(pa.table({"text": pa.array(given, pa.string())}), **options)

    empty = run([])
    assert empty.passages.num_rows == 0 and len(empty) == 0 and "no documents" in str(empty.summary)
    assert empty.clean().num_rows == 0
    short = run(["a b", "a b"], words=3)
    assert "no document has 3 words" in short.summary["notes"][0]
    same = run(["a b c d"] * 50, words=4, boilerplate=10, cut=True)
    assert same.summary["counts"]["boilerplate_words"] == 49 * 4
    for text in ("0 ", "a b c "):
        periodic = run([text * 120_000], words=25)
        counts = periodic.summary["counts"]
        period = text.count(" ")
        assert counts["copied_words"] == counts["words"] - -(-25 // period) * period
        assert periodic.passages.num_rows == 1 and "row of zeros" in periodic.summary["notes"][0]
    for none in (None, ""):
        table = pa.table({"text": ["a b c", "a b c", "a b c"], "who": [none, none, "x"]})
        alone = neardup.passages(table, words=3, within="who")
        assert alone.passages.num_rows == 0
        assert "2 documents have no who" in alone.summary["notes"][0]


def test_ids_of_two_corpora(tmp_path: Path, kernels: None) -> None:
    old = pa.table({"text": ["a b c"], "id": [7]})
    new = pa.table({"text": ["x a b c", "a b c"], "id": ["n1", "7"]})
    run = neardup.passages(new, id="id", words=3, against=old)
    rows = run.passages.to_pylist()
    names = ("doc_id", "source_id", "in_old", "origin_id", "origin_in_old")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("n1", "7", True, "7", True),
        ("7", "n1", False, "7", True),
    ]
    assert "3 words, n1 2-7, first in 7 0 of the old corpus" in str(run.explain("7"))
    private = neardup.passages(new, id="id", words=3, against=old, private_ids=True)
    page = private.report(tmp_path / "page.html").read_text(encoding="utf-8")
    # Not the second document of the new corpus, which has the same id.
    assert page.count("; first in ") == 1
    assert "; first in a document of the old corpus" in page
    path = write_lines(tmp_path / "n.jsonl", [{"text": "a b c d"}, {"text": "a b c d"}])
    neardup.dedup(path, out=tmp_path / "dedup")
    found = neardup.passages(["q a b c d"], words=3, against=tmp_path / "dedup")
    assert found.summary["counts"]["old_documents"] == 1 and found.passages.num_rows == 1


def test_the_page_shows_sources_of_the_other_corpus(tmp_path: Path, kernels: None) -> None:
    old = [
        {"name": f"o{i}", "text": f"before{i} one two three four{i} behind{i}"} for i in range(9)
    ]
    path = write_lines(tmp_path / "old.jsonl", old)
    new = write_lines(tmp_path / "new.jsonl", [{"name": "n", "text": "one two three four7 x"}])

    def page(run: neardup.PassagesRun, name: str) -> str:
        return run.report(tmp_path / f"{name}.html").read_text(encoding="utf-8")

    in_memory = neardup.passages(new, id="name", words=4, against=path, progress=False)
    assert "before7" in page(in_memory, "memory")
    out = tmp_path / "out"
    neardup.passages(new, id="name", words=4, against=path, out=out, progress=False)
    opened = neardup.PassagesRun.open(out)
    assert "before7" in page(opened, "folder") and "before6" not in page(opened, "again")
    path.unlink()
    assert "before7" not in page(neardup.PassagesRun.open(out), "gone")
    by_position = neardup.passages(
        ["one two three four7 x"], words=4, against=[row["text"] for row in old], progress=False
    )
    assert "before7" in page(by_position, "positions")


def test_threads_and_memory_give_the_same_bytes(tmp_path: Path, kernels: None) -> None:
    path = write_lines(
        tmp_path / "n.jsonl", [{"id": i, "text": t} for i, t in enumerate(texts(3, 400))]
    )
    found = []
    for number, options in enumerate(
        ({"threads": 1}, {"threads": 8}, {"memory": "240MB", "threads": 1})
    ):
        out = tmp_path / str(number)
        neardup.passages(path, id="id", words=4, cut=True, out=out, **options)  # type: ignore[arg-type]
        files = {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*.*")}
        del files["run.json"]
        found.append(files)
    assert found[0] == found[1] == found[2] and len(found[0]) == 4
    assert np.all([len(raw) > 0 for raw in found[0].values()])
