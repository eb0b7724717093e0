"""Files and the command: formats, threads, refusals, and nothing left behind."""

from __future__ import annotations

import errno
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from neardup.cli.synth import synth
from neardup.errors import NeardupError, OutputError, SpecError
from neardup.synth import SynthSpec, generate, output, plan, truth, truth_path, write

SPEC = SynthSpec(300, seed=3)


def read_lines(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".gz":
        text = gzip.decompress(path.read_bytes()).decode()
    elif path.suffix == ".zst":
        text = pa.input_stream(str(path), compression="zstd").read().decode()
    else:
        text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in io.StringIO(text)]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"])
def test_every_ending_holds_the_same_documents_and_truth(tmp_path: Path, ending: str) -> None:
    notes, facts = tmp_path / f"notes{ending}", tmp_path / f"facts{ending}"
    written = write(SPEC, notes, facts)
    assert (written.documents, written.output, written.truth) == (300, notes, facts)
    if ending == ".parquet":
        assert pq.read_table(notes).equals(generate(SPEC), check_metadata=True)
        assert pq.read_table(facts).equals(truth(SPEC), check_metadata=True)
    else:
        assert read_lines(notes) == generate(SPEC).to_pylist()
        assert read_lines(facts) == truth(SPEC).to_pylist()
    assert sorted(path.name for path in tmp_path.iterdir()) == [facts.name, notes.name]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_result_depends_neither_on_threads_nor_on_chunks(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = generate(SPEC)
    seen = set()
    for threads, size in [(1, 4096), (2, 7), (5, 64), (3, 1)]:
        monkeypatch.setattr(plan, "_CHUNK_DOCUMENTS", size)
        path = tmp_path / f"{threads}{ending}"
        write(SPEC, path, threads=threads)
        if ending == ".parquet":
            assert pq.read_table(path).equals(expected)
        else:
            seen.add(path.read_bytes())
        assert pq.read_table(truth_path(path)).equals(truth(SPEC))
    assert len(seen) <= 1


def test_json_lines_are_read_by_arrow(tmp_path: Path) -> None:
    import pyarrow.json

    write(SPEC, tmp_path / "notes.jsonl")
    table = pyarrow.json.read_json(tmp_path / "notes.jsonl")
    for column in ("id", "text", "quality"):
        assert table[column].to_pylist() == generate(SPEC)[column].to_pylist()


def test_size_does_not_change_what_a_larger_id_needs() -> None:
    big = SynthSpec(20_000_000)  # nothing grows with it: no plan is kept
    assert generate(big, 19_999_999)["id"].to_pylist() == ["note-19999999"]
    assert truth(SynthSpec(20_000_000, family=()), 0, 3)["id"][0].as_py() == "note-00000000"


def test_progress_counts_documents_and_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_CHUNK_DOCUMENTS", 100)
    calls: list[tuple[int, int]] = []
    path = tmp_path / "notes.jsonl"
    written = write(SPEC, path, on_progress=lambda docs, size: calls.append((docs, size)))
    assert [docs for docs, _ in calls] == [100, 200, 300]
    assert calls[-1][1] == written.bytes == path.stat().st_size


def test_truth_path() -> None:
    assert truth_path("a/b.jsonl.zst") == Path("a/b.truth.parquet")
    assert truth_path("b.c.parquet") == Path("b.c.truth.parquet")


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
        ("notes.jsonl", "notes.jsonl", None, SpecError),
        ("notes.jsonl", None, 0, SpecError),
        ("nowhere/notes.jsonl", None, None, OutputError),
        ("folder.jsonl", None, None, OutputError),
    ],
)
def test_outputs_that_cannot_be(
    tmp_path: Path,
    name: str,
    truth_name: str | None,
    threads: int | None,
    error: type[NeardupError],
) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    facts = None if truth_name is None else tmp_path / truth_name
    with pytest.raises(error):
        write(SPEC, tmp_path / name, facts, threads=threads)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.jsonl"]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")])
def test_failure_leaves_nothing_and_keeps_what_was_there(
    tmp_path: Path, ending: str, failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_CHUNK_DOCUMENTS", 50)
    path = tmp_path / f"notes{ending}"
    path.write_text("mine")

    def fail(documents: int, _size: int) -> None:
        if documents >= 150:
            raise failure

    expected = OutputError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write(SPEC, path, overwrite=True, on_progress=fail)
    assert {item.name: item.read_text() for item in tmp_path.iterdir()} == {path.name: "mine"}


def test_failure_in_the_truth_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(output, "_write_truth", full)
    with pytest.raises(OutputError, match="No space left") as caught:
        write(SPEC, tmp_path / "notes.jsonl")
    assert "space" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"documents": 0},
        {"documents": 2**31},
        {"documents": 1.5},
        {"seed": -1},
        {"near": -0.1},
        {"near": float("nan")},
        {"near": 0.6, "exact": 0.4},
        {"exact": 1.1},
        {"changed": (0.2, 0.1)},
        {"changed": (0.0, 1.2)},
        {"changed": (0.1,)},
        {"changed": 0.1},
        {"family": (1,)},
        {"family": (1000,)},
        {"family": 20},
        {"family_values": 0},
        {"family_values": 50_001},
        {"words": (0, 10)},
        {"words": (20, 10)},
        {"words": "50:800"},
        {"words": (50, 10**6)},
        {"vocabulary": 99},
        {"vocabulary": 2**20 + 1},
    ],
    ids=str,
)
def test_settings_out_of_range(fields: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        SynthSpec(**{"documents": 1000, **fields})


def test_equal_specs_are_equal() -> None:
    assert SynthSpec(1000) == SynthSpec(1000, family=(50,), changed=(0, 0.2))
    assert SynthSpec(1000).digest == SynthSpec(1000, family=(50,)).digest
    assert SynthSpec(1000).digest != SynthSpec(1000, seed=1).digest
    assert SynthSpec(30).families == ()  # a family of one would be no family


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    options = "-n 300 --seed 3 --family 20 --family 0 --family 10 --changed 0.1:0.15 --words 60:70"
    arguments = [*options.split(), "-o", str(path)]
    result = CliRunner().invoke(synth, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "300 notes (180 original, 60 near, 30 exact, 30 family)" in result.stderr
    spec = SynthSpec(300, seed=3, family=(20, 10), changed=(0.1, 0.15), words=(60, 70))
    assert read_lines(path) == generate(spec).to_pylist()
    with pytest.raises(OutputError):
        CliRunner().invoke(synth, arguments, catch_exceptions=False)
    quiet = CliRunner().invoke(synth, [*arguments, "--overwrite", "--quiet"])
    assert (quiet.exit_code, quiet.output) == (0, "")


@pytest.mark.parametrize("option", ["--changed=0.1", "--words=a:b", "--near=x", "-n=ten"])
def test_the_command_refuses_what_is_no_number(tmp_path: Path, option: str) -> None:
    result = CliRunner().invoke(synth, ["-n", "10", "-o", str(tmp_path / "n.jsonl"), option])
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_help_shows_defaults() -> None:
    text = CliRunner().invoke(synth, ["--help"]).output
    for default in ("0.2", "0.1", "0:0.2", "1000", "50:800", "50000", "N // 20"):
        assert default in text
