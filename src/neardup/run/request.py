"""What a caller asks for, and the job that becomes of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

from neardup import __version__
from neardup.corpus import SourceFile, open_corpus
from neardup.errors import SpecError
from neardup.run.begin import signed_run
from neardup.run.events import Listener, Stages
from neardup.run.folder import RunFolder, file_checksum
from neardup.run.job import Job
from neardup.run.storage import Storage
from neardup.run.warm import warm
from neardup.spec import Spec

__all__ = ["Request", "Settings"]


class Settings(TypedDict, total=False):
    """How a source is read, and what is done with it.

    Attributes:
        text: Column or columns with the text, ``"text"`` by default; several are joined by a blank.
        id: Column with the user's ids; positions without it.
        spec: What to do; the ``web`` preset by default.
        threads: Threads; the cores there are by default. They don't change the result.
        input_format: ``jsonl``, ``parquet``, ``csv``, ``tsv``, ``arrow`` or ``text``; by the
            ending of each file without it.
        encoding_errors: ``"strict"``, or ``"replace"`` to go on where a text is not UTF-8.
        storage: Where things are kept and how much memory may be used; neither changes the result.
        on_event: Called with each `neardup.run.events.Event`, from the calling thread.
    """

    text: str | Sequence[str]
    id: str | None
    spec: Spec | None
    threads: int | None
    input_format: str | None
    encoding_errors: str
    storage: Storage | None
    on_event: Listener | None


@dataclass
class Request:
    """A source and `Settings`, with their defaults.

    Raises:
        SpecError: A setting is out of range.
    """

    source: Any
    text: str | Sequence[str] = "text"
    id: str | None = None
    spec: Spec | None = None
    threads: int | None = None
    input_format: str | None = None
    encoding_errors: str = "strict"
    storage: Storage | None = None
    on_event: Listener | None = None
    kept: Storage = field(init=False)
    stages: Stages = field(init=False)

    def __post_init__(self) -> None:
        self.kept = self.storage or Storage()
        self.stages = Stages(self.on_event)
        if self.threads is not None and self.threads < 1:
            raise SpecError(f"threads is {self.threads}; expected 1 or more")

    def job(
        self,
        folder: RunFolder | None = None,
        output: dict[str, str] | None = None,
        signing: bool = False,
    ) -> Job:
        """Open the corpus; say what the result depends on.

        Args:
            folder: The run folder; None to keep nothing.
            output: How the clean corpus is written.
            signing: The run that the storage names is being signed, not gone on with.

        Raises:
            InputError: The source can't be opened.
            StoreError: There is no run of that name.
        """
        asked = self if self.kept.name is None or signing else self._as_signed()
        spec, storage, stages = asked.spec or Spec(), asked.kept, self.stages
        columns = [asked.text] if isinstance(asked.text, str) else list(asked.text)
        reading: dict[str, Any] = {
            "id": asked.id,
            "input_format": asked.input_format,
            "encoding_errors": asked.encoding_errors,
        }
        corpus = open_corpus(
            asked.source,
            text=columns,
            **reading,
            chunk_bytes=storage.chunk_bytes,
            spool=None if folder is None else folder.path,
        )
        paths = [asked.source] if isinstance(asked.source, str | Path) else asked.source
        return Job(
            corpus,
            spec,
            storage,
            stages,
            identity={
                "neardup": __version__,
                "text": columns,
                **reading,
                "inputs": [_known_by(file, i, folder) for i, file in enumerate(corpus.inputs)],
            },
            output=output or {},
            threads=self.threads,
            folder=folder,
            secret_ids=corpus.id_column in columns,
            prepare=lambda: warm(spec, stages),
            given=[os.fspath(path) for path in paths] if corpus.inputs else [],
            foreseen=not signing,
        )

    def _as_signed(self) -> Request:
        """The request with what the run in the store was signed with."""
        about = signed_run(self.kept)
        storage = replace(self.kept, part_bytes=about["chunk_bytes"])
        if self.source is not None:
            return replace(self, storage=storage)
        return replace(
            self,
            storage=storage,
            source=[Path(path) for path, _, _ in about["inputs"]],
            spec=Spec.from_dict(about["spec"]),
            **{name: about[name] for name in ("text", "id", "input_format", "encoding_errors")},
        )


def _known_by(file: SourceFile, number: int, folder: RunFolder | None) -> list[Any]:
    """What an input is told by: size and time, or what the copy of a pipe holds."""
    if file.is_pipe and folder is not None:
        return [file.path, file.size, file_checksum(folder.path / f"input-{number}")]
    return [file.path, file.size, file.mtime_ns]
