"""Options that calls share: each stands once, and works in every command that has it."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pydoc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import neardup
from common import Command, core
from neardup.errors import ArgumentError, NeardupError, SpecError
from neardup.options.option_groups import (
    GROUPS,
    Reading,
    ReadingOptions,
    Resources,
    StoreOptions,
    Writing,
    WritingOptions,
    described,
)

TEXTS = [" ".join(f"w{of}x{j}" for j in range(20)) for of in (0, 0, 1, 2, 3)]
#: Another corpus, whose texts are in two columns.
OTHER = {"text": TEXTS[:1], "body": TEXTS[:1], "id": ["o"]}


@pytest.mark.parametrize(
    ("key", "keywords"),
    [("reading", ReadingOptions), ("resources", StoreOptions), ("writing", WritingOptions)],
)
def test_fields_are_keywords(key: str, keywords: Any) -> None:
    group = GROUPS[key]
    options = {field.name: field.type for field in dataclasses.fields(group) if field.init}
    kinds = {
        name: getattr(kind, "__forward_arg__", kind)
        for of in reversed(keywords.__mro__[:1])
        for name, kind in of.__annotations__.items()
    }
    assert kinds.pop(key) == group.__name__
    assert kinds == options
    assert set(described(group)) == set(options)


#: Calls of texts, with the groups that each takes.
CALLS: dict[str, Callable[..., Any]] = {
    "dedup": neardup.dedup,
    "plan": neardup.plan,
    "passages": neardup.passages,
    "decontaminate": lambda texts, **how: neardup.decontaminate(texts, TEXTS[:1], **how),
    "link": lambda texts, **how: neardup.link({"text": texts}, fields="text", **how),
    "blocks": lambda texts, **how: neardup.blocks({"text": texts}, fields="text", **how),
    "add": lambda texts, **how: neardup.Index.create().add(texts, **how),
    "query": lambda texts, **how: neardup.Index.create().query(texts, **how),
    "audit": lambda texts, **how: neardup.dedup(texts, progress=False).audit(**how),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_group_and_one_of_its_options(name: str) -> None:
    call = CALLS[name]
    seen = 0
    for key, group, option, value in (
        ("reading", Reading(), "private_ids", True),
        ("resources", Resources(progress=False), "threads", 1),
        ("writing", Writing(), "overwrite", True),
    ):
        if name in ("add", "query") and key != "reading":
            continue
        if (name == "audit" and key != "resources") or (name == "plan" and key == "writing"):
            continue
        seen += 1
        with pytest.raises(SpecError) as caught:
            call(TEXTS, **{key: group, option: value})
        assert f"`{key}` and `{option}` are both given" in str(caught.value)
        with pytest.raises(ArgumentError, match=f"`{key}` is of type list; expected a neardup"):
            call(TEXTS, **{key: []})
    assert seen


def test_an_option_that_a_call_has_not() -> None:
    with pytest.raises(SpecError, match=r"`store` of `resources` does not apply to passages\(\)"):
        neardup.passages(TEXTS, resources=Resources(store="sqlite:a"))
    with pytest.raises(SpecError, match=r"`text` of `reading` does not apply to link\(\)"):
        neardup.link({"a": TEXTS}, fields="a", reading=Reading(text="body"))
    with pytest.raises(ArgumentError, match="has no argument 'store'"):
        neardup.passages(TEXTS, store="sqlite:a")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("memry", "memory"), ("encoding_error", "encoding_errors"), ("privat_ids", "private_ids")],
)
def test_an_unknown_option(name: str, meant: str) -> None:
    for call in (neardup.dedup, neardup.passages, neardup.plan):
        with pytest.raises(SpecError, match=f"has no argument '{name}'") as caught:
            call(TEXTS, **{name: 1})
        assert caught.value.hint == f"did you mean {meant}?"


def test_a_column_of_texts_is_given_once() -> None:
    table = {"body": TEXTS, "id": list("abcde")}
    for reading in (Reading(text="body", id="id"), None):
        index = neardup.Index.create()
        how: dict[str, Any] = {"text": "body", "id": "id"} if reading is None else {}
        assert index.add(table, reading=reading, **how) == 5
        assert index.ids().to_pylist() == list("abcde")
        if reading is not None:
            how = {"reading": reading}
            assert index.add_if_new(table, **how)["kept"].to_pylist() == [True] * 5
    with pytest.raises(SpecError, match="`reading` and `text` are both given"):
        neardup.Index.create().add(table, "id", reading=Reading(text="body"))


def test_a_group_is_its_options() -> None:
    reading, resources = Reading(id="id", text="body"), Resources(threads=1, progress=False)
    table = {"body": TEXTS, "id": list("abcde")}
    one = neardup.dedup(table, reading=reading, resources=resources)
    other = neardup.dedup(table, id="id", text="body", threads=1, progress=False)
    assert one.clusters == other.clusters
    assert one.summary["frame"] == other.summary["frame"]


def test_a_folder_is_needed() -> None:
    for call in (neardup.dedup, neardup.passages):
        for name, value in {"overwrite": True, "format": "csv", "work": "a"}.items():
            with pytest.raises(SpecError, match=f"`{name}` needs an output folder"):
                call(TEXTS, **{name: value})


def test_help_shows_every_option() -> None:
    for function, groups in (
        (neardup.dedup, (Reading, Resources, Writing)),
        (neardup.plan, (Reading,)),
        (neardup.passages, (Reading,)),
        (neardup.Index.query, (Reading,)),
    ):
        shown = pydoc.render_doc(function, renderer=pydoc.plaintext)
        words = " ".join(shown.split())
        parameters = inspect.signature(function).parameters
        for group in groups:
            for field in dataclasses.fields(group):
                if not field.init:
                    continue
                default = field.default
                assert f"{field.name}: {field.type} = {default!r}" in words, field.name
                assert parameters[field.name].default == default
                if field.name != "id":  # of a query
                    told = " ".join(described(group)[field.name].split())
                    assert f"{field.name}: {told}" in words
        assert "**options" not in shown


# How each command reads.


class Row(NamedTuple):
    """A command that reads.

    Attributes:
        call: The function, given a source and options, in a folder.
        line: The command line, given a source.
        lacks: Options that it does not have.
    """

    call: Callable[..., Any]
    line: str
    lacks: tuple[str, ...] = ()


def _index(**how: Any) -> neardup.Index:
    index = neardup.Index.create(**how)
    index.add(TEXTS, ids=["a", "b", "c", "d", "e"])
    return index


ROWS = {
    "dedup": Row(neardup.dedup, "dedup {0} -o out"),
    "plan": Row(neardup.plan, "plan {0}"),
    "sketch": Row(
        lambda source, **how: neardup.sketch_corpus(
            source, store="sqlite:keys", run="a", progress=False, **how
        ),
        "sketch {0} --store sqlite:keys2 --run a",
    ),
    "passages": Row(
        lambda source, **how: neardup.passages(source, words=5, progress=False, **how),
        "passages {0} -o out --words 5",
    ),
    "decontaminate": Row(
        lambda source, **how: neardup.decontaminate(source, OTHER, **how),
        "decontaminate {0} --against other.jsonl -o out",
    ),
    "against": Row(
        lambda source, **how: neardup.against(source, OTHER, **how),
        "dedup {0} --against other.jsonl --old-text text --old-id id -o out",
    ),
    "signatures": Row(
        lambda source, **how: neardup.save_signatures(
            source, "signatures", num_hashes=8, overwrite=True, **how
        ),
        "signatures {0} -o signatures2 --num-hashes 8",
    ),
    "link": Row(
        lambda source, **how: neardup.link(source, fields="text", **how),
        "link {0} --fields text -o out",
        ("text",),
    ),
    "blocks": Row(
        lambda source, **how: neardup.blocks(source, fields="text", **how),
        "blocks {0} --fields text -o pairs.csv",
        ("text",),
    ),
    "add": Row(
        lambda source, **how: neardup.Index.create().add(source, **how), "index add empty {0}"
    ),
    "query": Row(lambda source, **how: _index().query(source, **how), "index query full {0}"),
    "copied": Row(
        lambda source, **how: _index(passages=5).copied(source, **how), "index copied full {0}"
    ),
    "evaluate": Row(
        lambda source, **how: neardup.open("run").evaluate(
            source, columns=["id", "of"], kind="groups", **how
        ),
        "evaluate run --truth {0} --columns id,of --kind groups",
        ("text", "id"),
    ),
}


def _rows() -> list[dict[str, str]]:
    return [
        {"id": f"n{i}", "of": f"n{i - i % 2}", "text": text, "body": text, "more": "x"}
        for i, text in enumerate(TEXTS)
    ]


def _lines(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _source(option: str) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Return a source, options by which it is read, and options by which it is not."""
    rows, path = _rows(), Path("notes.jsonl")
    if option == "text":
        for row in rows:
            del row["text"]
        return _lines(path, rows), {"text": "body"}, {}
    if option == "input_format":
        return _lines(Path("notes.data"), rows), {option: "jsonl"}, {}
    if option == "delimiter":
        path = Path("notes.csv")
        lines = [";".join(rows[0]), *(";".join(row.values()) for row in rows)]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path, {option: ";"}, {}
    if option == "escape":
        rows[0]["text"] += ' "a", b'
        path = Path("notes.csv")
        lines = [",".join(f'"{v}"' for v in row.values()) for row in rows[1:]]
        first = json.dumps(rows[0]["text"]).join((f'"{rows[0]["id"]}","n0",', ',"x","x"'))
        path.write_text("\n".join([",".join(rows[0]), first, *lines]) + "\n", encoding="utf-8")
        return path, {option: "\\"}, {}
    if option == "encoding":
        rows[0]["text"] += " größe"
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path.write_bytes(data.encode("cp1252"))
        return path, {option: "cp1252"}, {}
    if option == "skip_bad":
        _lines(path, rows).write_text(path.read_text("utf-8") + "nothing\n", encoding="utf-8")
        return path, {option: True}, {}
    if option in ("sheet", "header_row"):
        return _workbook(rows, option)
    if option == "encoding_errors":
        _lines(path, rows)
        path.write_bytes(path.read_bytes().replace(b"w0x0", b"w0\xff"))
        return path, {option: "replace"}, {}
    if option in ("max_document", "skip_large"):
        rows.append({**rows[0], "id": "n0", "text": "long " * 1000})
        if option == "max_document":
            rows[-1]["id"] = "n1"
            return _lines(path, rows), {option: "1MB"}, {option: "2KB"}
        return _lines(path, rows), {option: True, "max_document": "2KB"}, {"max_document": "2KB"}
    if option == "id":
        return _lines(path, rows), {option: "id"}, {option: "absent"}
    return _lines(path, rows), {option: True}, {}


