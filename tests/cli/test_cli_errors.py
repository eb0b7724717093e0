"""Texts that are odd but not wrong, and how errors are shown: in one line, without any text."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common import SECRET, Command, write_lines
from neardup.cli.main import as_options
from neardup.errors import NeardupError, SpecError
from neardup.spec import Spec


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "txt"])
def test_encoding_errors_replace(kind: str, tmp_path: Path, command: Command) -> None:
    path = tmp_path / f"a.{kind}"
    texts = [b"one fine text", b"caf\xe9 \xff au lait", b"caf\xe9 noir"]
    if kind == "jsonl":
        path.write_bytes(b"".join(b'{"text":"' + t + b'"}\n' for t in texts))
    elif kind == "csv":
        path.write_bytes(b"text\n" + b"\n".join(texts) + b"\n")
    elif kind == "parquet":
        pq.write_table(pa.table({"text": pa.array(texts).view(pa.string())}), path)
    else:
        path = tmp_path / "texts"
        path.mkdir()
        for i, text in enumerate(texts):
            (path / f"{i}.txt").write_bytes(text)
    out = tmp_path / "out"
    answer = command("dedup", path, "-o", out, "--encoding-errors", "replace", "--no-clean")
    assert answer.code == 0, answer.err
    assert json.loads((out / "run.json").read_text())["counts"]["encoding_replaced"] == 2
    (line,) = [line for line in answer.lines if line.startswith("replaced")]
    assert line.split()[1] == "2"


def test_null_and_odd_texts(tmp_path: Path, command: Command) -> None:
    texts = [
        None,
        "",
        "bell \x07 escape \x1b[31m and \x00 nul",
        "שלום עולם \u202e abc",
        "👩‍👩‍👧 😀 👍🏽",
        "e\u0301 a\u0308",
        "漢字かな交じり文です",
        "\u200b",
        "漢字かな交じり文です",
        None,
    ]
    path = write_lines(tmp_path / "a.jsonl", [{"text": text} for text in texts])
    out = tmp_path / "out"
    answer = command("dedup", path, "-o", out)
    assert answer.code == 0, answer.err
    counts = json.loads((out / "run.json").read_text())["counts"]
    assert counts["documents"] == len(texts)
    assert counts["removed"] == counts["equal_tokens"] == 1
    assert counts["empty"] >= 3
    (clean,) = (out / "clean").iterdir()
    rows = [json.loads(line) for line in clean.read_text().splitlines()]
    assert [row["text"] for row in rows] == [*texts[:8], None]


def test_debug_shows_the_traceback(tmp_path: Path, command: Command) -> None:
    for args, code in (([tmp_path / "nope.jsonl"], 1), ([tmp_path, "--rows", "x"], 2)):
        answer = command("dedup", *args, "-o", tmp_path / "out", "--debug")
        assert answer.code == code
        assert answer.lines[0].startswith("Traceback ")
        assert any(line.startswith("error: ") for line in answer.lines)


def test_annotate_needs_a_clean_corpus(notes: Path, tmp_path: Path, command: Command) -> None:
    answer = command("dedup", notes, "-o", tmp_path / "out", "--annotate", "--no-clean")
    assert answer.code == 2
    assert "--annotate is for the clean corpus" in answer.error
    assert answer.err.count("hint: ") == 1
    assert not (tmp_path / "out").exists()


def test_what_is_no_size_is_named_by_its_option(
    notes: Path, tmp_path: Path, command: Command
) -> None:
    for option in ("--memory", "--max-document"):
        answer = command("dedup", notes, "-o", tmp_path / "out", option, "lots")
        assert answer.code == 2
        assert answer.error == f"error: {option} is 'lots', which is not a size"


@pytest.mark.parametrize(
    "raised",
    [
        ValueError(f"{SECRET} is odd"),
        pa.ArrowInvalid(f"can't parse {SECRET}"),
        OSError(5, SECRET),
        KeyError(SECRET),
        MemoryError(),
        RecursionError(),
    ],
    ids=repr,
)
def test_what_nobody_expects(
    raised: Exception, notes: Path, tmp_path: Path, command: Command, monkeypatch: Any
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise raised

    monkeypatch.setattr("neardup.api.running.run", fail)
    answer = command("dedup", notes, "-o", tmp_path / "out")
    assert answer.code == 1
    assert answer.error
    if not isinstance(raised, MemoryError):
        assert "--debug" in answer.err
    assert not (tmp_path / "out").exists()
    answer = command("dedup", notes, "-o", tmp_path / "out", "--debug")
    assert "Traceback" in answer.err


def test_usage(command: Command) -> None:
    for args in (["dedup"], []):
        answer = command(*args)
        assert answer.code in (0, 2)
        assert answer.err.startswith("Usage: ") or answer.out.startswith("Usage: ")
    for args in (["nothing"], ["dedup", "a"], ["dedup", "-o", "a"]):
        answer = command(*args)
        assert answer.code == 2
        assert "--help" in answer.lines[1]
        assert answer.error
    assert command("--version").code == 0


@pytest.mark.parametrize(
    "name",
    [
        *("dedup", "plan", "audit", "explain", "evaluate", "report"),
        *("recluster", "compare", "tune", "sketch", "synth"),
    ],
)
def test_help(name: str, command: Command) -> None:
    """Each command is listed, and its help has an example and options, all with a text."""
    assert f"\n  {name} " in command("--help").out
    answer = command(name, "--help")
    assert answer.code == 0 and f"neardup {name}" in answer.out.partition("Example")[2]
    for line in answer.out.splitlines():
        assert line.strip() not in ("RUN", "INPUT...", "ID", "[ID2]"), line


def test_a_name_can_not_break_the_line(tmp_path: Path, command: Command) -> None:
    answer = command("dedup", tmp_path / "two\nlines\x1b[2J.jsonl", "-o", tmp_path / "out")
    assert answer.code == 1
    assert "two\\nlines\\x1b[2J.jsonl" in answer.error


def test_arguments_become_options() -> None:
    for said, shown in {
        "give `out`": "give -o",
        "`num_bands` and `order_by`": "--bands and --order-by",
        "use overwrite=True, or `texts`=False": "use --overwrite, or --no-text",
        "use `encoding_errors`='replace'": "use --encoding-errors replace",
        "continue with the same call and resume=True": "continue with the same command and "
        "--resume",
        "column `a b` is 3=True": "column `a b` is 3=True",
    }.items():
        assert as_options(said) == shown


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"threshold": "0.8"}, "threshold is '0.8'"),
        ({"threshold": True}, "threshold is True"),
        ({"recall": None}, "recall is None"),
        ({"scheme": 3}, "scheme 3"),
        ({"scheme": ["affine32"]}, "scheme of type list"),
        ({"seed": "1"}, "seed is '1'"),
        ({"num_bands": "3", "rows": 2}, "bands is '3'"),
        ({"method": 3}, "method 3"),
        ({"documents": 1.5}, "documents is 1.5"),
        ({"pairs": 3}, "pairs 3"),
        ({"cluster": ["star"]}, "clustering of type list"),
        ({"cluster": "bounded", "tree_threshold": "x"}, "tree threshold is 'x'"),
        ({"keep": 3}, "keep is 3"),
        ({"order_by": 3}, "`order_by` is 3"),
        ({"max_bucket": "x"}, "`max_bucket` is 'x'"),
        ({"shingle": 3}, "shingle is 3"),
        ({"n": "3"}, "shingle length is '3'"),
        ({"n": True}, "shingle length is True"),
        ({"unit": 3}, "shingle is 3"),
        ({"stem": ["english"]}, "stemmer of type list"),
        ({"keep_case": "yes"}, "`keep_case` is 'yes'"),
        ({"bag": 1}, "`bag` is 1"),
        ({"treshold": 0.8}, "no setting 'treshold'"),
    ],
    ids=str,
)
def test_settings_of_another_type(setting: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError) as caught:
        Spec().replace(**setting)
    assert says in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, NeardupError) and (again.message, again.hint) == caught.value.args
