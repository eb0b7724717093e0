"""``neardup stream``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neardup.cli import command_options as o
from neardup.errors import NeardupError, ids_left_out, rows_from
from neardup.options.option_groups import Reading

if TYPE_CHECKING:
    from neardup.serve.stream_lines import Line

#: Lines that are answered together.
_LINES = 1000


@o.grouped("neardup stream --index notes.index --id note_id < new.jsonl > answered.jsonl")
@o.of_input(
    *("--index INDEX", "folder"),
    required=True,
    type=o.PATH,
    help="Folder that neardup index create has made.",
)
@o.text_option
@o.of_input("--id NAME", default="id", help="Field with the id.")
@o.shared(Reading, "max_document", "private_ids")
@o.of_output("--line-buffered", help="Answer each line before the next is read.")
@o.of_resources(
    "--durable [power|process]",
    default="power",
    help="Whether answers survive a power failure, or only the end of the process.",
)
@o.timeout_option
def stream(folder: Path, line_buffered: bool, private_ids: bool, **options: Any) -> None:
    """Answer JSON lines from standard input, and add those that are new to an index.

    Each line comes back with kept, duplicate_of and similarity added: whether it is in the index
    now, or else the first document there that it is similar to. The kept documents are those that
    neardup dedup with --keep first would keep. After a crash, send the same lines again: a document
    that is there with the same text is answered as before and not added again.
    """
    from neardup.api.indexes.indexing import Index
    from neardup.io.source import Columns
    from neardup.memory_plan import parse_size
    from neardup.serve.stream_lines import ADDED, LineReading

    size = parse_size(options["max_document"], "max_document")
    limit = Columns(max_document=size).max_document
    source = iter(partial(sys.stdin.buffer.readline, limit + 1), b"")
    done = 0
    how = {name: options[name] for name in ("durable", "timeout")}
    with Index.open(folder, **how) as index, ids_left_out(private_ids):
        items, within = index.recipe.shingle.unit == "item", index.recipe.within
        asked = options["id"], options["text"], limit, items, "standard input", within
        lines = LineReading(*asked).lines(source)
        wrong: list[NeardupError] = []
        while batch := _next_lines(lines, 1 if line_buffered else _LINES, wrong):
            texts, ids = ([getattr(line, of) for line in batch] for of in ("text", "id"))
            group = None if within is None else [line.group for line in batch]
            with rows_from(done):
                found = index.add_if_new(texts, ids=ids, group=group)
            done += len(batch)
            for line, answer in zip(batch, found.select(list(ADDED)).to_pylist(), strict=True):
                sys.stdout.buffer.write(line.answered(answer))
            if line_buffered:
                sys.stdout.buffer.flush()
        if wrong:
            raise wrong[0]


def _next_lines(lines: Iterator[Line], count: int, wrong: list[NeardupError]) -> list[Line]:
    """Return lines, up to one that can't be used; those before it are answered."""
    found: list[Line] = []
    try:
        found.extend(islice(lines, count))
    except NeardupError as error:
        wrong.append(error)
    return found
