"""An input without documents has an empty result, with a note: a file as well as a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from common import Command, write_lines

NOTE = "the input has no documents"
NOTHING = pa.table({"id": pa.array([], pa.int64()), "text": pa.array([], pa.string())})


def made(folder: Path, kind: str) -> Path:
    path = folder / f"nothing.{kind}"
    if kind == "parquet":
        pq.write_table(NOTHING, path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, NOTHING.schema) as writer:
            writer.write_table(NOTHING)
    else:
        path.write_text({"csv": "id,text\n", "jsonl": "", "tsv": "id\ttext\n\n"}[kind])
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "parquet", "arrow", "frame"])
def test_nothing_is_found(kind: str, tmp_path: Path) -> None:
    source: Any = NOTHING if kind == "frame" else made(tmp_path, kind)
    settings: list[dict[str, Any]] = [
        {},
        {"id": "id", "keep": "longest", "order_by": "id", "cluster": "components"},
        {"id": "id", "spec": neardup.Spec(keep="max:id", method="allpairs")},
    ]
    for number, more in enumerate(settings):
        out = tmp_path / f"out{number}"
        run = neardup.dedup(source, out=out, **more)
        assert len(run) == len(run.clean()) == run.summary["counts"]["documents"] == 0
        assert NOTE in str(run)
        again = neardup.open(out)
        assert again.clusters.num_rows == 0
        assert "clean" in {path.name for path in out.iterdir()}
    if kind in ("parquet", "arrow", "frame"):
        assert run.clusters.schema.field("doc_id").type == pa.int64()
    if kind != "frame":
        assert len(neardup.dedup(source, out=out, resume=True, **settings[-1])) == 0
    # As an old corpus, and as what is compared with one.
    full = neardup.dedup(["one two three four five six"])
    assert len(neardup.against(source, full)) == 0
    assert neardup.against(["a b"], neardup.open(tmp_path / "out0")).keep_mask.all()
    found = neardup.decontaminate(source, ["a test item of some words"])
    assert found.summary["counts"]["documents"] == 0
    found = neardup.decontaminate(["some words"], source, out=out, overwrite=True)
    assert found.keep_mask.tolist() == [True] and "there are no test items" in str(found)
    found = neardup.against(["some words"], source)
    assert found.keep_mask.all() and "the old corpus has no documents" in str(found)


def test_commands_note_it(command: Command, tmp_path: Path) -> None:
    path = made(tmp_path, "jsonl")
    old = write_lines(tmp_path / "old.jsonl", [{"text": "one two three"}])
    assert command("dedup", old, "-o", tmp_path / "old").code == 0
    for name, args in (
        ("dedup", []),
        ("dedup", ["--against", tmp_path / "old"]),
        ("decontaminate", ["--against", old]),
        ("passages", []),
    ):
        answer = command(name, path, "-o", tmp_path / f"{name}{len(args)}", *args)
        assert answer.code == 0, answer.err
        assert NOTE in answer.err
    for name, says in (
        ("dedup", "the old corpus has no documents"),
        ("decontaminate", "there are no test items"),
    ):
        line = (name, old, "--against", path, "-o", tmp_path / f"{name}-of-nothing")
        answer = command(*line)
        assert answer.code == 0 and says in answer.err, answer.err
