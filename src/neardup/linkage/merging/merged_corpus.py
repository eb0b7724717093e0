"""The folder of merged records: written as a clean corpus, of all inputs in one file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as _pc

from neardup.arrays import array_of, strings_of
from neardup.deduplication.reading import PartitionRows
from neardup.errors import DependencyError, SpecError
from neardup.file_formats import FIXED, FORMATS, MERGED_AS
from neardup.io.formats.byte_partitions import BytePartition
from neardup.io.formats.csv_tables import DELIMITERS, csv_header
from neardup.io.formats.json_text import conform, joined_list
from neardup.io.outputs import OutputFile, ending_of
from neardup.io.source import Layout, Source
from neardup.linkage.columns.field_columns import named_files
from neardup.linkage.link_steps import Linked
from neardup.linkage.merging.joined_sources import JoinedNames
from neardup.linkage.merging.members import missing_column
from neardup.linkage.merging.merge_spec import MergeSpec
from neardup.linkage.merging.merged_values import Merging
from neardup.linkage.record_files import RecordSource
from neardup.output.clean import MERGED, CleanCorpus, Form
from neardup.threads import Pool

pc = cast(Any, _pc)
_BLANK = re.compile(rb"\n\r?\n\Z")
_IDS = pa.large_list(pa.large_string())


def merged_corpus(linked: Linked, pool: Pool, folder: Path | None = None) -> MergedCorpus:
    """Return the merged records of a linkage, see `Merging`."""
    merging = Merging(linked, pool, folder)
    members = merging.members
    form = Form(merging.spec.format)
    parts = (merging.reader, members.begins, members.ends, merging.kept, form, pool)
    return MergedCorpus(*parts, step=MERGED, merging=merging)


def check_merge(spec: MergeSpec, given: RecordSource, fields: Sequence[str]) -> None:
    """Refuse settings that the inputs can't have, before they are linked.

    Args:
        spec: The settings.
        given: The inputs, open.
        fields: Names of the fields.

    Raises:
        ColumnError: No input has a column that is named.
        SpecError: A file is named that is no input, lists would be filled, or records changed that
            are only copied.
    """
    rule, name = spec.rule
    if rule == "file" and name not in named_files(given.given):
        shown, more = given.names[:20], ", ..." if len(given.names) > 20 else ""
        what = f"`keep` names the file {name!r}, which is none of those that are linked"
        raise SpecError(what, f"they are {', '.join(shown)}{more}")
    sources = [one.source for one in given.opened]
    of_files = given.columns, given.opened, range(len(sources))
    joined = JoinedNames(fields, *of_files, spec.format)
    there = set[str]()
    for number, source in enumerate(sources):
        for file in range(len(source.files)) or [-1]:
            schema = source.layout(file).schema
            asked = [*spec.columns, *given.columns[number]]
            names = schema.names if schema else source.present(file, asked)
            there.update(joined.of(number, names).values())
            spec.check_types(schema or pa.schema([]))
            if spec.fill:
                spec.check_lists(joined.of(number, source.lists(file)).values())
    for name in spec.columns:
        if name not in there:
            raise missing_column(name, sorted(there))
    first = sources[0]
    format = spec.format or target_of(first)
    several = {target_of(source) for source in sources} != {format}
    if format in FIXED and (spec.fill or spec.combine):
        what = f"records in the format {format} are written as they are, not filled or combined"
        raise SpecError(what, "name another one with `format`, such as 'ris' or 'csv'")
    if format not in MERGED_AS and several:
        what = f"records of another format can't be written as {format}"
        raise SpecError(what, "name another one with `format`, such as 'ris' or 'csv'")
    if format == "xlsx":
        try:
            import openpyxl  # noqa: F401
        except ImportError as error:
            hint = "pip install 'neardup[office]'"
            raise DependencyError("a sheet of Excel needs neardup[office]", hint) from error


def target_of(source: Source) -> str:
    """Return the format of the first file of a source; Parquet for a frame."""
    format = source.files[0].format if source.files else "parquet"
    return "xlsx" if format == "excel" else format


@dataclass
class MergedCorpus(CleanCorpus):
    """Merged records in one file.

    Attributes:
        merging: Their values.
    """

    merging: Merging = field(kw_only=True)

    def _outputs(self) -> list[OutputFile]:
        layout = self._layout
        name = f"part-00000{ending_of(layout)}"
        return [OutputFile(name, 0, len(self.begins), layout, False)]

    @cached_property
    def _schema(self) -> pa.Schema:
        schema = self.merging.members.schema
        of_lines = (self.merging.spec.format or target_of(self.reader.source)) in DELIMITERS
        ids = pa.field(self.merging.ids_column, pa.large_string() if of_lines else _IDS)
        return pa.schema([*schema, ids], cast(Any, schema.metadata))

    @cached_property
    def _layout(self) -> Layout:
        source, spec = self.reader.source, self.merging.spec
        native = source.layout(0 if source.files else -1)
        format = spec.format or target_of(source)
        packed = FORMATS[format].packed
        layout = native
        if format != native.format:
            compression = None if FORMATS[native.format].packed else native.compression
            if packed:
                compression = (*FORMATS[format].codecs, None)[0]
            layout = Layout(format, compression, text=native.text)
        layout = replace(layout, schema=self._schema, views=None)
        if format in DELIMITERS:
            delimiter = layout.delimiter or DELIMITERS[format]
            names = native.schema is not None and native.schema.names
            if layout.header and names == self._schema.names[:-1]:
                header = csv_header([self.merging.ids_column], delimiter, layout.header)
            else:
                header = csv_header(self._schema.names, delimiter)
            return replace(layout, header=header, delimiter=delimiter)
        if format == "bibtex":
            every = (source.layout(k) for k in range(len(source.files)))
            heads = [*dict.fromkeys(each.header for each in every if each.format == format)]
            heads = [head if head.endswith(b"\n") else head + b"\n" for head in heads if head]
            return replace(layout, header=b"".join(heads))
        return layout

    def _documents(self, selected: PartitionRows, as_table: bool) -> Any:
        rows = np.arange(selected.documents) if selected.rows is None else selected.rows
        groups = self.merging.groups_of(selected.first + rows)
        at = np.flatnonzero(groups >= 0)
        merged = self.merging.rows(groups[at])
        if not as_table and self._is_as_written(selected):
            partition = cast(BytePartition, selected.partition)
            delimiter = self._layout.delimiter
            rest = delimiter.encode() if self._layout.format in DELIMITERS else b""
            names = self._renamed(selected)
            # Each record of JSON lines has the names itself.
            all_rows = range(len(rows)) if names and self._layout.format == "jsonl" else ()
            patches: dict[int, dict[str, Any]] = {row: {} for row in all_rows}
            patches.update(zip(at.tolist(), merged.patches(), strict=True))
            kept = partition.patched(selected.rows, selected.documents, patches, rest, names)
            # A blank line is between records of PubMed, also of two files.
            is_open = self._layout.format == "nbib" and not _BLANK.search(kept[-4:])
            return memoryview(bytes(kept) + b"\n") if is_open else kept
        found = selected.partition.table(selected.rows, selected.documents)
        new = self.merging.members.names[selected.number]
        found = found.rename_columns([new[name] for name in found.column_names])
        schema = self.merging.members.schema
        table = pa.concat_tables([conform(found, schema, "the input"), merged.table])
        take = np.arange(len(rows))
        take[at] = len(rows) + np.arange(len(at))
        ids: list[Any] = [None] * len(rows)
        for row, of in zip(at.tolist(), merged.ids, strict=True):
            ids[row] = of
        table = table.take(array_of(take))
        field = self._schema.field(self.merging.ids_column)
        field = field.with_type(_IDS) if as_table else field
        if not pa.types.is_nested(field.type):
            ids = [None if of is None else joined_list(of) for of in ids]
        # An array that is made of a list imports pandas.
        there = np.array([of is not None for of in ids], np.bool_)
        if not pa.types.is_nested(field.type):
            flat: Any = strings_of([(of or "").encode() for of in ids])
            nulls = pa.nulls(len(ids), field.type)
            return table.append_column(field, pc.if_else(array_of(there), flat, nulls))
        ends = np.cumsum([0, *(len(of or ()) for of in ids)], dtype=np.int64)
        flat = strings_of([id.encode() for of in ids for id in of or ()])
        ids_of: Any = pa.LargeListArray.from_arrays
        lists = ids_of(array_of(ends), flat, mask=array_of(~there))
        return table.append_column(field, lists)

    def _is_as_written(self, selected: PartitionRows) -> bool:
        """Return whether the bytes of a partition are those of the output."""
        partition, layout = selected.partition, self._layout
        if not isinstance(partition, BytePartition):
            return False
        file = partition.described
        if file.format != layout.format:
            return False
        if layout.format not in DELIMITERS:
            return layout.format == "jsonl" or not self._renamed(selected)
        names = [*self.merging.members.names[selected.number].values()]
        how = file.delimiter or DELIMITERS[file.format], file.escape
        return how == (layout.delimiter, layout.escape) and names == self._schema.names[:-1]

    def _renamed(self, selected: PartitionRows) -> dict[str, str]:
        """Return the columns of a partition that have other names in the output."""
        names = self.merging.members.names[selected.number]
        return {name: to for name, to in names.items() if name != to}
