"""Which files a clean corpus has, and whether the records can be written to them."""

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, cast

import pyarrow as pa

from neardup.errors import FormatError, SpecError
from neardup.file_formats import COMPRESSIONS, FORMATS, WRITTEN
from neardup.io.columns import called, check_new, plain_schema
from neardup.io.paths import unique_name
from neardup.io.source import Layout, Source
from neardup.io.writers import open_writer
from neardup.tuning import TUNING

_ENDINGS = tuple(of.ending for of in COMPRESSIONS.values())


@dataclass(frozen=True)
class OutputFile:
    """One file of the clean corpus; of plain texts, the folder with all of them."""

    name: str  # Posix name below the folder of the clean corpus; empty for that folder itself
    first: int  # number of its first partition among all of the source
    end: int  # number after the last one
    layout: Layout
    converted: bool  # whether it takes `Partition.table` instead of `Partition.records`


def check_output(
    source: Source,
    format: str | None,
    added: pa.Schema | None = None,
    compression: str | None = None,
) -> None:
    """Refuse an output that can't be written, before any work is done.

    Format and compression are as the user names them, None for those of the input; ``added`` are
    columns that are added to each record. Of JSON lines, the first ones are looked at.
    """
    if format is not None and format not in WRITTEN:
        raise SpecError(f"no output format {format!r}", f"known are {', '.join(WRITTEN)}")
    if added is not None and source.format in ("text", "lines") and format is None:
        what = "plain texts have no fields, and some are to be added"
        raise SpecError(what, "write records, with format='jsonl'")
    formats = {file.format for file in source.files} or {"parquet"}
    for target in sorted({format} if format else formats):
        if compression is not None and compression not in FORMATS[target].codecs:
            codecs = ", ".join(FORMATS[target].codecs)
            raise SpecError(
                f"`compression` is {compression!r}, which {target} output does not have",
                f"{target} has {codecs}" if codecs else "plain texts stay as they are",
            )
    checked: set[tuple[str, str]] = set()  # there may be many files of one schema
    for number in _numbers(source):
        file = source.files[number] if source.files else None
        name = "the frame" if file is None else file.path
        if file is not None and file.size is None:
            continue
        layout = source.layout(number)
        fields: pa.Schema = layout.schema or pa.schema([])
        if added is not None:
            there = fields.names if layout.schema else source.present(number, added.names)
            check_new(name, there, added.names)
        target = format or layout.format
        if target == "lines":
            continue
        for index, field in enumerate(fields):
            if target in WRITTEN and (str(field.type), target) not in checked:
                _check_field(f"{name}: {called(field.name, index)}", field, target)
                checked.add((str(field.type), target))


def _numbers(source: Source) -> Sequence[int]:
    """Numbers of the files that have an output each; -1 for frames."""
    # A folder of plain texts is converted as if it were one file.
    return range(len(source.files) if source.format != "text" else 1) or [-1]


def _check_field(column: str, field: "pa.Field[Any]", format: str) -> None:
    none = pa.Array.from_buffers(pa.int64(), 0, [None, pa.py_buffer(b"")])
    try:
        # (An empty table made by Arrow, as an array made of a list, imports pandas: 0.4 s.)
        table = pa.Table.from_batches([], pa.schema([field]))
        with open_writer(None, Layout(format, schema=table.schema)) as writer:
            writer.prepare(table.take(cast(Any, none)))
    except (pa.ArrowException, NotImplementedError) as error:  # unions to Parquet, lists to CSV
        raise FormatError(
            f"{column} has the type {field.type}, which can't be written as {format}",
            "convert the column, or leave it out",
        ) from error


def _can_write(schema: pa.Schema, format: str) -> bool:
    """Whether this version of Arrow makes views of strings, and writes them."""
    plain = plain_schema(schema)
    fields = [f.with_nullable(True) for f in schema if not f.equals(plain.field(f.name))]
    nulls = [pa.nulls(1, plain.field(field.name).type) for field in fields]
    table = pa.table(nulls, names=[field.name for field in fields])
    try:
        with open_writer(None, Layout(format, schema=pa.schema(fields))) as writer:
            writer.write(writer.prepare(table))
    except (FormatError, pa.ArrowException, NotImplementedError):
        return False
    return True


