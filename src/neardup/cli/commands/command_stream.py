"""``neardup stream``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import click

from neardup.cli import options as o
from neardup.errors import ColumnError, FormatError, InputError, NeardupError

#: Lines that are answered together.
_LINES = 1000
_ADDED = ("kept", "duplicate_of", "similarity")


class _Line(NamedTuple):
    head: bytes  # without the closing brace
    id: Any
    text: str


@o.grouped("neardup stream --index notes.index --id note_id < new.jsonl > answered.jsonl")
@o.option(
    "--index",
    "folder",
    metavar="INDEX",
    required=True,
    type=o.PATH,
    group=o.INPUT,
    help="Folder that neardup index create has made.",
)
@o.text_option
@o.option("--id", "name", metavar="NAME", default="id", group=o.INPUT, help="Field with the id.")
@o.max_document_option
@o.option(
    "--line-buffered",
    is_flag=True,
    group=o.OUTPUT,
    help="Answer each line before the next is read.",
)
@o.option(
    "--durable",
    type=click.Choice(["power", "process"]),
    default="power",
    group=o.RESOURCES,
    help="Whether answers survive a power failure, or only the end of the process.",
)
@o.timeout_option
def stream(
    folder: Path,
    text: str,
    name: str,
    max_document: str,
    line_buffered: bool,
    durable: Any,
    timeout: float,
) -> None:
    """Answer JSON lines from standard input, and add those that are new to an index.

    Each line comes back with kept, duplicate_of and similarity added: whether it is in the index
    now, or else the first document there that it is similar to. What is kept is what neardup dedup
    with --keep first would keep. After a crash, send the same lines again: what is there with the
    same text is answered as before and not added again.
    """
    from neardup.api.indexes.indexing import Index
    from neardup.io.source import Columns
    from neardup.memory_plan import parse_size

    fields = text.split(",")
    size = parse_size(max_document, "max_document")
    limit = Columns(max_document=size).max_document
    source = iter(partial(sys.stdin.buffer.readline, limit + 1), b"")
    with Index.open(folder, durable=durable, timeout=timeout) as index:
        items = index.recipe.shingle.unit == "item"
        lines = _lines(source, name, fields, limit, items)
        wrong: list[NeardupError] = []
        while some := _some(lines, 1 if line_buffered else _LINES, wrong):
            found = index.add_if_new([line.text for line in some], ids=[line.id for line in some])
            for line, answer in zip(some, found.select(list(_ADDED)).to_pylist(), strict=True):
                added = json.dumps(answer)[1:]
                sys.stdout.buffer.write(line.head + b", " + added.encode() + b"\n")
            if line_buffered:
                sys.stdout.buffer.flush()
        if wrong:
            raise wrong[0]


def _some(lines: Iterator[_Line], count: int, wrong: list[NeardupError]) -> list[_Line]:
    """Return lines, up to one that can't be used; those before it are answered."""
    some: list[_Line] = []
    try:
        some.extend(islice(lines, count))
    except NeardupError as error:
        wrong.append(error)
    return some


def _lines(
    source: Iterable[bytes], name: str, fields: Sequence[str], limit: int, items: bool
) -> Iterator[_Line]:
    for number, line in enumerate(source, 1):
        where = f"standard input: line {number}"
        if len(line) > limit:
            raise FormatError(f"{where} has more than {limit:,} bytes", "raise `max_document`")
        line = line.strip()
        if not line:
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # its message may quote the line
            raise FormatError(f"{where} is not valid JSON") from error
        if not isinstance(row, dict):
            raise FormatError(f"{where} is not an object")
        for field in (name, *fields):
            if field not in row:
                raise ColumnError(f"{where} has no field {field!r}", "name another one")
        for field in _ADDED:
            if field in row:
                raise ColumnError(f"{where} has a field {field!r} already, which would be added")
        texts = [row[field] for field in fields]
        if items:
            texts = [_basket(text, where) for text in texts]
        elif not all(text is None or isinstance(text, str) for text in texts):
            raise FormatError(f"{where}: a text is not a string")
        if type(row[name]) not in (int, str):
            raise InputError(f"{where}: the id is neither a string nor an integer")
        joined = ("" if items else " ").join(text or "" for text in texts)
        yield _Line(line[:-1].rstrip(), row[name], joined)


def _basket(value: object, where: str) -> str:
    from neardup.sketch.baskets import ItemError, basket_text

    if not isinstance(value, list | None):
        raise FormatError(f"{where}: a basket is no array of items")
    try:
        return basket_text(value or ())
    except ItemError as error:
        raise FormatError(f"{where}: an item is of type {error}; expected a string") from error
