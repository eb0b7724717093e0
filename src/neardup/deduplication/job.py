"""Inputs and settings of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from neardup import __version__
from neardup.deduplication.clock import Clock
from neardup.files.given_path import GivenPath
from neardup.io.remote import Url, again
from neardup.io.source import Source, unreadable
from neardup.options.option_groups import Resources
from neardup.recipe import Recipe
from neardup.spec import Spec
from neardup.state.band_store import BandStore
from neardup.state.database import file_checksum, sampled_checksum
from neardup.state.run_state import RunState

#: Input files that are looked into, at most, besides their sizes and times.
_SAMPLED = 1000


@dataclass(frozen=True)
class Job:
    source: Source
    spec: Spec
    resources: Resources
    reading: Mapping[str, Any]  # how the source is read, in JSON values
    clock: Clock = field(default_factory=Clock)
    state: RunState | None = None  # the finished work; None to keep nothing
    output: Mapping[str, Any] = field(default_factory=dict)  # how the clean corpus is written
    recipe: Recipe | None = None  # to use instead of choosing bands
    sketches: BandStore | None = None  # of all documents by that recipe, open; they are reused

    @property
    def secret_ids(self) -> bool:
        """Whether no message may quote ids: they are texts, or were said to be private."""
        return self.private_ids or self.source.id_column in self.source.columns.text

    @property
    def private_ids(self) -> bool:
        return bool(self.reading.get("private_ids"))

    @property
    def needed(self) -> tuple[str, ...]:
        return needed_columns(self.spec, self.source.id_column)

    @cached_property
    def inputs(self) -> list[list[Any]]:
        """Path, size, time and checksum of each input, as they are when first asked for."""
        files = self.source.files
        step = -(-len(files) // _SAMPLED) or 1
        found: list[list[Any]] = []
        for number, file in enumerate(files):
            time, checksum = file.mtime_ns, 0
            if file.copy:
                time, checksum = 0, file_checksum(Path(file.copy))
            elif number % step == 0:
                try:
                    checksum = sampled_checksum(Path(file.local_path))
                except OSError as error:
                    raise unreadable(file.path, error) from error
            found.append([file.path, file.size, time, checksum])
        return found

    @property
    def directory(self) -> str:
        """The directory that relative names of inputs are relative to; empty without any."""
        return next((file.directory for file in self.source.files if file.directory), "")

    @property
    def given(self) -> list[Url | GivenPath]:
        """Files, folders, patterns and URLs as they were given; none for a frame."""
        return again(self.reading.get("given", ()), self.directory)

    def identity(self) -> dict[str, Any]:
        """The inputs, and how they are read: the result depends on these."""
        return {"neardup": __version__, **self.reading, "inputs": self.inputs}

    def manifest(self) -> dict[str, Any]:
        """The fields of the manifest, which are equal in a run that can be resumed by this job."""
        return {
            **self.identity(),
            "spec": self.spec.as_dict(),
            "output": dict(self.output),
            "store": self.resources.public_store,
            "run": self.resources.run,
        }


def needed_columns(spec: Spec, id_column: str | None) -> tuple[str, ...]:
    """Return the columns that a run needs besides the texts: ids, and the column of `keep`."""
    names = (id_column, spec.keep_column, spec.order_by)
    return tuple(dict.fromkeys(name for name in names if name))
