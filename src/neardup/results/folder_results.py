"""The results of a run in a folder or at a URL, and its input, opened again."""

import functools
import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.engines.identifiers import id_array
from neardup.engines.reading import Reader
from neardup.errors import InputError, InputNotFoundError, NeardupError, ResumeError
from neardup.files.given_path import GivenPath, current_directory
from neardup.frame.how_read import HowRead
from neardup.io.paths import find_files
from neardup.io.remote import Url, again, located, open_remote
from neardup.io.remote_errors import failed, is_of_transfer
from neardup.io.source import Partition, Source
from neardup.output import tables
from neardup.output.clean import CLEAN
from neardup.output.record import inputs_digest, texts_digest
from neardup.result_record import RECORD
from neardup.result_record.decoding import header_of, require_command, require_members
from neardup.results.results import Results, Selection
from neardup.sketch.sketcher import Sketcher
from neardup.state.about_work import FORMAT
from neardup.state.run_state import RUN_FOLDER, RunState
from neardup.threads import Pool

#: Further errors that damaged tables and records raise.
_DAMAGED = ValueError, LookupError, TypeError, AttributeError, RecursionError


class FolderResults(Results):
    """Results in a folder, or at a URL; InputError where there are none.

    Args:
        folder: Where they are.
        record: Their record, if this process has just written it; else it is read, and checked.
    """

    #: Where they are.
    location: Url | GivenPath
    #: Commands whose folders it opens; empty for those of all commands.
    commands: tuple[str, ...] = ("dedup", "recluster")
    #: Members of their records that are settings of a class, and members that are read of others.
    settings: tuple[str, ...] = ("spec", "recipe")

    def __init__(
        self, folder: str | os.PathLike[str], record: dict[str, Any] | None = None
    ) -> None:
        self.location = located(folder)
        self.folder = None if isinstance(self.location, Url) else self.location.path
        name = str(self.location)
        self.name = name.rstrip("/") if self.folder is None else str(Path(name))
        self._opened_in = current_directory()
        if record is not None:
            self.record = record
            return
        with self._reading(RECORD) as file:
            data = file.read()
        self.record = header_of(data, f"{self.name}/{RECORD}")
        if self.commands:
            self._check()

    def _check(self) -> None:
        """Refuse the record of another command or version, and one that is damaged."""
        command, path = self.record["command"], f"{self.name}/{RECORD}"
        require_command(self.record, path)
        if command not in self.commands:
            raise InputError(
                f"{self.name} was made by neardup {command}; expected an output of neardup "
                f"{' or '.join(self.commands)}",
                "name another folder, or open this one with neardup.open",
            )
        if (found := self.record.get("format", FORMAT)) != FORMAT:
            which = f"made by another version of neardup (format {found}, this one has {FORMAT})"
            raise InputError(f"{path}: {which}", self.again)
        require_members(self.record, path)
        for key in self.settings:
            try:
                getattr(self, key)
            except (NeardupError, *_DAMAGED) as error:
                raise InputError(f"{path} is damaged at {key}: {error}", self.again) from error

    def edge_batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not self.spec.enumerates or self._tables != "parquet":
            yield from super().edge_batches(columns)
            return
        with self._reading("edges.parquet") as opened, pq.ParquetFile(opened) as file:
            yield from file.iter_batches(columns=list(columns))

    @functools.cached_property
    def positions_of(self) -> np.ndarray | None:
        if self.spec.order_by is None:
            return None
        found: Any = self.table("order", ["position"]).column(0)
        return np.asarray(found.to_numpy())

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        names = None if columns is None else list(columns)
        with self._reading(f"{name}.{self._tables}") as file:
            if self._tables == "parquet":
                return pq.read_table(file, columns=names)
            import pyarrow.csv as pacsv

            options = pacsv.ConvertOptions(
                column_types=tables.column_types(self._id_type),
                include_columns=cast(Any, names),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            )
            lines = pacsv.ParseOptions(newlines_in_values=True)
            return pacsv.read_csv(file, parse_options=lines, convert_options=options)

    def _no_run(self) -> InputNotFoundError:
        """Return the error for a folder without a record, with the likely reason."""
        if self.folder is not None and not self.folder.exists():
            return InputNotFoundError(f"{self.name}: no such folder", "check the path")
        hint = "name the output folder of a command"
        if self.folder is not None and (self.folder / RUN_FOLDER).exists():
            hint = _hint_of_unfinished(self.folder / RUN_FOLDER)
        elif self.folder is not None and (self.folder.parent / RECORD).is_file():
            hint = f"did you mean {Path(self.name).parent}?"
        return InputNotFoundError(f"{self.name}: no finished run of neardup is there", hint)

    @contextmanager
    def _reading(self, name: str) -> Iterator[Any]:
        """Open one of its files, and turn errors of reading into ours."""
        path = f"{self.name}/{name}"
        try:
            if self.folder is None:
                opened = open_remote(path)
            else:
                opened = pa.OSFile(str(self.folder / name), "rb")
            with opened as file:
                yield file
        except (FileNotFoundError, NotADirectoryError) as error:
            if name == RECORD:
                raise self._no_run() from error
            raise InputNotFoundError(f"{path} is gone", self.again) from error
        except (OSError, pa.ArrowException, *_DAMAGED) as error:
            if isinstance(error, InputError):
                raise
            if self.folder is None and is_of_transfer(error):
                raise failed(path, error) from error
            what = f"{path}: not readable, or damaged"
            raise InputError(what, self.again) from error

    @property
    def _id_type(self) -> pa.DataType:
        kind: pa.DataType = pa.type_for_alias(self.record["id_type"])
        return kind

    @property
    def _tables(self) -> str:
        return str(self.record["output"]["tables"])

    @functools.cached_property
    def source(self) -> Source:
        about = self._about
        try:
            source = HowRead.of(about).open(self.given)
        except InputNotFoundError as error:
            raise self._gone() or error from error
        if source.id_column is None and self.record.get("id_type", "int64") != "int64":
            what = "null, but the ids are no positions"
            raise InputError(f"{self.name}/{RECORD} is damaged at source.id: {what}", self.again)
        inputs = [[file.path, file.size, file.mtime_ns] for file in source.files]
        if inputs_digest(inputs) != about["files_digest"]:
            if gone := self._gone():
                raise gone
            pairs = zip(about["inputs"], inputs, strict=False)
            changed = (str(now[0]) for old, now in pairs if old[1:] != now[1:])
            raise self.changed(next(changed, ""))
        return source

    def give(self, source: object) -> None:
        """Take the input from the caller; InputError where it is another one."""
        reading = HowRead.of({**(self.record["frame"] or self._about), "partition_bytes": None})
        opened = reading.open(source)
        sketcher = Sketcher(replace(self.recipe, num_bands=0, rows=0))
        name = opened.id_column

        def read(item: tuple[int, Partition]) -> "tuple[np.ndarray, list[pa.Array[Any]]]":
            documents = item[1].read((name,) if name else ())
            ids = id_array(documents.columns.column(name), name).chunks if name else []
            return sketcher(documents.text).hashes, ids

        with Pool() as pool:
            found = list(pool.ordered(read, Reader(opened).partitions()))
        hashes = [np.empty((0, 2), np.uint64), *(part for part, _ in found)]
        order = self.positions_of
        ids = pa.chunked_array([chunk for _, chunks in found for chunk in chunks], self.ids.type)
        same = texts_digest(np.concatenate(hashes)) == self.record["texts_digest"]
        known = self.ids if order is None else self.ids.take(np.argsort(order))
        if not same or (name and not ids.equals(known)):
            raise InputError(
                f"{self.name}: the source has other texts, ids or rows than the run has read",
                "give the input of the run, in the same order",
            )
        self.source, self.ends = opened, np.cumsum([len(part) for part in hashes[1:]])

    def kept_documents(self) -> Selection:
        """See `Results.kept_documents`; where there is no input, the clean corpus is read."""
        about, output = self.record["frame"], self.record["output"]
        if "source" in vars(self) or about is None or not output["clean"] or output["annotate"]:
            return super().kept_documents()
        reader = Reader(HowRead.of(about).open(self.location / CLEAN))
        with Pool() as pool:
            read = pool.ordered(lambda item: len(item[1].read().text), reader.partitions())
            ends = np.cumsum(list(read), dtype=np.int64)
        kept = int(self.record["counts"]["kept"])
        if ends.max(initial=0) != kept:
            raise InputError(
                f"{self.name}/{CLEAN} does not have the {kept:,} documents that were kept",
                self.again,
            )
        return Selection(reader, ends, np.arange(kept))

    def _gone(self) -> InputNotFoundError | None:
        """Return the error for a path that was read and is no longer there; None if all are."""
        about = self._about
        for name in (*about["given"], *(file[0] for file in about["inputs"])):
            path = self._from_here(name)
            there = isinstance(path, Url) or os.path.lexists(path)
            if not there and not glob.has_magic(name):
                return InputNotFoundError(
                    f"{path}, an input of {self.name}, is gone",
                    f"put it back, or {self.again}",
                )
        return None

    @property
    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] | None = self.record["source"]
        if about is None:
            raise InputError(
                f"{self.name}: its input was a frame or a pipe and can't be read again",
                "give it again from Python, neardup.open(folder, source=frame), or write it to a "
                "file and run neardup dedup on that",
            )
        return about

    @functools.cached_property
    def given(self) -> list[Url | GivenPath]:
        """The paths that the run was given, with names from where its results were opened."""
        return [self._from_here(path) for path in self._about["given"]]

    def _from_here(self, name: str) -> Url | GivenPath:
        directory = self._about["directory"]
        (path,) = again([name], directory)
        if isinstance(path, Url) or self._opened_in == directory:
            return path
        return GivenPath(os.path.normpath(path))

    @property
    def inputs(self) -> list[GivenPath]:
        if (about := self.record["source"]) is None:
            return []
        if about["inputs"]:
            found = [self._from_here(file[0]) for file in about["inputs"]]
            return [path for path in found if isinstance(path, GivenPath)]
        # Of very many the record has no list.
        try:
            files = find_files(self.given, about["input_format"])
            return [file.given for file in files if not file.is_remote]
        except InputError:
            return []

    @functools.cached_property
    def read_from(self) -> list[Url | GivenPath]:
        return [] if self.record["source"] is None else self.given

    @functools.cached_property
    def ends(self) -> np.ndarray:
        counts = self._about["partition_documents"].split()
        return np.cumsum(np.array(counts, dtype=np.int64))


def _hint_of_unfinished(run: Path) -> str:
    """Return the remedy for a folder in which a run is at work, or was interrupted."""
    try:
        RunState.refuse_used(run)
    except ResumeError:
        return "a run is at work there: wait for it"
    how = ", with resume=True" if RunState.exists(run) else ""
    return f"a run was interrupted there: give its command again{how}"
