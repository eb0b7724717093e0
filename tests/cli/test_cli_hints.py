"""Bad files in every command that reads one: no message names an option that is not there."""

from __future__ import annotations

import contextlib
import gzip
import inspect
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import SECRET, Answer, Command, core, write_lines
from neardup.cli import main
from neardup.errors import NeardupError

ROWS = [
    {"id": f"n{i}", "text": f"{SECRET} " + " ".join(f"w{i}x{j}" for j in range(9)), "name": f"a{i}"}
    for i in range(4)
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
TABLE = "id,text,name\n" + "".join(f"{r['id']},{r['text']},{r['name']}\n" for r in ROWS)
#: Name, content, and what is said of it where it is read as a table or as texts.
FILES: dict[str, tuple[bytes, str, str]] = {
    "semi.csv": (TABLE.replace(",", ";").encode(), "the only column is 'id;text;name'", ""),
    "tab.csv": (TABLE.replace(",", "\t").encode(), r"the only column is 'id\ttext\tname'", ""),
    "pipe.csv": (TABLE.replace(",", "|").encode(), "the only column is 'id|text|name'", ""),
    "comma.tsv": (TABLE.encode(), "the only column is 'id,text,name'", ""),
    "no_header.csv": (f"1;{SECRET} b;c\n2;d;e\n".encode(), "the only column is named with", ""),
    "header.csv": (
        "id;text;Straße\n1;a;b\n".encode("cp1252"),
        "not valid UTF-8",
        "",
    ),
    "value.csv": (
        TABLE.replace("a1", "ü1").replace("w1x0", "ü").encode("cp1252"),
        "not valid UTF-8",
        "",
    ),
    "wide.csv": (TABLE.encode("utf-16")[2:], "UTF-16 without a byte order mark", ""),
    "plain.jsonl.gz": (LINES.encode(), "not compressed by gzip", "rename it to plain.jsonl"),
    "plain.csv.zst": (TABLE.encode(), "not compressed by zstd", "rename it to plain.csv"),
    "packed.jsonl": (gzip.compress(b"{}"), "this is gzip data", "rename it to packed.jsonl.gz"),
    "notes.md": (b"x", "unknown ending '.md'", ""),
    "notes.md.gz": (gzip.compress(b"x"), "unknown ending '.md'", ""),
    "noending": (b"x", "its name has no ending", ""),
    "x.dta": (b"x", "unknown ending '.dta'", "pandas.read_stata('FILE.dta'"),
    "x.avro": (b"Obj\1", "unknown ending '.avro'", "polars.read_avro("),
    "x.docx": (b"PK\3\4", "a zip archive (Word?), no plain text", "pandoc -t plain "),
    "x.zip": (b"PK\3\4", "no zip archive, or cut off or damaged", ""),
    "x.parquet.gz": (gzip.compress(b"PAR1"), "parquet within gzip", "gunzip "),
    "indented.json": (
        json.dumps(ROWS[0], indent=2).encode(),
        "line 1 begins a JSON object of several lines",
        "jq -c . in.json",
    ),
    "wrapped.json": (
        json.dumps({"data": ROWS}, indent=2).encode(),
        "line 1 begins a JSON object of several lines",
        "jq -c '.data[]' in.json",
    ),
    "array.json": (json.dumps(ROWS, indent=2).encode(), "a JSON array", "jq -c '.[]' in.json"),
    "middle.jsonl": (
        (LINES + json.dumps(ROWS[0], indent=2)).encode(),
        "line 5 begins a JSON object of several lines",
        "jq -c . in.json",
    ),
    "table.jsonl": (TABLE.encode(), "line 1 is not valid JSON at character 1", ""),
    "lines.csv": (LINES.encode(), "JSON, and was to be CSV", ""),
    "columns.jsonl": (b"PAR1", "Parquet, no plain text", ""),
    "archive.csv": (b"PK\3\4", "a zip archive, no plain text", ""),
    "large.jsonl": (
        (LINES + json.dumps({"id": "n9", "text": "x" * 5000, "name": "y"})).encode(),
        "a record of more than 2,000 bytes",
        "",
    ),
    "other.jsonl": (b'{"doc": "a"}\n{"doc": "b"}\n', "", ""),
    "one.txt": (SECRET.encode(), "", ""),
    "bad.parquet": (SECRET.encode(), "not Parquet, or cut off or damaged", ""),
    "ragged.csv": (b"id,text,name\n1,2,3\n1,2\n", "line 3 has 2 fields, the header 3", ""),
}
_END = ("--overwrite", "--quiet")
_FIELDS = ("--id", "id", "--fields", "name")
#: From a file to a command that reads it; all are in a folder with good files, a run and indexes.
COMMANDS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "dedup": lambda f: ("dedup", f, "-o", "out", "--id", "id", *_END),
    "against": lambda f: ("dedup", "good.jsonl", "--against", f, "-o", "out", *_END),
    "plan": lambda f: ("plan", f, "--id", "id"),
    "passages": lambda f: ("passages", f, "-o", "out2", "--id", "id", *_END),
    "signatures": lambda f: ("signatures", f, "-o", "s.parquet", *_END),
    "sketch": lambda f: ("sketch", f, "--store", "sqlite:keys", "--run", "r", "--quiet"),
    "decontaminate": lambda f: ("decontaminate", f, "--against", "good.jsonl", "-o", "out3", *_END),
    "tests": lambda f: ("decontaminate", "good.jsonl", "--against", f, "-o", "out3", *_END),
    "link": lambda f: ("link", f, *_FIELDS, "-o", "out4", *_END),
    "labels": lambda f: ("link", "good.csv", *_FIELDS, "-o", "out4", *_END, "--labels", f),
    "blocks": lambda f: ("blocks", f, *_FIELDS, "-o", "out.parquet", *_END),
    "evaluate": lambda f: ("evaluate", "run", "--truth", f),
    "evaluate link": lambda f: ("evaluate", "linked", "--truth", f),
    "evaluate pairs": lambda f: ("evaluate", "pairs.parquet", "--truth", f),
    "evaluate index": lambda f: ("evaluate", "records", "--truth", f),
    "update": lambda f: ("index", "update", "records", f),
    "add": lambda f: ("index", "add", "texts", f, "--id", "id"),
    "query": lambda f: ("index", "query", "texts", f),
    "stop": lambda f: ("dedup", "good.jsonl", "-o", "out", *_END, "--stop-passages", f),
    "compare": lambda f: ("compare", f, "good.jsonl"),
}
#: Those that take any text.
_TEXTS = ("compare", "stop")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> Path:
    folder = tmp_path_factory.mktemp("hints")
    write_lines(folder / "good.jsonl", ROWS)
    (folder / "good.csv").write_text(TABLE, encoding="utf-8")
    for name, (content, _, _) in FILES.items():
        (folder / name).write_bytes(content)
    made = (
        ("dedup", "good.jsonl", "-o", "run", "--id", "id", "--quiet"),
        ("link", "good.csv", *_FIELDS, "-o", "linked", "--index", "records", "--quiet"),
        ("blocks", "good.csv", *_FIELDS, "-o", "pairs.parquet", "--quiet"),
        ("index", "create", "texts"),
        ("index", "add", "texts", "good.jsonl", "--id", "id"),
    )
    with contextlib.chdir(folder):
        for words in made:
            main([*words])
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, since some commands change the indexes."""
    copy = tmp_path / "here"
    shutil.copytree(files, copy)
    monkeypatch.chdir(copy)
    return copy


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


@pytest.mark.parametrize("name", core(COMMANDS, "dedup", "link", "add"))
def test_no_message_names_an_option_that_is_not_there(
    name: str, folder: Path, command: Command
) -> None:
    words = [word for word in COMMANDS[name]("x") if not str(word).startswith("-")]
    verb = words[: 2 if words[0] == "index" else 1]
    known = options_in(command(*verb, "--help").out)
    for file, (_, said, remedy) in FILES.items():
        is_large = file.startswith("large") and "--max-document" in known
        answer: Answer = command(*COMMANDS[name](file), *(["--max-document", "2kB"] * is_large))
        assert "unexpected" not in answer.err and SECRET not in answer.err
        assert options_in(answer.err) <= known, (file, answer.err)
        assert "`" not in answer.err, (file, answer.err)
        if name in _TEXTS or (file.startswith("large") and not is_large):
            continue
        if said and not (name == "labels" and is_large):
            assert said in answer.error, (file, answer.err)
        if remedy:
            expected = remedy.replace("FILE.", "x.")
            assert expected in answer.lines[1], (file, answer.err)


@pytest.mark.long
def test_what_the_hints_name_works(folder: Path, command: Command) -> None:
    """The same command with the option that its hint names, as a shell would read it."""
    tried = 0
    for name in ("dedup", "passages", "link", "blocks", "add", "query", "update"):
        for file in ("semi.csv", "tab.csv", "pipe.csv", "comma.tsv", "value.csv", "lines.csv"):
            hint = command(*COMMANDS[name](file)).lines[1]
            asked = shlex.split(hint[hint.index("--") :])[:2]
            asked[1] = asked[1].removesuffix(";") or ";"
            assert asked[0] in ("--delimiter", "--encoding", "--input-format")
            more = ["--on-conflict", "replace"] if name == "add" else []
            done = command(*COMMANDS[name](file), *asked, *more)
            assert done.code == 0, (name, file, done.err)
            tried += 1
    assert tried == 42


def test_truths_are_read_as_inputs_are(folder: Path, command: Command) -> None:
    for text, name, options in (
        ("id_a;id_b\nn0;n1\n", "truth.csv", ("--delimiter", ";")),
        ('{"id_a": "n0", "id_b": "n1"}\n', "truth.dat", ("--input-format", "jsonl")),
        ("id_a,id_b\nn0,n1\n", "truth.txt", ("--input-format", "csv")),
    ):
        Path(name).write_text(text, encoding="utf-8")
        how = {key.removeprefix("--").replace("-", "_"): value for key, value in [options]}
        for result in ("run", "linked", "records", "pairs.parquet"):
            assert command("evaluate", result, "--truth", name).code == 1
            assert command("evaluate", result, "--truth", name, *options).code == 0
        run: Any = neardup.open("run")
        assert run.evaluate(name, **how)["truth"]["pairs"] == 1
        linked: Any = neardup.open("linked")
        assert linked.evaluate(name, **how)["truth"]["pairs"] == 1
        assert linked.blocks.evaluate(name, **how)["truth"]["pairs"] == 1
    with pytest.raises(neardup.errors.SpecError, match=r"`delimiter` is .* for a frame"):
        run.evaluate([("n0", "n1")], delimiter=";")


#: Calls of Python that read a file.
CALLS: dict[str, Callable[[str], Any]] = {
    "dedup": lambda f: neardup.dedup(Path(f), id="id"),
    "passages": lambda f: neardup.passages(Path(f), id="id"),
    "decontaminate": lambda f: neardup.decontaminate(Path(f), Path("good.jsonl")),
    "link": lambda f: neardup.link(f, id="id", fields="name"),
    "blocks": lambda f: neardup.blocks(f, id="id", fields="name"),
    "save_signatures": lambda f: neardup.save_signatures(Path(f), "s.parquet", overwrite=True),
}
METHODS: dict[str, tuple[Any, Callable[[Any, str], Any]]] = {
    "Run.evaluate": (lambda: neardup.open("run"), lambda run, f: run.evaluate(f)),
    "LinkRun.evaluate": (lambda: neardup.open("linked"), lambda run, f: run.evaluate(f)),
    "LinkRun.report": (
        lambda: neardup.open("linked"),
        lambda run, f: run.report("page.html", truth=f, overwrite=True),
    ),
    "RecordIndex.update": (lambda: neardup.open("records"), lambda index, f: index.update(f)),
    "RecordIndex.evaluate": (lambda: neardup.open("records"), lambda index, f: index.evaluate(f)),
}


def hints_of(call: Callable[[str], Any]) -> list[tuple[str, str]]:
    found = []
    for file in FILES:
        try:
            call(file)
        except NeardupError as error:
            found.append((file, error.hint))
    return found


@pytest.mark.parametrize("name", [*CALLS, *METHODS])
def test_no_hint_names_an_argument_that_is_not_there(name: str, folder: Path) -> None:
    if name in CALLS:
        function, call = getattr(neardup, name), CALLS[name]
    else:
        made, method = METHODS[name]
        target = made()
        function = getattr(target, name.partition(".")[2])

        def call(file: str) -> Any:
            return method(target, file)

    known = set(inspect.signature(function).parameters)
    found = hints_of(call)
    assert len(found) > 15
    for file, hint in found:
        assert set(re.findall(r"`([a-z_]+)`", hint)) <= known, (file, hint)
