"""A finished run clustered otherwise, from what it left, without signing again where it can be.

What the result is: the bytes of a full run with the new settings and the bands of the old run. The
new run begins as one that was interrupted after it had signed, grouped and shingled; what the old
one did not leave is made again from its input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup import __version__
from neardup.core.edges import Triple
from neardup.errors import InputError, NeardupError, ResumeError, SpecError, StoreError
from neardup.run.events import Event, Listener
from neardup.run.files import run_files
from neardup.run.finished import FinishedRun
from neardup.run.folder import FOLDER, MANIFEST, RunFolder
from neardup.run.job import Job
from neardup.run.parts import given_bands
from neardup.run.request import Request
from neardup.run.storage import Storage
from neardup.spec import BOUNDED, Spec

__all__ = ["Recluster"]

#: Stages of the run folder that don't depend on how documents are clustered.
_TAKEN = {"sign": "band keys", "signed": "", "band": "buckets", "sets": "shingle sets"}
#: What may be other than in the run.
_CHANGES = {"edge_threshold", "tree_threshold", "cluster", "second_round"}


class Recluster:
    """A finished run and what is to be other.

    Args:
        out: Output folder of the finished run.
        changes: Fields of the `Spec`: ``edge_threshold``, ``tree_threshold``, ``cluster``,
            ``second_round``.

    Raises:
        InputError: There is no finished run, or its input is gone or has changed.
        SpecError: A setting is out of range, or below that of the run.
    """

    def __init__(self, out: Path, changes: dict[str, Any]) -> None:
        self.run = FinishedRun(out)
        self.spec = _changed(self.run, changes)
        self._about: dict[str, Any] = {}
        self.run.source  # noqa: B018  # opened, so that what is wrong with the input shows at once

    def write(
        self,
        out: Path,
        *,
        storage: Storage,
        threads: int | None,
        on_event: Listener | None,
        format: str,
        compression: str,
        overwrite: bool,
    ) -> dict[str, Any]:
        """Cluster, and write everything to another folder; as `neardup.dedup_files`."""
        if self.run.out.resolve() in (out.resolve(), *out.resolve().parents):
            raise SpecError(
                f"{out} is the run that is to be clustered, or lies in it",
                "name another folder with -o",
            )
        source = self.run.record["source"]
        held = self._manifest()
        storage = replace(storage, part_bytes=source["part_bytes"])
        if held is not None:
            storage = replace(
                storage,
                store=held["store"] if storage.store == "auto" else storage.store,
                design=held["design"],
                name=held["run"],
            )
        request = Request(
            self._given(),
            source["text"],
            source["id"],
            self.spec,
            threads,
            source["input_format"],
            source["encoding_errors"],
            storage,
            on_event,
        )
        seed = partial(self._seed, held)
        try:
            return run_files(request, out, format, compression, overwrite, seed, self._prepare)
        except (ResumeError, StoreError) as error:
            if held is None or storage.resume or str(out / FOLDER) not in error.message:
                raise
            before = self.run.out / FOLDER
            raise type(error)(
                f"{error.message}; it was taken from {before}",
                f"if it is damaged there, remove {before}: it is made again from the input then; "
                "and start again with --overwrite",
            ) from error

    def _given(self) -> list[Path]:
        """The paths of the input; texts whose path is their id must be named as they were."""
        source = self.run.record["source"]
        same = [str(path) for path in self.run.given] == source["given"]
        texts = source["id"] is None and self.run.source.corpus.id_column is not None
        if texts and not same and not (len(self.run.given) == 1 and self.run.given[0].is_dir()):
            raise InputError(
                f"{self.run.out}: its ids are paths as seen from {source['directory']}",
                "run this from there",
            )
        return self.run.given

    def _manifest(self) -> dict[str, Any] | None:
        """The manifest of the run folder that was left; None where there is none to be used."""
        folder = self.run.out / FOLDER
        if not (folder / MANIFEST).exists():
            return None
        try:
            with RunFolder(folder, resume=True) as before:
                manifest = before.manifest
        except ResumeError as error:
            raise ResumeError(
                error.message, f"wait for a run at work there; if it is damaged, remove {folder}"
            ) from error
        return manifest if manifest["neardup"] == __version__ else None

    def _prepare(self, job: Job) -> None:
        """Have a job use the edges that are known, where they are all there are."""
        job.borrowed = True
        job.origin = {"run": str(self.run.out), "taken": [], "made_again": []}
        if _complete(self.run.spec, self.spec):
            job.edges = partial(_read_edges, self.run, self.spec.edge_threshold)
            job.origin["taken"].append("edges")

    def _seed(self, held: dict[str, Any] | None, folder: RunFolder, job: Job) -> None:
        """Put into a new run folder what the run left, and say what has to be made again."""
        assert job.origin is not None
        taken, again = job.origin["taken"], job.origin["made_again"]
        steps: dict[str, Any] = {}
        if held is not None:
            if held["run"] is not None:  # signed beforehand, into a store of its own
                taken.append("band keys")
            with RunFolder(self.run.out / FOLDER, resume=True) as before:
                steps = folder.adopt(before, _TAKEN)
        taken += [name for stage, name in _TAKEN.items() if stage in steps and name]
        if job.edges is None and "band keys" not in taken:
            again.append("band keys")
        if "shingle sets" not in taken:
            again.append("shingle sets")
        if held is not None:
            about = {"bands": given_bands(job.spec), "origin": job.origin}
            folder.begin({**held, **job.manifest(), **about}, steps)
        if again:
            why = "its run folder has no more" if held else "it has no run folder that can be used"
            note = f"made again from the input: {' and '.join(again)} of {self.run.out}, {why}"
            job.stages.emit(Event("read and sign", note=note))


def _changed(run: FinishedRun, changes: dict[str, Any]) -> Spec:
    """The spec of the new run: that of the old one, with its bands and what is other."""
    for name in changes.keys() - _CHANGES:
        raise SpecError(
            f"{name} can't be changed afterwards",
            f"only {', '.join(sorted(_CHANGES))} can: run neardup dedup again",
        )
    bands = run.record["bands"]
    if bands is not None:
        changes = {**changes, "num_bands": bands["num_bands"], "rows": bands["rows"]}
    if changes.get("cluster", run.spec.cluster) not in BOUNDED:
        changes = {"second_round": False, **changes}
    for name in ("edge_threshold", "tree_threshold"):
        before, now = getattr(run.spec, name), changes.get(name)
        if now is not None and now < before:
            raise SpecError(
                f"the {name.replace('_', ' ')} {now} is below that of the run, {before}",
                "run neardup dedup again",
            )
    return run.spec.replace(**changes)


def _complete(before: Spec, now: Spec) -> bool:
    """Whether the edges of a run are all that a full run with another clustering would look at."""
    if before.method == "allpairs":
        return True
    # In which order bands bring them is not known any more, and the bounded sets depend on it.
    every = before.pairs == "all" or (before.every_pair and now.every_pair)
    return every and now.cluster != "bounded"


def _read_edges(run: FinishedRun, least: float) -> Iterator[Triple]:
    """Yield the edges of a run that reach another threshold, some at a time, in order."""
    path = run.out / "edges.parquet"
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(1 << 18, columns=["doc_a", "doc_b", "similarity"]):
                a, b, similarity = (column.to_numpy() for column in batch.columns)
                rows = similarity >= least
                yield a[rows].astype(np.int32), b[rows].astype(np.int32), similarity[rows]
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, NeardupError):
            raise
        raise InputError(f"{path}: not readable, or damaged", "run neardup dedup again") from error