def _workbook(
    rows: list[dict[str, str]], option: str
) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Return a workbook whose texts are in the second sheet, or below a title."""
    import openpyxl

    book, path = openpyxl.Workbook(), Path("notes.xlsx")
    sheet: Any = book.active
    sheet.append(["a title"])
    if option == "sheet":
        sheet = book.create_sheet("Notes")
    for row in (list(rows[0]), *(list(row.values()) for row in rows)):
        sheet.append(row)
    book.save(path)
    return path, {option: "Notes" if option == "sheet" else 2}, {}


@pytest.fixture(scope="module")
def folder(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and an index."""
    made = tmp_path_factory.mktemp("reading")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        notes = _lines(Path("first.jsonl"), _rows())
        _lines(Path("other.jsonl"), _rows()[:1])
        neardup.dedup(notes, id="id", out="run", progress=False)
        with neardup.Index.create("full", passages=5) as index:
            index.add(TEXTS, ids=["a", "b", "c", "d", "e"])
    return made


CELLS = [(name, field.name) for name in ROWS for field in dataclasses.fields(Reading)]


@pytest.mark.parametrize(
    "cell",
    core(CELLS, *(cell for cell in CELLS if "dedup" in cell or "encoding" in cell)),
    ids="-".join,
)
def test_every_command_reads_by_every_option(
    cell: tuple[str, str],
    folder: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    name, option = cell
    row = ROWS[name]
    if option in row.lacks:
        pytest.skip("it has no such option")
    monkeypatch.chdir(tmp_path)
    for each in ("run", "full", "other.jsonl"):
        (tmp_path / each).symlink_to(folder / each)
    neardup.Index.create("empty").close()
    source, how, wrong = _source(option)
    fails = bool(wrong) or option not in ("private_ids",)
    if fails:
        with pytest.raises(NeardupError):
            row.call(source, **wrong)
    row.call(source, **how)
    row.call(source, reading=Reading(**how))
    words = row.line.format(source).split()
    if fails:
        assert command(*words, *_as_options(wrong)).code in (1, 2)
    done = command(*words, *_as_options(how))
    assert done.code == 0, done.err


def _as_options(how: dict[str, Any]) -> list[str]:
    found = []
    for name, value in how.items():
        found += [f"--{name}".replace("_", "-"), *([] if value is True else [value])]
    return found


@pytest.mark.parametrize(
    ("prefix", "call", "line"),
    [
        (
            "test_",
            lambda source, **how: neardup.decontaminate(TEXTS, source, **how),
            "decontaminate first.jsonl --against {0} -o out",
        ),
        (
            "old_",
            lambda source, **how: neardup.against(TEXTS, source, **how),
            "dedup first.jsonl --against {0} -o out",
        ),
        (
            "old_",
            lambda source, **how: neardup.passages(TEXTS, against=source, progress=False, **how),
            "passages first.jsonl --against {0} -o out",
        ),
    ],
    ids=["decontaminate", "against", "passages"],
)
def test_a_second_corpus_is_read_by_options_of_its_own(
    prefix: str,
    call: Callable[..., Any],
    line: str,
    folder: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.jsonl").symlink_to(folder / "first.jsonl")
    for option in ("text", "id", "input_format", "delimiter"):
        source, how, wrong = _source(option)
        wrong = {prefix + name: value for name, value in wrong.items()}
        with pytest.raises(NeardupError):
            call(source, **wrong)
        call(source, **{prefix + name: value for name, value in how.items()})
        call(source, **{f"{prefix}reading": Reading(**how)})
        options = _as_options({prefix + name: value for name, value in how.items()})
        done = command(*line.format(source).split(), *options, "--overwrite")
        assert done.code == 0, (option, done.err)
    with pytest.raises(SpecError, match=f"`{prefix}reading` and `{prefix}id` are both given"):
        call(source, **{f"{prefix}reading": Reading(), f"{prefix}id": "id"})
