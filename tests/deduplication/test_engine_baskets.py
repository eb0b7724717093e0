"""Lists of items as documents: from everything that has lists, by sets and by bags."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from common import Command
from neardup import ShingleSpec, Spec
from neardup.errors import ColumnError, EncodingError, InputError, SpecError
from neardup.sketch.baskets import basket_items, basket_text, basket_texts

THRESHOLD = 0.6
Basket = list[str | None] | None


def baskets() -> list[Basket]:
    """Baskets with blanks, line feeds and nothing in their items; half are changed copies."""
    draw = random.Random(5)
    names = [f"item {i}" for i in range(300)]
    names += ["a\nb", "a\\nb", "a\\", "\\", "", "x\u2028y", "ß"]
    found: list[Basket] = []
    for _ in range(80):
        basket = draw.sample(names, draw.randint(1, 30))
        found.append([*basket])
        for _ in range(draw.randint(0, 3)):
            copy = list(basket)
            for _ in range(draw.randint(0, 4)):
                copy[draw.randrange(len(copy))] = draw.choice(names)
            copy += copy[:1] * draw.randint(0, 2)
            draw.shuffle(copy)
            found.append([*copy])
    found += [None, [], ["x", None], ["x"], [None]]
    draw.shuffle(found)
    return found


BASKETS = baskets()


def jaccard(a: Basket, b: Basket, bag: bool) -> float:
    one, other = (Counter(i for i in basket or () if i is not None) for basket in (a, b))
    if not bag:
        one, other = Counter(set(one)), Counter(set(other))
    return (one & other).total() / max(1, (one | other).total())


def expected(bag: bool) -> list[int | None]:
    """The first kept basket that each is similar to."""
    found: list[int | None] = []
    for number, basket in enumerate(BASKETS):
        kept = (i for i in range(number) if found[i] is None)
        near = (i for i in kept if jaccard(BASKETS[i], basket, bag) >= THRESHOLD)
        found.append(next(near, None))
    return found


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("baskets")
    table = pa.table({"id": range(len(BASKETS)), "items": pa.array(BASKETS, pa.list_(pa.string()))})
    pq.write_table(table, folder / "a.parquet", row_group_size=50)
    with pa.ipc.new_file(str(folder / "a.arrow"), table.schema) as writer:
        writer.write_table(table)
    lines = [json.dumps({"id": i, "items": b}) + "\n" for i, b in enumerate(BASKETS)]
    (folder / "a.jsonl").write_text("".join(lines))
    return {
        "list": BASKETS,
        "table": table,
        "pandas": table.to_pandas(),
        "polars": pl.DataFrame(table),
        "dict": {"items": BASKETS},
        "series": pd.Series(BASKETS),
        "polars series": pl.Series("items", BASKETS),
        "dictionary": pa.table(
            {"items": table["items"].combine_chunks().cast(
                pa.list_(pa.dictionary(pa.int32(), pa.string())))}
        ),
        **{name: str(folder / f"a.{name}") for name in ("parquet", "arrow", "jsonl")},
    }  # fmt: skip


@pytest.mark.parametrize("bag", [False, True])
def test_baskets_from_everything(sources: dict[str, Any], bag: bool) -> None:
    spec = Spec(shingle=ShingleSpec("item", bag=bag), threshold=THRESHOLD, method="allpairs")
    wanted = expected(bag)
    assert sum(of is not None for of in wanted) > 50
    for name, source in sources.items():
        text = "text" if name == "list" else "items"
        run = neardup.dedup(source, text=text, spec=spec, progress=False)
        rows = run.clusters.select(["duplicate_of", "similarity"]).to_pylist()
        assert [row["duplicate_of"] for row in rows] == wanted, name
        for basket, row in zip(BASKETS, rows, strict=True):
            if (of := row["duplicate_of"]) is not None:
                assert row["similarity"] == jaccard(BASKETS[of], basket, bag)


def test_lists_in_memory_need_no_setting(sources: dict[str, Any]) -> None:
    run = neardup.dedup(BASKETS, threshold=THRESHOLD, progress=False)
    assert run.recipe.shingle == ShingleSpec("item") and len(run.removed) > 50
    for name in ("table", "pandas", "polars", "dict"):
        other = neardup.dedup(sources[name], text="items", threshold=THRESHOLD, progress=False)
        assert other.removed.tolist() == run.removed.tolist()
    assert neardup.plan(BASKETS, progress=False).documents == len(BASKETS)
    assert neardup.dedup([{1, 5, 7}, {7, 5, 1}], progress=False).removed.tolist() == [1]
    assert neardup.dedup(["one two", "One, two"], progress=False).removed.tolist() == [1]
    kept = run.clean().column("text").to_pylist()
    assert kept == [
        None if BASKETS[i] is None else [item for item in BASKETS[i] or () if item is not None]
        for i in run.kept
    ]


@pytest.mark.parametrize("name", ["parquet", "jsonl"])
def test_the_command(sources: dict[str, Any], name: str, tmp_path: Path, command: Command) -> None:
    out, source = tmp_path / "out", sources[name]
    words = ["--text", "items", "--id", "id", "--shingle", "item", "--threshold", str(THRESHOLD)]
    assert command("dedup", source, "-o", out, *words, "--quiet").code == 0
    run = neardup.open(out)
    assert [of is not None for of in expected(False)] == [not kept for kept in run.keep_mask]
    assert [path.suffix for path in (out / "clean").iterdir()] == [f".{name}"]
    found = run.explain(int(run.removed[3]))
    assert found.texts is not None
    assert all(sorted(text.split("\n")[:-1]) == text.split("\n")[:-1] for text in found.texts)
    if name == "parquet":  # one page is enough
        return
    assert command("report", out, "-o", tmp_path / "r.html", "--quiet").code == 0
    assert "items were compared as they are" in (tmp_path / "r.html").read_text().lower()


def test_an_index_of_baskets(
    sources: dict[str, Any], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = neardup.dedup(BASKETS, threshold=THRESHOLD, progress=False)
    index = neardup.Index.create(recipe=run.recipe, threshold=THRESHOLD)
    answers = index.add_if_new(BASKETS)
    assert answers.column("kept").to_pylist() == run.keep_mask.tolist()
    first = next(i for i in run.kept if BASKETS[i])
    basket: Any = BASKETS[first]
    assert index.get(first) == basket and index.is_duplicate(basket[::-1])
    assert index.query(basket).column("id").to_pylist()[0] == first
    assert index.query([basket, ["new"]]).column("query").to_pylist() == [0]
    index.update(first, ["quite", "new"])
    assert index.get(first) == ["quite", "new"]
    assert neardup.against(BASKETS[:40], index).keep_mask.sum() < 3
    folder = tmp_path / "baskets.index"
    made = command("index", "create", folder, "--shingle", "item", "--threshold", "0.6")
    assert made.code == 0
    with Path(sources["jsonl"]).open(encoding="utf-8") as lines:
        monkeypatch.setattr(sys, "stdin", lines)
        done = command("stream", "--index", folder, "--text", "items")
    assert done.code == 0, done.err
    kept = [json.loads(line)["kept"] for line in done.out.splitlines()]
    assert abs(sum(kept) - len(run.kept)) < 5
    found = command("index", "query", folder, sources["parquet"], "--text", "items")
    assert found.code == 0 and found.out.count("\n") >= sum(kept)


def test_what_is_no_basket(sources: dict[str, Any], tmp_path: Path) -> None:
    for name in ("parquet", "table"):
        with pytest.raises(ColumnError, match="has the type list") as error:
            neardup.dedup(sources[name], text="items", shingle="word:5", progress=False)
        assert "`shingle`='item'" in error.value.hint
    with pytest.raises(ColumnError, match="line 1: column 'items' is an array") as error:
        neardup.dedup(sources["jsonl"], text="items", progress=False)
    assert "'item'" in error.value.hint
    with pytest.raises(InputError, match="record 1 is list, not a string"):
        neardup.dedup([["a"]], preset="clinical", progress=False)
    with pytest.raises(InputError, match="record 2 is str, not a list of items"):
        neardup.dedup([["a"], "b"], progress=False)
    with pytest.raises(InputError, match="record 1 has an item of type float"):
        neardup.dedup([["a", 0.5]], progress=False)
    with pytest.raises(ColumnError, match=r"list<.*double>, expected lists of strings or integers"):
        neardup.dedup(pa.table({"text": [[0.5]]}), shingle="item", progress=False)
    with pytest.raises(InputError, match="an item is of type float"):
        neardup.Index.create(shingle="item").add([["a", 0.5]])
    bad = pa.array([["a"], [b"\xff"]], pa.list_(pa.binary())).view(pa.list_(pa.string()))
    with pytest.raises(EncodingError, match="record 2: an item of column 'text' is not valid UTF"):
        neardup.dedup(pa.table({"text": bad}), shingle="item", progress=False)
    file = tmp_path / "bad.jsonl"
    for value, what in (
        ('"a b"', "is no array"),
        ("[[1]]", "item of column 'text' is of type list"),
    ):
        file.write_text('{"text": ["a"]}\n{"text": ' + value + "}\n")
        with pytest.raises(ColumnError, match=f"line 2.*{what}"):
            neardup.dedup(str(file), shingle="item", progress=False)
    csv = tmp_path / "bad.csv"
    csv.write_text("text\nmilk\n")
    with pytest.raises(ColumnError, match="is no array"):
        neardup.dedup(str(csv), shingle="item", progress=False)
    for wrong in ({"n": 2}, {"nfkc": True}, {"keep_case": True}, {"stem": "english"}):
        with pytest.raises(SpecError):
            ShingleSpec("item", **wrong)
    with pytest.raises(SpecError, match="decontamination compares texts"):
        neardup.decontaminate(["a"], ["b"], shingle="item")


def test_texts_of_baskets() -> None:
    for basket in BASKETS:
        items = [item for item in basket or () if item is not None]
        assert basket_items(basket_text(items)) == items
    lists = pa.array(BASKETS, pa.large_list(pa.large_string()))
    assert basket_texts(lists).to_pylist() == [basket_text(basket or ()) for basket in BASKETS]
    assert basket_texts(lists[7:20]).to_pylist() == basket_texts(lists).to_pylist()[7:20]
    numbers = pa.chunked_array([[[1, 5], None], [[7, None]]])
    assert basket_texts(numbers).to_pylist() == ["1\n5\n", "", "7\n"]
    assert neardup.similarity(["milk", "ice cream"], ["ice cream"]) == 0.5
    assert neardup.similarity(["a", "a", "b"], ["a"], ShingleSpec("item", bag=True)) == 1 / 3
    assert (
        neardup.signatures([["a", "b"], ["b", "a"]], 8, shingle=ShingleSpec("item")).std(0).max()
        == 0
    )


def test_shingles_of_4_bytes() -> None:
    """Of n hashes of 4 bytes, some n^2 / 2^33 collide; those of 8 bytes don't."""
    text = " ".join(map(str, range(300_000)))
    sizes = [
        len(neardup.shingle_sets([text], ShingleSpec(n=1, hash_bytes=b)).values) for b in (8, 4)
    ]
    assert sizes[0] == 300_000 and 1 <= sizes[0] - sizes[1] <= 30
    four = ShingleSpec(n=2, hash_bytes=4)
    assert neardup.similarity("a b c d", "a b c e", four) == 0.5
    texts = ["one two three four five six", "One two, three four five six", "else"]
    run = neardup.dedup(texts, shingle=ShingleSpec(hash_bytes=4), progress=False)
    assert run.removed.tolist() == [1] and run.recipe != neardup.Recipe(
        num_bands=run.recipe.num_bands
    )
    assert neardup.shingle_sets(["a b a b a b"], ShingleSpec(n=2, bag=True)).values.itemsize == 8
    for bag in (False, True):
        spec = neardup.Spec(shingle=ShingleSpec(n=2, hash_bytes=4, bag=bag))
        with neardup.Index.create(spec=spec, store_text=False) as index:
            index.add(["a b a b a b c d"])
            assert index.query("a b a b a b c d").column("similarity").to_pylist() == [1.0]
            assert index.query("a b a b a b").column("similarity").to_pylist() == (
                [neardup.similarity("a b a b a b c d", "a b a b a b", spec.shingle)] if bag else []
            )
            (row,) = index._core.catalogue.rows("SELECT length(body) FROM documents")
            assert row == (4 * (7 if bag else 4),)
    with pytest.raises(SpecError, match="`hash_bytes` is 2; expected 4 or 8"):
        ShingleSpec(hash_bytes=2)
