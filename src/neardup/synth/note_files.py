"""The files of a synthetic corpus and of its ground truth, which appear when both are complete."""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa

from neardup.errors import OutputError, SpecError
from neardup.files.private_files import replacing


class Written(NamedTuple):
    """Number of documents, their bytes before any compression, and both files."""

    documents: int
    bytes: int
    output: Path
    truth: Path


def truth_path(output: Path, truth: Path | None = None) -> Path:
    """Return where the ground truth goes: to ``<stem>.truth.parquet`` unless it is named."""
    return truth or output.with_suffix(".truth.parquet")


def ending_of(path: Path, endings: tuple[str, ...]) -> str:
    """Return the ending of a file; SpecError where it is none of those that are known."""
    if path.suffix not in endings:
        known = "known are " + ", ".join(endings)
        raise SpecError(f"the ending of {path} names no format", known)
    return path.suffix


@contextmanager
def both_files(
    output: Path, truth: Path | None, endings: tuple[str, ...], overwrite: bool
) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Give the files of a corpus and its ground truth, which get their names at the end."""
    ending_of(output, endings)
    known = truth_path(output, truth)
    if ending_of(known, (".parquet",)) and known.resolve() == output.resolve():
        raise SpecError(f"truth is {known}; expected another file than {output}")
    for path in (output, known):
        if path.exists() and not overwrite:
            raise OutputError(f"{path} exists", "choose another name, or overwrite it")
    # The documents come last: who sees them may rely on the ground truth.
    # Of two runs at once, one might leave its documents and the other its ground truth.
    with replacing(output, exclusive=True) as notes, replacing(known, exclusive=True) as other:
        yield notes, other


def write_notes(
    batches: Iterable[tuple[list[dict[str, Any]], list[dict[str, Any]]]],
    schemas: tuple[pa.Schema, pa.Schema],
    output: Path,
    truth: Path | None,
    overwrite: bool,
) -> Written:
    """Write notes as JSON lines or Parquet, and their ground truth as Parquet, both by rename.

    Args:
        batches: Notes, and rows of the ground truth.
        schemas: Of both as tables.
        output: File of the notes.
        truth: File of the ground truth, see `truth_path`.
        overwrite: Replace files that exist.
    """
    import pyarrow.parquet as pq

    documents = 0
    files = both_files(output, truth, (".jsonl", ".parquet"), overwrite)
    with files as (opened, known), ExitStack() as stack:
        sources = stack.enter_context(pq.ParquetWriter(known, schemas[1]))
        table = None
        if output.suffix == ".parquet":
            table = stack.enter_context(pq.ParquetWriter(opened, schemas[0]))
        for notes, rows in batches:
            documents += len(notes)
            sources.write_table(pa.Table.from_pylist(rows, schemas[1]))
            if table is not None:
                table.write_table(pa.Table.from_pylist(notes, schemas[0]))
            else:
                lines = (json.dumps(note, ensure_ascii=False) + "\n" for note in notes)
                opened.write("".join(lines).encode())
        size = opened.tell()
    return Written(documents, size, output, truth_path(output, truth))
