"""Data cards of one step and of several, their methods, and what is refused."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import DatasetCard

import neardup
from common import Command, write_lines
from neardup import __version__, data_card
from neardup.errors import ColumnError, InputError, OutputError, SpecError
from neardup.synth.demo_notes import NoteSpec, batches
from neardup.views.text.methods_text import methods_of, methods_of_index

SOURCES = ("abstracts|<b>", "web", "")


@pytest.fixture(scope="module")
def steps(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with raw documents, and the results of three steps."""
    folder = tmp_path_factory.mktemp("steps")
    notes = [row for rows, _ in batches(NoteSpec(documents=120, seed=3)) for row in rows]
    rows = [
        {"id": number, "text": note["text"], "source": SOURCES[number % 3]}
        for number, note in enumerate(notes)
    ]
    raw = write_lines(folder / "raw.jsonl", rows)
    texts = [" ".join(str(row["text"]).split()[:30]) for row in rows[::30]]
    tests = write_lines(folder / "test.jsonl", [{"text": text} for text in texts])
    neardup.dedup(raw, id="id", out=folder / "unique")
    clean = folder / "unique" / "clean"
    neardup.passages(clean, id="id", words=20, cut=True, out=folder / "cut")
    neardup.decontaminate(folder / "cut" / "clean", tests, id="id", out=folder / "published")
    return folder


def counted(path: Path, source: str | None = None) -> dict[str, int]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    texts = [row["text"] for row in rows if source is None or row["source"] == source]
    tokens = neardup.shingle_sets(texts, neardup.ShingleSpec(n=1, bag=True))
    size = sum(len(text.encode()) for text in texts)
    return {"documents": len(texts), "words": len(tokens.values), "bytes": size}


def test_three_steps_are_one_card(steps: Path, command: Command) -> None:
    """Documents, words and bytes before and after; what each step has removed and cut."""
    names = [steps / name for name in ("unique", "cut", "published")]
    asked = ("report", *names, "-o", steps / "card.json", "--format", "json", "--by", "source")
    answer = command(*asked, "--quiet")
    assert answer.code == 0, answer.err
    card = json.loads((steps / "card.json").read_text())
    clean = steps / "published" / "clean" / "part-00000.jsonl"
    assert {row["source"] for row in card["sources"]} == {None, *SOURCES}
    for row in card["sources"]:
        assert row["before"] == counted(steps / "raw.jsonl", row["source"])
        assert row["after"] == counted(clean, row["source"])
    records = [json.loads((name / "run.json").read_text()) for name in names]
    for step, record in zip(card["steps"], records, strict=True):
        assert step["command"] == record["command"] and step["versions"] == record["versions"]
        assert step["documents"] == record["counts"]["documents"]
        assert step["kept"] == record["counts"]["kept"]
    first, cut, last = card["steps"]
    counts = records[0]["counts"]
    assert first["removed"]["near"] + counts["same"] + counts["equal_words"] == counts["removed"]
    assert first["recipe_digest"] == records[0]["recipe_digest"]
    assert first["recall"] == {"predicted": records[0]["bands"]["predicted_recall"]}
    assert cut["removed"]["cut_words"] == records[1]["counts"]["cut_words"] > 0
    assert last["removed"]["contaminated"] == last["removed"]["documents"] > 0
    assert cut["recall"] == last["recall"] == {"predicted": 1}
    for word in ("near-duplicates were removed", "Jaccard", "[1]", "20 consecutive words", "[4]"):
        assert word in card["methods"]
    assert len(card["references"]) == 4
    assert command(*asked).code == 1  # it exists


def test_a_command_of_the_card_makes_the_same(steps: Path, command: Command) -> None:
    asked = ["--threshold", "0.8", "--shingle", "word:4", "--keep", "longest", "--quiet"]
    command("dedup", steps / "raw.jsonl", "-o", steps / "first one", "--id", "id", *asked)
    card = json.loads(data_card(neardup.open(steps / "first one"), format="json"))
    words = shlex.split(card["steps"][0]["line"])
    assert words[:2] == ["neardup", "dedup"]
    words[-1] = str(steps / "again")
    assert command(*words[1:], "--quiet").code == 0
    one, two = (
        json.loads((steps / name / "run.json").read_text()) for name in ("first one", "again")
    )
    assert one["spec"] == two["spec"] and one["counts"] == two["counts"]
    again = neardup.open(steps / "again").recluster(threshold=0.9)
    line = json.loads(data_card(again, format="json"))["steps"][0]["line"]
    assert line.startswith("neardup dedup ") and "--threshold 0.9" in line


