"""Records with known duplicates, of kinds that people link: citations, contacts, households."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from neardup.errors import OutputError
from neardup.files.private_files import replacing
from neardup.spec import check_integer, check_probability
from neardup.synth.note_files import Written, ending_of, truth_path

Record = dict[str, str]


@dataclass(frozen=True, slots=True)
class RecordSpec:
    """Settings of records.

    Attributes:
        documents: Number of records, in all files together.
        seed: Another seed, other records.
        near: Share of the records that are another record of one.

    Raises:
        SpecError: A value is out of range.
    """

    documents: int
    seed: int = 0
    near: float = 0.2

    def __post_init__(self) -> None:
        check_integer("documents", self.documents, 1, 10_000_000)
        check_integer("seed", self.seed, 0, 2**63 - 1)
        check_probability("near", self.near, low_open=False, high_open=True)

    @property
    def sources(self) -> int:
        """Number of the records that are the first of theirs."""
        return max(1, self.documents - round(self.near * self.documents))


class File(NamedTuple):
    """A file of records.

    Attributes:
        ending: Of its name.
        content: All of it.
    """

    ending: str
    content: str


class LinkedFiles(NamedTuple):
    """Files of records, and the truth.

    Attributes:
        files: The files.
        truth: Rows of ids and groups, and of what else is known of each record.
    """

    files: Sequence[File]
    truth: Sequence[Record]


def as_csv(rows: Sequence[Record], names: Sequence[str]) -> str:
    """Return records as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_linked(
    made: LinkedFiles, output: Path, truth: Path | None = None, overwrite: bool = False
) -> Written:
    """Write files of one name with their endings, and the truth as Parquet, all by rename.

    Raises:
        SpecError: The ending of ``output`` is that of none of the files.
        OutputError: A file exists, or can't be written.
    """
    import pyarrow.parquet as pq

    ending_of(output, tuple(file.ending for file in made.files))
    known = truth_path(output, truth)
    ending_of(known, (".parquet",))
    paths = [output.with_suffix(file.ending) for file in made.files]
    _require_free([*paths, known], overwrite)
    with ExitStack() as opened:
        files = [opened.enter_context(replacing(path, exclusive=True)) for path in paths]
        rows = opened.enter_context(replacing(known, exclusive=True))
        for file, of in zip(files, made.files, strict=True):
            file.write(of.content.encode())
        size = sum(file.tell() for file in files)
        names: dict[str, Any] = dict.fromkeys(made.truth[0], pa.string())
        pq.write_table(pa.Table.from_pylist(list(made.truth), pa.schema(names)), rows)
    return Written(len(made.truth), size, output, known)


def _require_free(paths: Iterable[Path], overwrite: bool) -> None:
    for path in paths:
        if path.exists() and not overwrite:
            raise OutputError(f"{path} exists", "choose another name, or overwrite it")
