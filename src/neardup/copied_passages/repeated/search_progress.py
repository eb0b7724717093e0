"""Progress of a search, from which one that was killed continues."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.copied_passages.repeated.spill import Allocate, Flush, Spill, Stored
from neardup.state.run_state import RunState
from neardup.tuning import TUNING
from neardup.values.json_values import JSON

#: Steps of the run state, in their order.
_ANCHORS, _MARKED, _RUNS, _ROWS, _FOUND = "anchors", "marked", "runs", "rows", "found"
#: Bytes of arrays that are stored together.
_TOGETHER = 4 << 20


class Entered(NamedTuple):
    """A partition that was read."""

    corpus: int  # 0 or 1: which of the inputs
    about: list[int]  # file, start, documents, and those left out for their size
    table: pa.Table  # tokens and anchors of each document, ids and other columns


class Progress:
    """Steps of a search: anchors, those that are marked, runs, rows made of these, and the result.

    Without a state nothing is stored, and nothing was done. Nothing is stored either of a search
    whose first pass is brief: who resumes it begins again. The manifest is set when the first step
    is stored: until then there is nothing to resume. ``memory`` is the bytes that sizes follow.
    """

    def __init__(
        self, state: RunState | None, manifest: Mapping[str, JSON] | None, memory: int
    ) -> None:
        self._state, self._manifest, self._memory = state, manifest or {}, memory
        self._folder = None if state is None else state.scratch_folder("passages")
        self._begun = time.monotonic()
        self._entered: list[Entered] = []
        self._waiting: Callable[[], None] | None = None

    def _later(self, sync: Callable[[], None], put: Callable[[], None]) -> None:
        """Store a step when its rows are on the disk, by the time of the next step."""

        def waiting() -> None:
            sync()
            put()

        self._waiting = waiting

    def settle(self) -> None:
        """Store the last step now."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting()

    @property
    def memory(self) -> int:
        """Bytes that the number of parts follows: those of the run that is resumed, if one is."""
        every = [*self._abouts(_ANCHORS), *self._abouts(_MARKED)]
        return int(every[0]["memory"]) if every else self._memory

    def path(self, name: str) -> Path | None:
        """Return the path of a file that goes with the run; None where it can't be resumed."""
        return None if self._folder is None else self._folder / name

    # The first pass.

    def enter(self, entered: Entered) -> None:
        """Note a partition; it is stored with the next `put_anchors` or `put_marked`."""
        if self._state is not None:
            self._entered.append(entered)

    def put_anchors(self, anchors: Spill) -> None:
        """Flush anchors, and store that those of all partitions so far are there."""
        self.settle()
        about: Any = {"flush": [*anchors.flush()], "memory": self.memory}
        if (state := self._state) is None:
            return
        entered, self._entered = self._entered, []

        def put() -> None:
            self._put_entered(_ANCHORS, len(state.done(_ANCHORS)), about, entered)

        self._later(anchors.sync, put)

    def put_marked(self, bits: np.ndarray, anchors: int) -> None:
        """Store the end of the first pass.

        Nothing is stored, from here on, of a search that is brief and stored nothing before.
        """
        self.settle()
        state, is_brief = self._state, time.monotonic() - self._begun < TUNING.repeated_pass
        if state is not None and is_brief and not state.done(_ANCHORS):
            self._state, self._entered = None, []
        if self._state is not None:
            about = {"anchors": anchors, "memory": self.memory}
            self._put_entered(_MARKED, 0, about, self._entered)
            self._entered = []
            self._state.put(_MARKED, 1, np.ascontiguousarray(bits))

    def entered(self) -> Iterator[Entered]:
        """Yield the partitions of which the anchors are stored."""
        if self._state is None:
            return
        steps = [(_ANCHORS, n) for n in sorted(self._state.done(_ANCHORS))]
        for step in [*steps, *([(_MARKED, 0)] if self.is_marked else [])]:
            data, at = self._state.get(*step), 0
            about: Any = self._state.about(*step)
            for corpus, numbers, size in about["partitions"]:
                table = pa.ipc.open_stream(pa.py_buffer(data[at : at + size])).read_all()
                yield Entered(corpus, numbers, table)
                at += size

    @property
    def is_marked(self) -> bool:
        """Whether the first pass is over."""
        return self._state is not None and 1 in self._state.done(_MARKED)

    def marked(self) -> tuple[np.ndarray, int]:
        """Return the arguments of `put_marked`."""
        assert self._state is not None
        about: Any = self._state.about(_MARKED, 0)
        return np.frombuffer(self._state.get(_MARKED, 1), np.uint8), int(about["anchors"])

    # The second pass.

    def put_runs(self, runs: Spill, partitions: int) -> None:
        """Flush runs, and store that those of so many partitions are in the file."""
        self.settle()
        about: Any = {"flush": [*runs.flush()], "partitions": partitions}
        if (state := self._state) is not None:
            self._later(runs.sync, lambda: state.put(_RUNS, len(state.done(_RUNS)), about=about))

    @property
    def partitions(self) -> int:
        """Partitions that were read again."""
        every = self._abouts(_RUNS)
        return int(every[-1]["partitions"]) if every else 0

    # From runs to the result.

    def put_rows(self, files: Mapping[str, Spill], done: Mapping[str, int]) -> None:
        """Flush files, and store how many parts of each are in other ones; give back their disk.

        Args:
            files: By their names; no rows are added to that of runs.
            done: Parts, the first ones, of each file.
        """
        self.settle()
        made = {name: spill for name, spill in files.items() if name != _RUNS}
        parts, state = dict(done), self._state
        about: Any = {name: [[*f] for f in spill.new_flushes()] for name, spill in made.items()}

        def sync() -> None:
            for spill in made.values():
                spill.sync()

        def put() -> None:
            if state is not None:
                state.put(_ROWS, len(state.done(_ROWS)), about=about | {"done": parts})
            for name, spill in files.items():
                spill.free(parts[name])

        self._later(sync, put)
        if state is None:
            self.settle()

    def parts(self, name: str) -> int:
        """Return the parts of a file, the first ones, that are in other ones."""
        every = self._abouts(_ROWS)
        return int(every[-1]["done"].get(name, 0)) if every else 0

    def stored(self, name: str) -> Stored:
        """Return the batches in a file of rows."""
        if self._state is not None and 0 in self._state.done(_FOUND):
            return Stored()  # the file is gone
        if name == _ANCHORS:
            return Stored([] if self.is_marked else self._flushes(_ANCHORS))
        if name == _RUNS:
            return Stored(self._flushes(_RUNS), self.parts(name))
        every = [flush for about in self._abouts(_ROWS) for flush in about.get(name, [])]
        return Stored([Flush(*flush) for flush in every], self.parts(name))

    # The end.

    def found(
        self, make: Callable[[], tuple[np.ndarray, ...]], allocate: Allocate
    ) -> tuple[np.ndarray, ...]:
        """Return arrays that ``make`` makes, or that it made before, then copied to new ones."""
        if self._state is None:
            return make()
        done = self._state.done(_FOUND)
        if 0 not in done:
            arrays = make()
            self._waiting = None
            batch, number = list[np.ndarray](), 0
            for array in arrays:
                # Small ones together; a large one is not copied.
                if batch and sum(each.nbytes for each in [*batch, array]) > _TOGETHER:
                    number += 1
                    self._put_arrays(number, batch)
                    batch = []
                batch.append(array)
            self._put_arrays(0, batch)  # the last one: where it is, all are
            return arrays
        stored = chain.from_iterable(map(self._arrays, [*sorted(done - {0}), 0]))
        return tuple(_copied(array, allocate) for array in stored)

    def _put_arrays(self, number: int, arrays: list[np.ndarray]) -> None:
        assert self._state is not None
        data = arrays[0] if len(arrays) == 1 else b"".join(each.tobytes() for each in arrays)
        about: Any = [[each.dtype.str, each.nbytes] for each in arrays]
        self._state.put(_FOUND, number, data, about)

    def _arrays(self, number: int) -> Iterator[np.ndarray]:
        assert self._state is not None
        data, at = self._state.get(_FOUND, number), 0
        about: Any = self._state.about(_FOUND, number)
        for kind, size in about:
            yield np.frombuffer(data[at : at + size], kind)
            at += size

    def _flushes(self, stage: str) -> list[Flush]:
        return [Flush(*about["flush"]) for about in self._abouts(stage)]

    def _abouts(self, stage: str) -> list[dict[str, Any]]:
        """Return the numbers that are stored with each step of a stage."""
        if self._state is None:
            return []
        every: list[Any] = [self._state.about(stage, n) for n in sorted(self._state.done(stage))]
        return [about or {} for about in every]

    def _put_entered(
        self, stage: str, number: int, about: dict[str, Any], every: list[Entered]
    ) -> None:
        assert self._state is not None
        streams = [_packed(entered.table) for entered in every]
        partitions: Any = [
            [entered.corpus, entered.about, len(stream)]
            for entered, stream in zip(every, streams, strict=True)
        ]
        if not self._state.manifest:
            self._state.manifest = self._manifest
        self._state.put(stage, number, b"".join(streams), {**about, "partitions": partitions})


def _copied(array: np.ndarray, allocate: Allocate) -> np.ndarray:
    found = allocate(len(array), array.dtype)
    found[:] = array
    return found


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()
