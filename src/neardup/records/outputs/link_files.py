"""Results of a linkage as files in a folder that appears complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, numbers
from neardup.errors import FormatError, InputNotFoundError, SpecError
from neardup.io.input_tables import read_table
from neardup.io.writers import write_tables
from neardup.private_files import replacing_path
from neardup.records.link_steps import Linked
from neardup.records.outputs import link_tables as tables
from neardup.result_record import RECORD
from neardup.state.output_folder import output_folder, write_record

COMMAND = "link"
_FORMAT = 1
_TABLES = ("pairs.parquet", "candidates.parquet", "clusters.parquet")
#: What is written to an output folder.
WRITES = (*_TABLES, RECORD)


def write_links(linked: Linked, summary: dict[str, Any], out: Path, overwrite: bool) -> Path:
    """Write a folder with ``pairs``, ``candidates`` and ``clusters`` as Parquet, and the record.

    Raises:
        OutputError: The folder exists, or can't be written.
    """
    found, every = linked.blocked.candidates, np.arange(len(linked.blocked.candidates.a))
    match = np.zeros(len(every), np.bool_)
    match[linked.pairs] = True
    candidates = tables.scored_table(linked, every)
    for name, column in (("row_a", found.a), ("row_b", found.b), ("match", match)):
        candidates = candidates.append_column(name, array_of(column))
    written = (tables.scored_table(linked, linked.pairs), candidates, tables.cluster_table(linked))
    with output_folder(out, overwrite, WRITES) as folder:
        for name, table in zip(_TABLES, written, strict=True):
            write_tables(folder / name, [table])
        write_record(folder, COMMAND, {"format": _FORMAT, **summary})
    return out


def read_links(folder: Path) -> tuple[tables.Decided, dict[str, Any]]:
    """Return what a judge has to know, and the record, of a folder that `write_links` wrote.

    Raises:
        InputError: It is no such folder, or damaged.
    """
    try:
        record: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if record["command"] != COMMAND:
            raise SpecError(
                f"{folder} was made by neardup {record['command']}, not by neardup link",
                "name the output folder of neardup link",
            )
        if record["counts"].get("against") is not None:
            raise SpecError(
                "a linkage against an index can't be evaluated by itself",
                "evaluate the index, which has the clusters of all records",
            )
        candidates = read_table(folder / "candidates.parquet", "candidates")
        clusters = read_table(folder / "clusters.parquet", "clusters")
        return _decided(candidates, clusters, record), record
    except SpecError:
        raise
    except FileNotFoundError as error:
        raise InputNotFoundError(f"{folder} is no output folder of neardup link") from error
    except (ValueError, KeyError, pa.ArrowException) as error:
        raise FormatError(f"{folder} is damaged", "link the records again") from error


def _decided(candidates: pa.Table, clusters: pa.Table, record: dict[str, Any]) -> tables.Decided:
    """Return what `neardup.records.outputs.link_tables.decided` returned."""
    second = np.array([s == "b" for s in clusters.column("source").to_pylist()], np.bool_)
    ids: Any = clusters.column("id").combine_chunks()
    first = int((~second).sum())
    parts = (ids.slice(0, first), ids.slice(first)) if second.any() else (ids,)
    one = {name: candidates.column(name).combine_chunks() for name in candidates.column_names}
    return tables.Decided(
        parts,
        numbers(one["row_a"]),
        numbers(one["row_b"]),
        record["counts"]["possible"],
        numbers(one["similarity"]),
        numbers(one["match"]),
        numbers(clusters.column("cluster").combine_chunks()),
        record["threshold"]["value"],
    )


def write_pairs(pairs: pa.Table, path: Path, format: str) -> None:
    """Write a table of pairs to a file, which appears by rename.

    Raises:
        OutputError: It can't be written.
    """
    with replacing_path(path) as partial:
        write_tables(partial, [pairs], format)