def test_the_parser_of_hugging_face_reads_it(steps: Path) -> None:
    runs = [neardup.open(steps / name) for name in ("unique", "cut", "published")]
    text = data_card(*runs, by="source", title='A "card": of | notes')
    card = DatasetCard(text)
    assert card.data.to_dict() == {
        "pretty_name": 'A "card": of | notes',
        "size_categories": ["n<1K"],
        "tags": ["deduplicated", "neardup"],
    }
    assert "| abstracts\\|&lt;b&gt; | 40 |" in text and "| no value | 40 |" in text
    assert "<b>" not in text and "neardup dedup" in text
    heads, *tables = [line.count(" | ") for line in text.splitlines() if line.startswith("| ")][:4]
    assert set(tables) == {heads}


def test_test_items_are_in_the_command(steps: Path, tmp_path: Path, command: Command) -> None:
    """It makes the same corpus; items that were left out are in the methods."""
    lines = (steps / "test.jsonl").read_text().splitlines()
    items = ["of the", *(json.loads(line)["text"] for line in lines)]
    tests = [{"q": k, "question": text} for k, text in enumerate(items)]
    path = write_lines(tmp_path / "two words.jsonl", tests)
    train = steps / "cut" / "clean"
    how: dict[str, Any] = {"id": "id", "test_text": "question", "test_id": "q"}
    run = neardup.decontaminate(train, path, max_documents=0.5, out=tmp_path / "out", **how)
    card = json.loads(neardup.data_card(run, format="json"))
    assert "1 item that more than 50.0 % of the documents have was left out." in card["methods"]
    line = shlex.split(card["steps"][0]["line"])
    assert line[2:4] == [str(train), "--id"] and line[-2] == "-o"
    assert command(*line[1:-1], tmp_path / "again").code == 0
    again = neardup.open(tmp_path / "again")
    assert again.matches.equals(run.matches) and again.keep_mask.tolist() == run.keep_mask.tolist()
    frame = neardup.decontaminate(["a b c"], ["a b"])
    assert "--against TEST -o" in neardup.data_card(frame)


def test_methods_of_every_result(kernels: None, steps: Path, tmp_path: Path) -> None:
    """One paragraph, with the numbers of the record, whose references are all named."""
    texts = ["one two three four five six seven", "one two three four five six seven eight"]
    records = [
        neardup.dedup(texts, threshold=0.5).summary,
        neardup.dedup(texts, only_same=True).summary,
        neardup.dedup(texts, preset="clinical", within=None).summary,
        neardup.against(texts, texts[:1]).summary,
        neardup.passages([*texts, *texts], words=5).summary,
        neardup.decontaminate(texts, texts[:1], passage=5, cut=True).summary,
        neardup.decontaminate(texts, texts[:1], by="similarity").summary,
        neardup.link(
            [{"name": "Anna Meier"}, {"name": "Anna Maier"}] * 20, fields=["name"]
        ).summary,
    ]
    found = [methods_of(record) for record in records]
    with neardup.Index.create(tmp_path / "index") as index:
        found.append(methods_of_index(index.stats(), index.spec, __version__))
    for one in found:
        assert one.text.startswith(f"With neardup {__version__} [1], ") and "\n" not in one.text
        for number, of in enumerate(one.references, 1):
            assert f" [{number}]" in one.text and of not in one.text
    assert len(found[1].references) == 1 and "1 (50.0 %)" in found[0].text


