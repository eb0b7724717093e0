"""Files and the command: formats, threads, refusals, and nothing left behind."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.notes import (
    SynthSpec,
    generate,
    tables,
    truth,
    write,
)
from neardup.errors import NeardupError, OutputError, SpecError
from neardup.synth.note_files import truth_path

SPEC = SynthSpec(300, seed=3)
ENDINGS = [".jsonl", ".parquet"]


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in io.StringIO(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_holds_the_same_documents(tmp_path: Path, ending: str) -> None:
    notes, known = tmp_path / f"notes{ending}", tmp_path / "known.parquet"
    written = write(SPEC, notes, known)
    assert (written.documents, written.output, written.truth) == (300, notes, known)
    if ending == ".parquet":
        assert pq.read_table(notes).equals(generate(SPEC), check_metadata=True)
    else:
        assert read_lines(notes) == generate(SPEC).to_pylist()
    assert pq.read_table(known).equals(truth(SPEC), check_metadata=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [known.name, notes.name]


@pytest.mark.long
@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_bytes_depend_neither_on_threads_nor_on_batches(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    for threads, size in [(1, 64), (2, 8), (5, 64), (3, 2), (None, 32)]:
        monkeypatch.setattr(tables, "batch_size", lambda _, size=size: size)
        path = tmp_path / f"{threads}{ending}"
        write(SPEC, path, threads=threads, row_group=64)
        seen.add(path.read_bytes())
        assert pq.read_table(truth_path(path)).equals(truth(SPEC))
    assert len(seen) == 1


@pytest.mark.long
def test_the_same_spec_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    digests = set()
    for seed in ("0", "1"):
        code = (
            "import hashlib; from bench.notes import SynthSpec, generate; "
            "print(hashlib.sha256(str(generate(SynthSpec(50)).to_pylist()).encode()).hexdigest())"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_row_groups_have_16384_rows(tmp_path: Path) -> None:
    spec = SynthSpec(40_000, words=(5, 8), families=())
    write(spec, tmp_path / "notes.parquet")
    found = pq.ParquetFile(tmp_path / "notes.parquet").metadata
    sizes = [found.row_group(i).num_rows for i in range(found.num_row_groups)]
    assert sizes == [16_384, 16_384, 7_232]
    assert found.row_group(0).column(1).compression == "SNAPPY"


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from bench.notes import SynthSpec, write\n"
        "for name in ('a.jsonl', 'b.parquet'): write(SynthSpec(20), sys.argv[1] + '/' + name)\n"
        "sys.exit(', '.join({'pandas', 'numba', 'click'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_json_lines_are_read_by_arrow(tmp_path: Path) -> None:
    import pyarrow.json

    write(SPEC, tmp_path / "notes.jsonl")
    table = pyarrow.json.read_json(tmp_path / "notes.jsonl")
    for column in ("id", "text", "quality"):
        assert table[column].to_pylist() == generate(SPEC)[column].to_pylist()


def test_bytes_are_those_of_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    assert write(SPEC, path).bytes == path.stat().st_size


def test_truth_path() -> None:
    assert truth_path(Path("a/b.jsonl")) == Path("a/b.truth.parquet")
    assert truth_path(Path("b.c.parquet")) == Path("b.c.truth.parquet")


@pytest.mark.parametrize("existing", ["notes.jsonl", "notes.truth.parquet"])
def test_nothing_is_overwritten_unasked(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        write(SPEC, tmp_path / "notes.jsonl")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    write(SPEC, tmp_path / "notes.jsonl", overwrite=True)
    assert len(read_lines(tmp_path / "notes.jsonl")) == 300


@pytest.mark.parametrize(
    ("name", "truth_name", "threads", "error"),
    [
        ("notes.txt", None, None, SpecError),
        ("notes", None, None, SpecError),
        (".jsonl", None, None, SpecError),
        ("notes.jsonl", "truth.csv", None, SpecError),
        ("notes.jsonl", "truth.jsonl", None, SpecError),
        ("notes.parquet", "notes.parquet", None, SpecError),
        ("notes.jsonl", None, 0, SpecError),
        ("nowhere/notes.jsonl", None, None, OutputError),
        ("folder.jsonl", None, None, OutputError),
    ],
)
def test_impossible_outputs(
    tmp_path: Path,
    name: str,
    truth_name: str | None,
    threads: int | None,
    error: type[NeardupError],
) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    known = None if truth_name is None else tmp_path / truth_name
    with pytest.raises(error):
        write(SPEC, tmp_path / name, known, threads=threads)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.jsonl"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")])
def test_failure_leaves_nothing_and_keeps_what_was_there(
    tmp_path: Path, ending: str, failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "batch_size", lambda _: 32)
    path = tmp_path / f"notes{ending}"
    path.write_text("mine")

    make = tables.documents_batch

    def fail(spec: SynthSpec, start: int, stop: int) -> Any:
        if start >= 160:
            raise failure
        return make(spec, start, stop)

    monkeypatch.setattr(tables, "documents_batch", fail)
    expected = OutputError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write(SPEC, path, overwrite=True)
    assert {item.name: item.read_text() for item in tmp_path.iterdir()} == {path.name: "mine"}


def test_failure_in_the_truth_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tables, "truth_batch", full)
    with pytest.raises(OutputError, match="no space left") as caught:
        write(SPEC, tmp_path / "notes.jsonl")
    assert "space" in caught.value.hint
    assert list(tmp_path.iterdir()) == []
