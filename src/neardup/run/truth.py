"""Which documents are truly alike, as a user has it: pairs of ids, or an id and its group.

Pairs are taken as they are; *links* are pairs of which all that they connect are alike, such as a
document and the one that it was copied from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from neardup.errors import ColumnError, FormatError, InputError, InputNotFoundError, SpecError
from neardup.run.finished import FinishedRun

__all__ = ["KINDS", "Truth", "read_truth"]

KINDS = ("pairs", "links", "groups")
#: Columns that are looked for, the first that are there; as `neardup` itself writes them, too.
_PAIRS = (
    ("doc_id_a", "doc_id_b"),
    ("id_a", "id_b"),
    ("id_1", "id_2"),
    ("id1", "id2"),
    ("a", "b"),
)
_LINKS = (("id", "source_id"),)
_GROUPS = tuple(
    (id, group)
    for id in ("doc_id", "id")
    for group in ("cluster", "cluster_id", "group", "group_id", "label")
)
_NAMES_HINT = (
    "name two columns with --columns, and say with --kind whether they are pairs or groups"
)


@dataclass(frozen=True)
class Truth:
    """The truth in positions of a run.

    Attributes:
        kind: ``"pairs"``, ``"links"`` or ``"groups"``.
        docs: int64[rows]: documents named first.
        others: int64[rows]: for groups a number for each group, else the documents named second;
            -1 where the file has none, which says that the document is like no other.
        skipped: Rows left out since the run has no document with such an id.
    """

    kind: str
    docs: np.ndarray
    others: np.ndarray
    skipped: int


def read_truth(
    run: FinishedRun,
    source: Any,
    columns: Sequence[str] | None = None,
    kind: str | None = None,
    missing: str = "error",
) -> Truth:
    """Read pairs of ids, or ids and groups, and find their documents.

    Args:
        run: The run that is judged by them.
        source: A file (``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``; text also ``.gz``, ``.zst``),
            or a table: Arrow's, a frame, or a dict of columns.
        columns: The two columns; without it they are found by their names.
        kind: ``"pairs"``, ``"links"`` or ``"groups"``; without it, by the names.
        missing: ``"error"``, or ``"skip"`` to leave out rows with ids that the run has not.

    Raises:
        InputError: The file can't be read, a document is in two groups, an id is null or unknown.
        ColumnError: The columns are not there.
        SpecError: A setting out of range.
    """
    if kind is not None and kind not in KINDS:
        raise SpecError(f"kind is {kind!r}; expected {', '.join(KINDS)}")
    if missing not in ("error", "skip"):
        raise SpecError(f"missing is {missing!r}; expected error or skip")
    is_file = isinstance(source, (str, os.PathLike))
    name = str(source) if is_file else "the truth"
    table = _read(Path(source)) if is_file else _table(source)
    first, second, kind = _columns(name, table.column_names, columns, kind)
    ids, others = table.column(first), table.column(second)
    if ids.null_count:
        row = pc.index(ids.is_null(), True).as_py() + 1
        raise InputError(f"{name}: row {row} has no {first}", "each row needs an id")
    known = run.ids
    docs = _positions(ids, known)
    if kind != "groups":
        places = _positions(others, known)
        unknown = (docs < 0) | ((places < 0) & others.is_valid().to_numpy())
    else:
        places = _numbers(name, second, others)
        unknown = docs < 0
    if unknown.any() and missing == "error":
        row = int(np.argmax(unknown))
        value = _quoted(run, ids[row] if docs[row] < 0 else others[row])
        raise InputError(
            f"{name}: row {row + 1}: {run.out} has no document with the id{value}",
            "rows are counted without the header; --missing skip leaves out those with other ids",
        )
    truth = Truth(kind, docs[~unknown], places[~unknown], int(unknown.sum()))
    if kind == "groups":
        _check_groups(name, truth, run)
    return truth


def _table(source: Any) -> Any:
    try:
        return pa.table(source)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"the truth is a {type(source).__name__}; expected a path or a table",
            "such as an Arrow table, a frame, or a dict of two columns",
        ) from error


def _read(path: Path) -> Any:
    names = [s.lower() for s in path.suffixes[-2:]]
    ending = names[-1] if names else ""
    if ending in (".gz", ".zst") and len(names) == 2:
        ending = names[0]
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file")
    try:
        if ending == ".parquet":
            return pq.read_table(path)
        if ending not in (".csv", ".tsv", ".jsonl", ".ndjson", ".json"):
            raise FormatError(
                f"{path}: unknown ending {ending!r}",
                "truth is read from .csv, .tsv, .jsonl (also .gz, .zst) and .parquet",
            )
        with pa.input_stream(str(path), compression="detect") as stream:
            data = stream.read()
    except FileNotFoundError as error:
        raise InputNotFoundError(f"{path}: no such file", "check the path") from error
    except pa.ArrowException as error:
        raise FormatError(f"{path}: not readable as {ending[1:]}") from error
    except OSError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: can't be read, or not what its ending says") from error
    if ending in (".csv", ".tsv"):
        return _csv(path, data, "\t" if ending == ".tsv" else ",")
    return _json_lines(path, data)


def _csv(path: Path, data: bytes, delimiter: str) -> Any:
    """All columns as strings, so that 007 stays what it is."""
    parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        with pacsv.open_csv(pa.BufferReader(data), parse_options=parse) as head:
            names = head.schema.names
        return pacsv.read_csv(
            pa.BufferReader(data),
            parse_options=parse,
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowException as error:
        raise FormatError(
            f"{path}: not readable as csv, or empty", "the first line must name the columns"
        ) from error


def _json_lines(path: Path, data: bytes) -> Any:
    rows = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise FormatError(f"{path}: line {number} is no JSON object", "one object a line")
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        if any(isinstance(value, str) for value in values):
            values = [None if value is None else str(value) for value in values]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, OverflowError):
            columns[name] = pa.array([json.dumps(value) for value in values])
    return pa.table(columns)


def _columns(
    name: str, there: list[str], columns: Sequence[str] | None, kind: str | None
) -> tuple[str, str, str]:
    known = {
        **dict.fromkeys(_PAIRS, "pairs"),
        **dict.fromkeys(_LINKS, "links"),
        **dict.fromkeys(_GROUPS, "groups"),
    }
    listed = f"its columns are {', '.join(there)}" if there else "it has no columns"
    if columns is None:
        for (first, second), what in known.items():
            alike = kind in (None, what) or "groups" not in (kind, what)
            if there.count(first) == there.count(second) == 1 and alike:
                return first, second, kind or what
        raise ColumnError(f"{name}: no columns that are known; {listed}", _NAMES_HINT)
    if len(columns) != 2:
        raise SpecError(f"columns names {len(columns)}; expected two", _NAMES_HINT)
    first, second = columns
    for column in columns:
        if there.count(column) != 1:
            raise ColumnError(
                f"{name}: no column {column!r}, or several; {listed}", "check --columns"
            )
    kind = kind or known.get((first, second))
    if kind is None:
        raise SpecError(
            f"the columns {first} and {second} may be pairs, links or groups",
            "say which with --kind",
        )
    return first, second, kind


def _positions(ids: Any, known: Any) -> np.ndarray:
    """Positions of the documents, -1 where there is none; by type if equal, else as they read."""
    if ids.type != known.type:
        whole = pa.types.is_integer(ids.type) and pa.types.is_integer(known.type)
        common = pa.int64() if whole else pa.large_string()
        try:
            ids, known = ids.cast(common), known.cast(common)
        except pa.ArrowException:
            return np.full(len(ids), -1, dtype=np.int64)
    found = pc.index_in(ids, value_set=known, skip_nulls=True)
    return np.asarray(found.fill_null(-1).to_numpy().astype(np.int64))


def _numbers(name: str, column: str, groups: Any) -> np.ndarray:
    """A number for each group, -1 for null."""
    try:
        encoded = pc.dictionary_encode(groups).combine_chunks()
    except pa.ArrowException as error:
        raise ColumnError(
            f"{name}: {column} is of type {groups.type}, which can't name groups"
        ) from error
    return np.asarray(encoded.indices.fill_null(-1).to_numpy().astype(np.int64))


def _check_groups(name: str, truth: Truth, run: FinishedRun) -> None:
    order = np.argsort(truth.docs, kind="stable")
    docs, groups = truth.docs[order], truth.others[order]
    twice = (docs[1:] == docs[:-1]) & (groups[1:] != groups[:-1])
    if twice.any():
        doc = int(docs[int(np.argmax(twice))])
        raise InputError(
            f"{name}: the id{_quoted(run, run.ids[doc])} of document {doc} is in two groups",
            "each document belongs to one group at most",
        )


def _quoted(run: FinishedRun, id: Any) -> str:
    """The id for a message; nothing where ids are texts."""
    return "" if run.record["secret_ids"] else f" {str(id)[:100]!r}"
