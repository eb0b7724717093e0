"""What a run found, as files: each appears by rename, all or none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neardup.corpus import OUTPUT_FORMATS, TableWriter
from neardup.errors import OutputError, SpecError

__all__ = ["check_output", "write_outputs"]


def check_output(out: Path, format: str, overwrite: bool) -> None:
    """Refuse an output that can't or must not be written, before any work is done.

    Raises:
        OutputError: ``out`` exists and ``overwrite`` is not set, or it is no folder, or the
            folder it is to lie in is not there or not writable.
        SpecError: The format is not known.
    """
    if format not in OUTPUT_FORMATS:
        raise SpecError(f"no output format {format!r}", "known are " + ", ".join(OUTPUT_FORMATS))
    if out.exists() or out.is_symlink():
        if not out.is_dir():
            raise OutputError(f"{out} exists and is not a folder", "name another with -o")
        if not overwrite:
            raise OutputError(f"{out} exists", "use --overwrite, or name another folder with -o")
    existing = next(p for p in [out, *out.absolute().parents] if p.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise OutputError(f"{existing} is not a folder that can be written to")


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
    made = not out.exists()
    partial: dict[Path, Path] = {}
    try:
        with _clear_errors(out):
            out.mkdir(parents=True, exist_ok=True)
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
                path.replace(final)
            # A clean corpus in another format is from an earlier run.
            for other in OUTPUT_FORMATS:
                if other != format:
                    (out / f"clean.{other}").unlink(missing_ok=True)
            return sizes
    except BaseException:
        for path in partial.values():
            path.unlink(missing_ok=True)
        if made and out.is_dir() and not any(out.iterdir()):
            out.rmdir()
        raise


@contextmanager
def _clear_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"can't write to {out}: {error.strerror}",
            "make space or choose another disk; nothing was left behind",
        ) from error
