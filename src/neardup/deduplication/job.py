"""Inputs and settings of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from neardup.deduplication.clock import Clock
from neardup.deduplication.documents.ordering import keep_column
from neardup.io.source import Source
from neardup.options.how_read import OpenInput
from neardup.options.option_groups import Resources
from neardup.recipe import Recipe
from neardup.spec import Spec
from neardup.state.band_store import BandStore
from neardup.state.run_state import RunState


@dataclass(frozen=True)
class Job:
    input: OpenInput
    spec: Spec
    resources: Resources
    clock: Clock = field(default_factory=Clock)
    state: RunState | None = None  # the finished work; None to keep nothing
    output: Mapping[str, Any] = field(default_factory=dict)  # how the clean corpus is written
    recipe: Recipe | None = None  # to use instead of choosing bands
    sketches: BandStore | None = None  # of all documents by that recipe, open; they are reused
    asked: Spec | None = None  # the spec before boilerplate was found; None if none was looked for
    boilerplate: pa.Table | None = None  # its table

    @property
    def source(self) -> Source:
        return self.input.source

    @property
    def needed(self) -> tuple[str, ...]:
        return needed_columns(self.spec, self.source.id_column)

    def manifest(self) -> dict[str, Any]:
        """The fields of the manifest, which are equal in a run that can be resumed by this job."""
        return {
            **self.input.identity(),
            "spec": (self.asked or self.spec).as_dict(),
            "output": dict(self.output),
            "store": self.resources.public_store,
            "run": self.resources.run,
        }


def needed_columns(spec: Spec, id_column: str | None) -> tuple[str, ...]:
    """Return the columns that a run needs besides the texts: ids, keep order and groups."""
    names = (id_column, keep_column(spec), spec.order and spec.order.column, spec.within)
    return tuple(dict.fromkeys(name for name in names if name))