def test_what_is_refused(steps: Path, tmp_path: Path, command: Command) -> None:
    unique, cut, published = (neardup.open(steps / n) for n in ("unique", "cut", "published"))
    with pytest.raises(InputError, match=r"has not read the clean corpus of .*cut") as raised:
        data_card(cut, unique)
    assert "name the steps" in raised.value.hint
    with pytest.raises(InputError, match="has not read") as raised:
        data_card(published, cut, unique)
    assert "unique before it" in raised.value.hint
    with pytest.raises(InputError, match="has not read"):
        data_card(unique, published)
    with pytest.raises(ColumnError, match="'nope'"):
        data_card(unique, by="nope")
    with pytest.raises(SpecError, match="`format` is 'pdf'; expected markdown or json"):
        data_card(unique, format="pdf")
    with pytest.raises(SpecError, match="no run"):
        data_card()
    linked = neardup.link([{"name": "Anna Meier"}, {"name": "Anna Maier"}] * 20, fields=["name"])
    with pytest.raises(InputError, match="result of records"):
        data_card(linked)
    with pytest.raises(OutputError, match="is an input"):
        data_card(unique, path=steps / "raw.jsonl", overwrite=True)
    damaged = tmp_path / "damaged"
    shutil.copytree(steps / "unique", damaged)
    (damaged / "clean" / "part-00000.jsonl").write_text("")
    with pytest.raises(InputError, match="its clean corpus has changed"):
        data_card(neardup.open(damaged))
    (damaged / "run.json").write_text("{")
    out = ("-o", tmp_path / "card.md", "--format", "markdown")
    assert "is damaged" in command("report", damaged, *out).error
    assert "no finished run" in command("report", tmp_path, *out).error
    assert "a page is of one run" in command("report", damaged, damaged, *out[:2]).error
    assert "--show is of a page" in command("report", steps / "cut", *out, "--show", "id").error
    assert command("report", steps / "cut", *out[:2], "--format", "pdf").code == 2


def test_no_documents_and_no_clean_corpus(kernels: None) -> None:
    assert "| all | 0 | 0 | 0 | 0 | 0 | 0 |" in data_card(neardup.dedup([]))
    run = neardup.dedup(["one text", "one text", "another"])
    assert "| all | 3 | 2 | 5 | 3 |" in data_card(run)


@pytest.mark.parametrize("old", ["index", "run", "files"])
def test_an_old_corpus_is_in_the_command(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch, old: str
) -> None:
    """It makes the same corpus, in the directory of the first run."""
    monkeypatch.chdir(tmp_path)
    texts = [" ".join(f"w{k}x{j}" for j in range(20)) for k in range(6)]
    write_lines(Path("the old.jsonl"), [{"key": f"o{k}", "body": texts[k]} for k in range(3)])
    write_lines(Path("new.jsonl"), [{"n": k, "text": texts[k]} for k in range(1, 6)])
    how = ("--old-text", "body", "--old-id", "key", "--threshold", "0.9")
    name: tuple[str, ...] = ("the old.jsonl", *how)
    if old != "files":
        name = ("the old",)
        asked = ("the old.jsonl", "--text", "body", "--id", "key")
        if old == "index":
            assert command("index", "create", *name, "--threshold", "0.9").code == 0
            assert command("index", "add", *name, *asked).code == 0
        else:
            assert command("dedup", *asked, "--threshold", "0.9", "-o", *name).code == 0
    new = ("new.jsonl", "--id", "n", "-o")
    assert command("dedup", *new, "first", "--old-only", "--against", *name).code == 0
    run = neardup.open("first")
    line = shlex.split(json.loads(data_card(run, format="json"))["steps"][0]["line"])
    assert line[line.index("--against") + 1] == name[0] and "--old-only" in line
    assert command(*line[1:-1], "again").code == 0
    again = neardup.open("again")
    assert again.summary["spec"] == run.summary["spec"] and again.matches.equals(run.matches)
    assert run.matches.num_rows == 2
    if old == "files":
        assert command("passages", *new, "copied", "--words", "5", "--against", *name[:5]).code == 0
        line = shlex.split(
            json.loads(data_card(neardup.open("copied"), format="json"))["steps"][0]["line"]
        )
        assert command(*line[1:-1], "more").code == 0
        first, more = neardup.open("copied"), neardup.open("more")
        assert more.passages.equals(first.passages) and first.passages.num_rows == 2


def test_a_corpus_without_a_name_is_said_to_have_none(kernels: None) -> None:
    texts = ["one two three four five six seven"]
    for run, name in (
        (neardup.against(texts, texts), "OLD"),
        (neardup.passages(texts, against=texts, words=5), "OLD"),
        (neardup.decontaminate(texts, texts), "TEST"),
    ):
        card = data_card(run)
        assert f"--against {name} " in card and f"* {name} in the command has no name" in card
        assert "* INPUT in the command has no name" in card
