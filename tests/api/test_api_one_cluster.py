"""Texts of one cluster side by side, and the charts of results as Matplotlib axes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import Command, write_lines

WORDS = [f"w{i}" for i in range(40)]
TEXTS = {
    "id": ["one", "two", "three", "other"],
    "text": [
        " ".join(WORDS),
        " ".join([*WORDS[:-1], "<b>changed</b>"]),
        " ".join(WORDS),
        " ".join(f"x{i}" for i in range(40)),
    ],
}


@pytest.fixture(scope="module")
def run(kernels: None) -> neardup.DedupRun:
    return neardup.dedup(TEXTS, id="id")


def test_a_cluster_has_its_texts_side_by_side(run: neardup.DedupRun) -> None:
    found = run.cluster("two")
    assert [one.doc_id for one in found.members] == ["one", "two"]
    assert (found.documents, found.texts, found.members[0].copies) == (3, 2, 1)
    assert found.members[0].kept
    text = str(found)
    assert text == repr(found) and text.startswith(
        "Cluster 0: 3 documents with 2 texts.\n\none: kept, and 1 more with this text\nw0 w1"
    )
    assert "[-w39-]{+b>changed</b+}" in text.replace("{+<b", "{+b"), text
    page = found._repr_html_()
    assert page is not None and "<b>changed" not in page and page.count("white-space") == 2
    few = run.cluster("two", limit=1)
    assert [one.doc_id for one in few.members] == [
        "two"
    ] and "; 2 documents with other texts left out" in str(few)
    # A copy that is asked about has a row of its text in any case.
    three = run.cluster("three")
    assert [one.doc_id for one in three.members] == ["one", "three", "two"]
    assert [one.copies for one in three.members] == [0, 0, 0] and three.left_out == 0
    assert "three: removed, 1.0000 to one" in str(three)
    assert run.cluster("other").documents == 1
    with pytest.raises(neardup.SpecError, match="`limit` is 0"):
        run.cluster("one", limit=0)
    with pytest.raises(neardup.InputError, match="no document has the id nobody"):
        run.cluster("nobody")


@pytest.mark.parametrize("order_by", [None, "rank"])
def test_many_copies_are_a_number(kernels: None, order_by: str | None) -> None:
    near = [" ".join([*WORDS[:-2], f"y{i}", f"z{i}"]) for i in range(3)]
    texts = [TEXTS["text"][0], *near, TEXTS["text"][0]] * 60
    frame = {"text": texts, "rank": [*range(len(texts))][::-1]}
    found = neardup.dedup(frame, order_by=order_by).cluster(150)
    assert (found.documents, found.texts, found.left_out) == (300, 4, 0)
    assert found.members[0].text == texts[0] and len(found.members) <= 5
    assert sum(1 + one.copies for one in found.members) == 300
    few = neardup.dedup(frame, order_by=order_by).cluster(1, limit=2)
    assert len(few.members) == 2 and few.left_out == 120
    assert "300 documents with 4 texts; 120 documents with other texts left out" in str(few)


def test_charts_as_axes(run: neardup.DedupRun, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    axes = run.plot()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[-1] == "1" and axes.get_title(loc="left") == "Removed documents by similarity"
    assert [text.get_text() for text in axes.texts][-1] == "1"
    mine = pyplot.subplots()[1]
    assert run.audit(sample=4, progress=False).plot(ax=mine) is mine
    assert run.explain("two").plot() is not None
    pyplot.close("all")
    with pytest.raises(neardup.SpecError, match="no chart of these results"):
        run.evaluate([("one", "two")]).plot()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(neardup.DependencyError, match="Matplotlib is not installed") as caught:
        run.plot()
    assert caught.value.hint == "pip install matplotlib"


def test_similarity_1_and_equal_tokens_are_told_apart(kernels: None) -> None:
    swapped = "a b c d e f a b c d e", "f a b c d e f a b c d"
    run = neardup.dedup(list(swapped), shingle="word:2")
    assert run.duplicates.column("similarity").to_pylist() == [1.0]
    assert run.summary["counts"]["equal_tokens"] == 0
    shown = run._repr_html_()
    assert shown is not None and "similarity 1<" in shown and "all shingles are the same" in shown


def test_pairs_with_both_texts(command: Command, run: neardup.DedupRun, tmp_path: Path) -> None:
    table = run.pairs()
    assert table.column_names == ["id_a", "id_b", "similarity", "text_a", "text_b"]
    assert table.column("id_b").to_pylist() == ["two", "three"]
    assert table.column("text_b").to_pylist() == TEXTS["text"][1:3]
    rows: list[dict[str, Any]] = [
        {"id": "=a", "text": f"=1+1 {TEXTS['text'][0]}"},
        {"id": "b", "text": f'=1+1 {TEXTS["text"][1]}, "x"\nü'},
    ]
    source = write_lines(tmp_path / "notes.jsonl", rows)
    assert command("dedup", source, "--id", "id", "-o", tmp_path / "out").code == 0
    shown = command("pairs", tmp_path / "out").out.splitlines()
    assert shown[0] == "id_a,id_b,similarity" and shown[1].startswith("'=a,b,0.")
    file = tmp_path / "pairs.csv"
    done = command("pairs", tmp_path / "out", "--texts", "--bom", "-o", file)
    assert done.code == 0 and done.err == f"written      {file}\n"
    assert (
        file.read_bytes().startswith("\ufeffid_a,".encode()) and b",'=1+1 w0" in file.read_bytes()
    )
    assert '""x""\nü"\r\n' in file.read_bytes().decode()
    assert file.stat().st_mode & 0o777 == 0o600
    assert "exists" in command("pairs", tmp_path / "out", "-o", file).error
    marked = command("pairs", tmp_path / "out", "--bom").out
    assert marked == "\ufeff" + command("pairs", tmp_path / "out").out
    assert command("pairs", tmp_path / "out", "-o", file, "--overwrite").code == 0
    assert file.read_bytes().startswith(b"id_a,")
    listed = tmp_path / "listed"
    assert command("dedup", source, "--id", "id", "-o", listed, "--pairs", "all").code == 0
    assert len(command("pairs", listed, "--texts").out.splitlines()) == 3