def plan_outputs(
    source: Source,
    starts: Sequence[tuple[int, int]],
    format: str | None = None,
    added: pa.Schema | None = None,
    schema: pa.Schema | None = None,
    compression: str | None = None,
) -> list[OutputFile]:
    """Decide which files the clean corpus has; a function of the input only.

    Several input files have an output each, of the same name. One input file, or a frame, has
    files ``part-00000`` and so on, cut where the start of a partition passes a multiple of
    `PART_BYTES`, or of less if the source is small and its files are compressed. ``starts`` are
    file and start of each partition, ``schema`` is that of converted records.
    """
    if source.converted:
        names = ", ".join(map(repr, source.converted))
        warnings.warn(f"columns of several types are written as strings: {names}", stacklevel=2)
    if source.format == "text" and format is None:
        return [OutputFile("", 0, len(starts), Layout("text"), False)]
    numbers = _numbers(source)
    outputs = []
    taken: set[str] = set()
    files = [file for file, _ in starts]
    for number in numbers:
        native = source.layout(number)
        layout = _layout(native, format or native.format, schema, added)
        if compression is not None:
            # Parquet has a name for none, Arrow IPC and files of bytes have not.
            none = compression == "none" and layout.format != "parquet"
            layout = replace(layout, compression=None if none else compression)
        converted = layout.format != native.format
        if len(numbers) > 1:
            first, end = bisect_left(files, number), bisect_right(files, number)
            of = source.files[number]
            same = not converted and compression is None and native.format == of.format
            name = unique_name(_output_name(of.name, same, layout), taken)
            outputs.append(OutputFile(name, first, end, layout, converted))
            continue
        part_bytes = TUNING.output_bytes
        if layout.format == "parquet" or layout.compression == "zstd":
            total = source.total_bytes or 4 * TUNING.output_bytes
            part_bytes = min(TUNING.output_bytes, max(TUNING.packed_bytes, -(-total // 4)))
        parts = [start // part_bytes for _, start in starts]
        cuts = [i for i in range(1, len(parts)) if parts[i] != parts[i - 1]]
        for part, (first, end) in enumerate(zip([0, *cuts], [*cuts, len(parts)], strict=True)):
            name = f"part-{part:05}{ending_of(layout)}"
            outputs.append(OutputFile(name, first, end, layout, converted))
    return outputs


def _layout(
    native: Layout, format: str, schema: pa.Schema | None, added: pa.Schema | None
) -> Layout:
    """The layout of an output of an input that is written as ``native`` in its format."""
    layout = native
    if format != native.format:
        compression = None if FORMATS[native.format].packed else native.compression
        if FORMATS[format].packed:
            compression = FORMATS[format].codecs[0]
        layout = Layout(format, compression, b"", schema or native.schema, native.text)
    schema, header = layout.schema, layout.header
    if FORMATS[format].packed and native.views is not None and _can_write(native.views, format):
        schema = native.views
    if added is not None and schema is not None:
        schema = pa.schema([*schema, *added], cast(Any, schema.metadata))
    if format in ("csv", "tsv"):
        from neardup.io.formats.csv_tables import DELIMITERS, csv_header

        delimiter = layout.delimiter or DELIMITERS[format]
        if header and added is not None:
            header = csv_header(added.names, delimiter, header)
        elif not header and schema is not None:
            header = csv_header(schema.names, delimiter)
    return replace(layout, schema=schema, header=header)


def ending_of(layout: Layout) -> str:
    """Return the ending of the names of files of a layout."""
    of = FORMATS[layout.format]
    packed = COMPRESSIONS[layout.compression].ending if layout.compression and of.is_text else ""
    return f"{'.txt' if layout.format == 'lines' else of.endings[0]}{packed}"


def _output_name(name: str, same: bool, layout: Layout) -> str:
    """The name of an input, with the ending of the output format."""
    path = PurePosixPath(name)
    if path.suffix and same:
        return name
    if path.suffix.lower() in _ENDINGS and len(path.suffixes) > 1:
        path = path.with_suffix("")
    return path.with_suffix("").as_posix() + ending_of(layout)
