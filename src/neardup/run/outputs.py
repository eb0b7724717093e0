"""What a run found, as files: each appears by rename, all or none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from neardup.corpus import OUTPUT_FORMATS, TableWriter, write_hint
from neardup.errors import OutputError, SpecError

__all__ = ["check_output", "write_outputs"]


def check_output(out: Path, format: str, overwrite: bool, inputs: Iterable[str] = ()) -> None:
    """Refuse an output that can't or must not be written, before any work is done.

    Args:
        out: Folder to make.
        format: Of the clean corpus.
        overwrite: What an earlier run left in ``out`` is to be replaced.
        inputs: Files that must not be replaced by what is made of them.

    Raises:
        OutputError: ``out`` exists and ``overwrite`` is not set, or it is no folder, or the
            folder it is to lie in is not there or not writable.
        SpecError: The format is not known.
    """
    if format not in OUTPUT_FORMATS:
        raise SpecError(f"no output format {format!r}", "known are " + ", ".join(OUTPUT_FORMATS))
    with _clear_errors(out):
        if out.exists() or out.is_symlink():
            if not out.is_dir():
                raise OutputError(f"{out} exists and is not a folder", "name another with -o")
            if not overwrite:
                raise OutputError(
                    f"{out} exists", "use --overwrite, or name another folder with -o"
                )
            for name in _names(OUTPUT_FORMATS):
                if (out / name).is_dir():
                    raise OutputError(f"{out / name} is a folder", "name another with -o")
            replaced = {os.path.realpath(out / name) for name in _names(OUTPUT_FORMATS)}
            for path in inputs:
                if os.path.realpath(path) in replaced:
                    raise OutputError(
                        f"{path} is an input and would be replaced", "name another folder with -o"
                    )
        existing = next(p for p in [out, *out.absolute().parents] if p.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise OutputError(
            f"{existing} is not a folder that can be written to", "name another with -o"
        )


def write_outputs(
    out: Path,
    tables: dict[str, tuple[Any, Iterable[Any]]],
    format: str,
    record: Any,
    compression: str = "none",
) -> dict[str, int]:
    """Write all files beside their final names, then rename them all.

    Args:
        out: Folder; made if it is not there, and removed again if writing fails.
        tables: By name without ending: schema, and tables of it, one after the other. What is
            called ``clean`` gets the format, the others are Parquet.
        format: ``parquet``, ``jsonl`` or ``csv``.
        record: Called with {file name: bytes} once the tables are written; returns what goes into
            ``run.json``.
        compression: Codec of ``clean.parquet``.

    Returns:
        Bytes by file name.

    Raises:
        OutputError: The disk is full, or the folder can't be written to.
    """
    made: list[Path] = []
    partial: dict[Path, Path] = {}
    moved: list[Path] = []
    try:
        with _clear_errors(out):
            for folder in reversed([out, *out.absolute().parents]):
                if not folder.exists():
                    folder.mkdir()
                    made.append(folder)
            sizes: dict[str, int] = {}
            for name, (schema, batches) in tables.items():
                kind = format if name == "clean" else "parquet"
                final = out / f"{name}.{kind}"
                partial[final] = out / f".{final.name}.partial"
                codec = compression if name == "clean" else "zstd"
                with TableWriter(partial[final], schema, kind, compression=codec) as writer:
                    for table in batches:
                        writer.write(table)
                sizes[final.name] = partial[final].stat().st_size
            final = out / "run.json"
            partial[final] = out / ".run.json.partial"
            text = json.dumps(record(sizes), indent=2, ensure_ascii=False)
            partial[final].write_text(text + "\n", encoding="utf-8")
            for path in partial.values():
                with path.open("rb+") as file:
                    os.fsync(file.fileno())
            for final, path in partial.items():
                if not final.exists():
                    moved.append(final)
                path.replace(final)
            # A clean corpus in another format is from an earlier run.
            for name in set(_names(OUTPUT_FORMATS)) - {final.name for final in partial}:
                (out / name).unlink(missing_ok=True)
            return sizes
    except BaseException:
        with suppress(OSError):  # the first error counts
            for path in [*partial.values(), *moved]:
                path.unlink(missing_ok=True)
            for folder in reversed(made):
                folder.rmdir()  # refuses, as it should, where somebody put something in
        raise


def _names(formats: Iterable[str]) -> list[str]:
    """The names that files of a run may have."""
    return [
        "clusters.parquet",
        "edges.parquet",
        "run.json",
        *(f"clean.{format}" for format in formats),
    ]


@contextmanager
def _clear_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        reason = error.strerror or "the system refused it"
        raise OutputError(f"can't write to {out}: {reason.lower()}", write_hint(error)) from error
