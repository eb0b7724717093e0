"""`boilerplate`: runs of words that many documents have are ignored in all of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killing import outputs

import neardup
from common import write_lines
from neardup import Spec
from neardup.errors import InputError, SpecError

HEAD = " ".join(f"h{i}" for i in range(300))


def forms() -> list[str]:
    """120 texts with a header of 300 words; the first one has a copy, but for its case."""
    rng = random.Random(5)
    bodies = [" ".join(f"b{rng.randrange(10**6)}" for _ in range(40)) for _ in range(120)]
    texts = [f"{HEAD} {body}" for body in bodies]
    texts[77] = texts[0].upper()
    return texts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [{"id": i, "text": text} for i, text in enumerate(forms())]
    return write_lines(tmp_path / "forms.jsonl", rows)


@pytest.mark.parametrize("method", ["lsh", "allpairs"])
def test_all_but_the_copy_are_kept(method: str) -> None:
    spec = Spec(method=method)
    assert sum(neardup.dedup(forms(), spec=spec).keep_mask) == 1
    run = neardup.dedup(forms(), spec=spec, boilerplate=50)
    assert sum(run.keep_mask) == 119
    assert not run.keep_mask[77]
    (row,) = run.table("boilerplate").to_pylist()
    assert (row["words"], row["documents"], row["text"]) == (300, 120, HEAD)
    assert run.notes == [
        "boilerplate: 1 text of 25 words or more in 50 documents or more, which were not compared"
    ]


def test_in_two_steps(path: Path, tmp_path: Path) -> None:
    found = neardup.passages(path, id="id", boilerplate=50, out=tmp_path / "found")
    assert found.boilerplate["text"].to_pylist() == [HEAD]
    given = tmp_path / "found" / "boilerplate.parquet"
    two = neardup.dedup(path, id="id", stop_passages=given)
    one = neardup.dedup(path, id="id", boilerplate=50, out=tmp_path / "one")
    assert one.clusters["duplicate_of"].equals(two.clusters["duplicate_of"])
    assert one.recipe == two.recipe
    assert neardup.against(path, one, id="id").summary["counts"]["removed"] == 120


def test_without_texts(path: Path, tmp_path: Path) -> None:
    found = neardup.passages(path, boilerplate=50, texts=False, out=tmp_path / "found")
    assert "text" not in found.boilerplate.column_names
    with pytest.raises(InputError, match="text"):
        neardup.dedup(path, stop_passages=tmp_path / "found" / "boilerplate.parquet")


def test_texts_of_an_old_corpus(path: Path) -> None:
    old = pa.table({"text": forms()[:60]})
    found = neardup.passages(path, against=old, boilerplate=50)
    assert found.boilerplate["text"].to_pylist() == [HEAD]
    assert found.boilerplate["in_old"].to_pylist() == [True]


def test_resumed(path: Path, tmp_path: Path) -> None:
    """A run that was interrupted ends with the same bytes, and does not look again."""
    how: dict[str, Any] = {"id": "id", "boilerplate": 50}
    neardup.dedup(path, out=tmp_path / "one", **how)
    stages = set[str]()

    def stop(event: Any) -> None:
        if event.stage == "shingle sets":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        neardup.dedup(path, out=tmp_path / "two", progress=stop, **how)
    run = neardup.dedup(
        path, out=tmp_path / "two", resume=True, progress=lambda e: stages.add(e.stage), **how
    )
    assert "find anchors" not in stages
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")
    assert run.summary["counts"]["kept"] == 119
    again = neardup.dedup(path, out=tmp_path / "two", resume=True, **how)
    assert again.summary["date"] == run.summary["date"]


def test_what_is_read_once(path: Path) -> None:
    table = pa.table({"text": forms()})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=50))
    assert sum(neardup.dedup(reader, boilerplate=50).keep_mask) == 119


def test_none_is_there(tmp_path: Path) -> None:
    run = neardup.dedup(["one two", "three four"], boilerplate=2, out=tmp_path / "out")
    assert run.table("boilerplate").num_rows == 0
    assert pq.read_table(tmp_path / "out" / "boilerplate.parquet").num_rows == 0
    assert sum(neardup.dedup([], boilerplate=2).keep_mask) == 0


def test_refused(path: Path, tmp_path: Path) -> None:
    for number in (1, -1):
        with pytest.raises(SpecError, match=r"`boilerplate` is -?1; expected 2 documents"):
            neardup.dedup(path, boilerplate=number)
    assert sum(neardup.dedup(path, boilerplate=0).keep_mask) == 1
    for shingle in ("char:5", "word:3"):
        assert sum(neardup.dedup(path, boilerplate=50, shingle=shingle).keep_mask) == 119
    spec = Spec(boilerplate=50)
    for call in (
        lambda: neardup.plan(path, spec=spec),
        lambda: neardup.against(path, path, spec=spec),
        lambda: neardup.Index.create(spec=spec),
        lambda: neardup.sketch_corpus(path, spec=spec, store=f"sqlite:{tmp_path / 'k'}", run="x"),
        lambda: neardup.dedup([["a"], ["b"]], boilerplate=50),
        lambda: Spec(boilerplate=50).replace(shingle="char:3", raw=True),
    ):
        with pytest.raises(SpecError, match="`boilerplate`"):
            call()


def test_a_plan_names_it(path: Path) -> None:
    (found,) = (one for one in neardup.plan(path).warnings if one.kind == "boilerplate")
    assert "`boilerplate`=N compares the rest" in found.text
    assert "--boilerplate N compares the rest" in str(neardup.dedup(path))
