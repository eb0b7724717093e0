"""The calls of an index: what they take, return and refuse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import neardup
from common import SECRET, some_rows, write_lines
from neardup.errors import (
    ArgumentError,
    DuplicateIdError,
    InputError,
    InputNotFoundError,
    OutputError,
    RecipeError,
    SpecError,
    StoreError,
    UnknownIdError,
)

TWO = neardup.ShingleSpec(n=2)


def small(**more: Any) -> neardup.Index:
    return neardup.Index.create(shingle=TWO, threshold=0.5, **more)


@pytest.mark.long
def test_a_first_query_does_not_import_pandas() -> None:
    code = (
        "import sys, neardup\n"
        "index = neardup.Index.create(shingle='word:2', threshold=0.5)\n"
        "index.add(['a b c d'], ids=['p'])\n"
        "assert [index.query(text).num_rows for text in ('x y z', 'a b c e d')] == [0, 0]\n"
        "assert index.query('a b c d').num_rows == index.query(['a b c d']).num_rows == 1\n"
        "assert index.add_if_new('q', 'a b c d').duplicate_of == 'p'\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_file_is_no_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a file as a string: a document of that id, unless the text may be a column."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "notes.jsonl", [{"body": "a b c d"}])
    index = small()
    with pytest.raises(ArgumentError, match="is a file, and was given as the id") as caught:
        index.add("notes.jsonl", text="body")
    assert "pathlib.Path" in caught.value.hint
    for given in ({"id": "key"}, {"ids": ["a"]}, {"delimiter": ";"}):
        with pytest.raises(ArgumentError, match="is for several documents") as caught:
            index.add("notes.jsonl", "body", **given)
        assert "pathlib.Path" in caught.value.hint
    with pytest.raises(ArgumentError, match="is for several documents"):
        index.add_if_new("a", "one text", ids=["a"])
    assert index.add("notes.jsonl", "a text of several words") == 1
    assert index.add("none.jsonl", "word") == 1
    assert index.add_if_new("third", "word of others").kept
    assert index.ids().to_pylist() == ["notes.jsonl", "none.jsonl", "third"]


def test_a_query_is_exact_and_in_order() -> None:
    index = small()
    index.add(["a b c d", "a b c e", "a b c d", "x y z", ""], ids=["q", "p", "o", "x", "empty"])
    found = index.query("A b, c d!")
    assert found.schema.names == [
        "query",
        "id",
        "similarity",
        "query_contained",
        "match_contained",
    ]
    rows = found.to_pylist()
    assert [(row["id"], row["similarity"]) for row in rows] == [("o", 1.0), ("q", 1.0), ("p", 0.5)]
    assert rows[2]["query_contained"] == rows[2]["match_contained"] == 2 / 3
    assert index.query("a b c d", top=1).column("id").to_pylist() == ["o"]
    assert index.query("a b c d", threshold=0.9).num_rows == 2
    assert index.query(["", "x y z", "nothing like it"]).column("query").to_pylist() == [1]
    assert index.query("").num_rows == 0 and not index.is_duplicate("")
    table = pa.table({"body": ["x y z", "a b c d"], "key": ["k1", "k2"]})
    named = index.query(table, text="body", id="key", top=1)
    assert named.column("query").to_pylist() == ["k1", "k2"]
    first = index.first_matches(["a b c d", "zz"]).to_pylist()
    assert [(row["query"], row["id"]) for row in first] == [(0, "q")]


def test_batches_of_one_and_of_many_give_the_same_answers() -> None:
    texts = [row["text"] for row in some_rows(60)]
    index = neardup.Index.create(threshold=0.6)
    index.add(texts, ids=range(60))
    whole = index.query(texts).to_pylist()
    each = [
        {**row, "query": i} for i, text in enumerate(texts) for row in index.query(text).to_pylist()
    ]
    assert whole == each and len(whole) == 100
    index.compact()
    assert index.query(texts).to_pylist() == whole


def test_a_threshold_below_that_of_the_bands_is_refused() -> None:
    index = neardup.Index.create(spec=neardup.Spec(threshold=0.7, num_bands=17, rows=4))
    with pytest.raises(SpecError, match=r"would find 66\.6% of the pairs at 0\.5"):
        index.query("some text", threshold=0.5)
    for wrong in (0, 1.5, "x"):
        with pytest.raises(SpecError):
            index.query("some text", threshold=wrong)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="top"):
        index.query("some text", top=0)


def test_ids() -> None:
    index = small()
    assert index.add(["a b", "c d"]) == 2  # numbers without ids
    assert index.ids().to_pylist() == [0, 1]
    assert 1 in index and 5 not in index and "1" not in index and None not in index
    with pytest.raises(InputError, match="kind"):
        index.add(["e f"], ids=["text"])
    with pytest.raises(InputError, match="kind"):
        small().add(["e f", "g h"], ids=["text", 1])
    for wrong in (True, 1.5, None, 2**63, b"x", "\ud800"):
        with pytest.raises(InputError, match="id"):
            small().add(["e f"], ids=[wrong])  # type: ignore[list-item]
    for texts, ids in ((["a"], [1, 2]), (["a", "b"], [1])):
        with pytest.raises(SpecError, match="ids"):
            small().add(texts, ids=ids)
    with pytest.raises(InputError, match="surrogate"):
        small().add(["\ud800"], ids=[1])


def test_conflicts() -> None:
    index = small()
    index.add(["a b c", SECRET], ids=["p", "q"])
    for call in (
        lambda: index.add(["x y", "new"], ids=["n", "q"]),
        lambda: index.add(["x y", "new"], ids=["n", "n"]),
        lambda: index.add_if_new("q", "another text"),
    ):
        with pytest.raises(DuplicateIdError) as caught:
            call()
        assert SECRET not in str(caught.value)
        assert index.ids().to_pylist() == ["p", "q"]
    assert index.add(["x y", "new one"], ids=["n", "q"], on_conflict="skip") == 1
    assert index.get("q") == SECRET
    assert index.add(["new one"], ids=["q"], on_conflict="replace") == 1
    assert index.get("q") == "new one" and index.ids().to_pylist() == ["p", "n", "q"]
    with pytest.raises(SpecError):
        index.add(["x"], ids=["z"], on_conflict="other")  # type: ignore[arg-type]
    same = index.add_if_new("q", "new one")
    assert same.kept and same.duplicate_of is None
    assert len(index) == 3 and index.check() == []


def test_a_stream_that_is_sent_again_adds_nothing() -> None:
    texts = [row["text"] for row in some_rows()]
    index = neardup.Index.create()
    first = index.add_if_new(texts, ids=range(30))
    again = index.add_if_new([*texts, *texts], ids=[*range(30), *range(30)])
    assert again.slice(0, 30).equals(first) and again.slice(30).equals(first)
    assert len(index) == 20


def test_remove_and_update() -> None:
    index = small()
    index.add(["a b c d", "x y z"], ids=[1, 2])
    with pytest.raises(UnknownIdError, match="no document with the id 3"):
        index.remove([1, 3])
    assert len(index) == 2
    answer = index.update(1, "e f g")
    assert (answer.id, answer.kept, answer.duplicate_of, answer.released) == (1, True, None, [])
    assert not index.is_duplicate("a b c d") and index.is_duplicate("e f g")
    assert index.ids().to_pylist() == [2, 1]
    assert index.remove(2) == []
    assert index.get(1) == "e f g" and not index.is_duplicate("x y z")
    for call in (
        lambda: index.update(2, "x"),
        lambda: index.remove(2),
        lambda: index.get(2),
        lambda: index.explain("x", 2),
    ):
        with pytest.raises(UnknownIdError, match="no document with the id 2") as caught:
            call()
        assert isinstance(caught.value, KeyError | InputError) and caught.value.hint
    assert index.explain("e f g h", 1).shared == 2


def test_shingles_instead_of_texts(tmp_path: Path) -> None:
    index = small(path=tmp_path / "i", store_text=False)
    index.add([f"a b c {SECRET}"], ids=["p"])
    assert index.get("p") is None
    assert index.query(f"a b c {SECRET}").num_rows == 1
    with pytest.raises(InputError, match="shingles only"):
        index.explain("a b c", "p")
    with pytest.raises(InputError, match="shingles only"):
        small().merge(index)
    index.close()
    assert all(SECRET.encode() not in p.read_bytes() for p in (tmp_path / "i").iterdir())


def test_merging_two(tmp_path: Path) -> None:
    one, two = small(), small(path=tmp_path / "two")
    one.add(["a b c", "d e f"], ids=["p", "q"])
    two.add(["g h i", "d e g"], ids=["r", "q"])
    with pytest.raises(DuplicateIdError):
        one.merge(two)
    assert one.merge(two, on_conflict="skip") == 1
    assert one.ids().to_pylist() == ["p", "q", "r"] and one.get("q") == "d e f"
    with pytest.raises(RecipeError, match="shingle"):
        one.merge(neardup.Index.create())
    with pytest.raises(SpecError, match="itself"):
        one.merge(one)


@pytest.mark.parametrize("method", ["lsh", "allpairs"])
@pytest.mark.parametrize("bag", [False, True])
def test_merging_two_without_texts(method: str, bag: bool) -> None:
    shingle = neardup.ShingleSpec(n=2, bag=bag)
    spec = neardup.Spec(shingle=shingle, threshold=0.5, method=method)
    texts = [row["text"] for row in some_rows()] + ["", "one", "a b a b a b", "a b"]
    one, two, whole = (neardup.Index.create(spec=spec, store_text=False) for _ in range(3))
    one.add(texts[:10], ids=range(10))
    two.add(texts[8:], ids=range(8, len(texts)))
    two.remove(12)
    assert one.merge(two, on_conflict="skip") == len(texts) - 11
    whole.add(texts, ids=range(len(texts)))
    whole.remove(12)
    assert one.query(texts).equals(whole.query(texts)) and whole.query(texts).num_rows > len(texts)
    assert one.check() == []
    with_texts = neardup.Index.create(spec=spec)
    with_texts.add(["a b", "new words"], ids=[12, 99])
    assert one.merge(with_texts) == 2
    assert one.query("new words").column("id").to_pylist() == [99]
    with pytest.raises(InputError, match="this one stores texts"):
        with_texts.merge(one)


def test_a_run_becomes_an_index(tmp_path: Path) -> None:
    rows = some_rows()
    run = neardup.dedup(write_lines(tmp_path / "in.jsonl", rows), id="id", out=tmp_path / "out")
    index = neardup.Index.from_run(tmp_path / "out", tmp_path / "i")
    assert index.ids().to_pylist() == run.kept.tolist()
    assert index.recipe == neardup.Recipe.from_dict(run.summary["recipe"])
    texts = {row["id"]: row["text"] for row in rows}
    for id_ in index.ids().to_pylist():
        assert index.get(id_) == texts[id_]
    # What was removed is a duplicate of what the run said.
    for row in run.duplicates.to_pylist():
        answer = index.add_if_new(row["doc_id"], texts[row["doc_id"]])
        assert (answer.duplicate_of, answer.similarity) == (row["duplicate_of"], row["similarity"])
    ordered = neardup.dedup(pa.Table.from_pylist(rows), id="id", order_by="date")
    assert set(neardup.Index.from_run(ordered).ids().to_pylist()) == set(ordered.kept.tolist())


def test_files_and_tables(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", some_rows())
    index = neardup.Index.create(tmp_path / "i", threshold=0.8)
    assert index.add(path, id="id") == 30
    assert index.add(pa.table({"text": ["something else"], "id": ["new"]}), id="id") == 1
    with pytest.raises(SpecError, match="Path"):
        index.add(str(path))
    assert len(index) == 31
    assert "31 documents" in repr(index) and index.spec.threshold == 0.8


def test_what_cannot_be_made_or_opened(tmp_path: Path) -> None:
    with pytest.raises(InputNotFoundError, match="no index"):
        neardup.Index.open(tmp_path / "none")
    neardup.Index.create(tmp_path / "i").close()
    with pytest.raises(OutputError, match="exists"):
        neardup.Index.create(tmp_path / "i")
    neardup.Index.create(tmp_path / "new" / "folder").close()
    with pytest.raises(OutputError, match="not a folder that can be written"):
        neardup.Index.create(tmp_path / "i" / "index.sqlite" / "below")
    with pytest.raises(SpecError, match="preset"):
        neardup.Index.create(preset="web", spec=neardup.Spec())
    with pytest.raises(SpecError, match="durable"):
        neardup.Index.create(durable="never")  # type: ignore[arg-type]
    readonly = neardup.Index.open(tmp_path / "i", readonly=True)
    with pytest.raises(StoreError, match="reading only"):
        readonly.add(["x"])
    assert len(readonly) == 0 and readonly.query("some words").num_rows == 0
    (tmp_path / "i" / "index.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match="damaged"):
        neardup.Index.open(tmp_path / "i")


def test_a_template_that_many_share() -> None:
    """A family below the threshold stays, and one above is found at its first document."""
    head = " ".join(f"head{i}" for i in range(30))
    texts = [f"{head} " + " ".join(f"x{i}y{j}" for j in range(40)) for i in range(300)]
    index = neardup.Index.create(threshold=0.7)
    answers = index.add_if_new(texts, ids=range(300))
    assert answers.column("kept").to_pylist() == [True] * 300
    near = [text.replace("head3 ", "head ") for text in texts[:50]]
    found = index.add_if_new(near, ids=range(1000, 1050)).column("duplicate_of").to_pylist()
    assert found == list(range(50))


def test_a_walk_through_the_buckets(tmp_path: Path) -> None:
    """Of segments and the log together: those of the keys of all documents."""
    rng = np.random.default_rng(4)
    texts = [" ".join(map(str, rng.integers(0, 4, 6))) for _ in range(300)]
    names = [f"n{i}" for i in range(len(texts))]
    index = small(path=tmp_path / "walk.index")
    index.add(texts[:200], ids=names[:200])
    index.compact()
    index.add([*texts[200:], ""], ids=[*names[200:], "empty"])
    index.remove("n7")
    keys = neardup.signatures(texts, index.recipe.num_hashes, shingle=TWO)
    keys = neardup.band_keys(keys, index.recipe.num_bands, index.recipe.rows)
    expected = []
    for column in keys.T.tolist():
        buckets: dict[int, list[str]] = {}
        for name, key in zip(names, column, strict=True):
            if name != "n7":
                buckets.setdefault(key, []).append(name)
        expected += list(buckets.values())
    assert sorted(index.buckets(1)) == sorted(expected)
    assert sorted(index.buckets()) == sorted(ids for ids in expected if len(ids) > 1)
    pairs = {frozenset((a, b)) for ids in index.buckets() for a in ids for b in ids if a < b}
    a, b = neardup.candidate_pairs(keys)
    found = {frozenset((names[i], names[j])) for i, j in zip(a.tolist(), b.tolist(), strict=True)}
    assert pairs == {pair for pair in found if "n7" not in pair}
    with_keys = [
        (band, key, [n for n, one in zip(names, column, strict=True) if one == key and n != "n7"])
        for band, column in enumerate(keys.T.tolist())
        for key in dict.fromkeys(column)
    ]
    assert sorted(index.buckets(1, keys=True)) == sorted(one for one in with_keys if one[2])
    assert sorted(index.buckets(keys=True)) == sorted(one for one in with_keys if len(one[2]) > 1)
    assert next(iter(index.buckets(keys=True))).ids == next(index.buckets())
    assert list(small().buckets()) == [] == list(small().buckets(keys=True))
    with pytest.raises(SpecError, match="`minimum` is 0"):
        index.buckets(0)
