"""Every kind of input that can't be read ends `neardup passages` as it ends `neardup dedup`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bad_files import FILES

from common import SECRET, Command, files_of, some_rows, write_lines

#: Options of dedup alone.
_OTHERS = ("--keep", "--cluster", "--pairs", "--store", "--tables")


@pytest.mark.parametrize("name", FILES)
def test_bad_input(name: str, tmp_path: Path, command: Command) -> None:
    arguments, code, parts = FILES[name](tmp_path)
    if "--annotate" in arguments or any(str(word).startswith(_OTHERS) for word in arguments):
        pytest.skip("it means something else, or is an option of dedup alone")
    out = tmp_path / "out"
    before = files_of(tmp_path)
    done = command("passages", *arguments, "-o", out, "--quiet")
    assert done.code == code and SECRET not in done.err, done.err
    assert all(part in done.err for part in parts), done.err
    assert files_of(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--words", 1], "--words is 1"),
        (["--words", 20_000], "--words is 20000"),
        (["--words", "ten"], "--words"),
        (["--order-by", "nope"], "nope"),
        (["--order-by", "tags"], "tags"),
        (["--within", "nope"], "nope"),
        (["--by", "nope"], "nope"),
        (["--within", "id", "--across", "id"], "exclude each other"),
        (["--whole", "page", "--cut"], "page"),
        (["--format", "xml"], "--format"),
        (["--preset", "legal"], "legal"),
        (["--threads", 0], "--threads"),
        (["--memory", "much"], "much"),
        (["--work", "w"], "--work"),
        (["--resume", "--nonsense"], "--nonsense"),
        (["--id", "nope"], "nope"),
        (["--against", "nope.jsonl"], "nope.jsonl"),
    ],
)
def test_bad_settings(options: list[Any], says: str, tmp_path: Path, command: Command) -> None:
    rows = [{**row, "tags": [1, 2]} for row in some_rows()]
    path = tmp_path / "notes.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    done = command("passages", path, "-o", tmp_path / "out", *options)
    assert done.code in (1, 2) and says in done.error, done.err
    assert not (tmp_path / "out").exists()


def test_a_column_that_is_added(tmp_path: Path, command: Command) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"text": "a b c", "copied_share": 1}])
    done = command("passages", path, "-o", tmp_path / "out", "--annotate")
    assert "copied_share" in done.error and not (tmp_path / "out").exists()


def test_an_output_in_an_input_folder(tmp_path: Path, command: Command) -> None:
    (tmp_path / "notes").mkdir()
    write_lines(tmp_path / "notes" / "a.jsonl", some_rows())
    inside = command("passages", tmp_path / "notes", "-o", tmp_path / "notes" / "out")
    assert "is an input" in inside.error
