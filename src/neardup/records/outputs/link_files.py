"""What a linkage found, as files in a folder that appears as a whole."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, numbers
from neardup.errors import FormatError, InputNotFoundError, OutputError, SpecError
from neardup.io.source import Layout
from neardup.io.whole import read_whole
from neardup.io.writers import open_writer
from neardup.private_files import sync_folder, system_errors, write_private
from neardup.records.link_steps import Linked
from neardup.records.outputs import link_tables as tables

#: The record of a linkage, whose presence makes a folder one.
RECORD = "link.json"
_FORMAT = 1


def write_links(linked: Linked, summary: dict[str, Any], out: Path, overwrite: bool) -> Path:
    """Write a folder with ``pairs``, ``candidates`` and ``clusters`` as Parquet, and the record.

    Raises:
        OutputError: The folder exists, or can't be written.
    """
    check_links_folder(out, overwrite)
    found, every = linked.blocked.candidates, np.arange(len(linked.blocked.candidates.a))
    match = np.zeros(len(every), np.bool_)
    match[linked.pairs] = True
    candidates = tables.scored_table(linked, every)
    for name, column in (("row_a", found.a), ("row_b", found.b), ("match", match)):
        candidates = candidates.append_column(name, array_of(column))
    written = {
        "pairs.parquet": tables.scored_table(linked, linked.pairs),
        "candidates.parquet": candidates,
        "clusters.parquet": tables.cluster_table(linked),
    }
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        with system_errors(out):
            partial.mkdir(mode=0o700)
            for name, table in written.items():
                layout = Layout("parquet", "zstd", b"", table.schema)
                with open_writer(partial / name, layout) as writer:
                    writer.write(writer.prepare(table))
            record = json.dumps({"format": _FORMAT, **summary}, indent=2) + "\n"
            write_private(partial / RECORD, record.encode())
            if out.exists():
                shutil.rmtree(out)
            partial.rename(out)
            sync_folder(out.absolute().parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return out


def check_links_folder(out: Path, overwrite: bool) -> None:
    """Refuse a folder that can't or must not be written, before any work is done.

    Raises:
        OutputError: It exists, or can't be written.
    """
    if os.path.lexists(out):
        if not (out / RECORD).is_file():
            raise OutputError(f"{out} exists and is no linkage", "name another output")
        if not overwrite:
            raise OutputError(f"{out} exists", "use overwrite=True, or name another output folder")
    parent = out.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{parent} is not a folder that can be written", "name another output")


def read_links(folder: Path) -> tuple[tables.Decided, dict[str, Any]]:
    """Return what a judge has to know, and the record, of a folder that `write_links` wrote.

    Raises:
        InputError: It is no such folder, or damaged.
    """
    try:
        record: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if record["counts"].get("against") is not None:
            raise SpecError(
                "a linkage against an index can't be evaluated by itself",
                "evaluate the index, which has the clusters of all records",
            )
        candidates = read_whole(folder / "candidates.parquet", "candidates")
        clusters = read_whole(folder / "clusters.parquet", "clusters")
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
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    header = (",".join(pairs.column_names) + "\n").encode() if format == "csv" else b""
    layout = Layout(format, "zstd" if format == "parquet" else None, header, pairs.schema)
    try:
        with system_errors(path):
            with open_writer(partial, layout) as writer:
                writer.write(writer.prepare(pairs))
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
