"""The state of a process that answers: an index to read, and the way to the writer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct

from neardup.errors import IndexMovedError, NeardupError
from neardup.index.storing.location import FolderIdentity
from neardup.result_record import INDEX
from neardup.serve import calls, messages
from neardup.serve.calls import Call, GivenDocument
from neardup.serve.http.index_reading import TOGETHER, IndexReader, is_small
from neardup.serve.http.link import WriterLink
from neardup.serve.http.metrics import CallMetrics
from neardup.serve.http.together import Together
from neardup.serve.problems import ServiceError
from neardup.serve.settings import Settings

T = TypeVar("T")
_LONG_CALLS = 64  # that wait for the thread of those
_PAUSE = 0.2  # seconds before a folder that is not there is looked for again
_MOVED = "the folder of the index was moved, deleted or replaced"
_KEPT = 2.0  # seconds for which sizes are not counted again


class Service:
    """Answers calls.

    Args:
        settings: Which index, and limits of a call.
        lost: Called once the process that writes is gone.
    """

    def __init__(self, settings: Settings, lost: Callable[[], None]) -> None:
        self.settings, self.limits = settings, settings.limits
        self.metrics = CallMetrics()
        self.link = WriterLink(settings.limits, self.metrics, lost)
        # Two: small calls never wait for the lock of a long one.
        self._small: IndexReader | None = None
        self._identity: tuple[int, ...] = ()
        #: The index can't be opened as its folder is not the one that the writer has.
        self.moved = asyncio.Event()
        self._large: IndexReader | None = None
        self._together: Together | None = None
        self._thread = ThreadPoolExecutor(1, "neardup-read")
        self._long = 0
        self._checks = asyncio.Lock()
        self._sizes: tuple[float, dict[str, int]] = (-_KEPT, {})

    @property
    def is_open(self) -> bool:
        """Whether the index is open, and kernels are compiled."""
        return self._small is not None

    @property
    def unready(self) -> str:
        """Why calls are not answered; empty where they are. Without a path: anybody may ask."""
        if self._small is None:
            return _MOVED if self.moved.is_set() else "the service is starting"
        try:
            self._small.require_folder()
        except IndexMovedError:
            return _MOVED
        except NeardupError:
            return "the folder of the index can't be read"
        return ""

    async def open(self) -> None:
        """Open the index after the writer, where its folder is: kernels are compiled once."""
        self._identity = await self.link.opened()
        loop = asyncio.get_running_loop()
        while True:
            try:
                await self._open(loop)
                break
            except IndexMovedError:
                self.moved.set()
                await asyncio.sleep(_PAUSE)
        self.moved.clear()
        self.link.send(messages.WriteRequest(0, 0.0, messages.Opened()))

    async def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._large = await loop.run_in_executor(self._thread, self._opened)
        await loop.run_in_executor(self._thread, self._large.warm)
        self._small = await loop.run_in_executor(self._thread, self._opened)
        self._together = Together(self._small)

    def _opened(self) -> IndexReader:
        FolderIdentity(Path(self.settings.index) / INDEX, self._identity).require()
        return IndexReader(self.settings, self._identity)

    def reader(self) -> IndexReader:
        """Return the index.

        Raises:
            ServiceError: It is not open yet.
        """
        if self._small is None and self.moved.is_set():
            raise ServiceError(503, _MOVED, "put it back", IndexMovedError.__name__, retry=1)
        if self._small is None:
            raise ServiceError(503, "the service is starting", "send it again", retry=1)
        return self._small

    async def answer(self, call: Call, asked: Any) -> Struct:
        """Answer a call.

        Raises:
            ServiceError: It is refused.
            NeardupError: As the index does.
        """
        self._require_few(asked)
        reader = self.reader()
        if call.writes:
            return await self._write(call.name, asked)
        if is_small(call.name, asked):
            if self._together is not None and call.name in TOGETHER:
                return await self._together.answer(call.name, asked)
            return reader.answer(call.name, asked)
        if call.name == "check":
            return await self._check(asked)
        return await self.in_thread(lambda large: large.answer(call.name, asked))

    async def in_thread(self, work: Callable[[IndexReader], T]) -> T:
        """Do what takes longer, in the thread for it.

        Raises:
            ServiceError: Too much waits for it already.
        """
        self.reader()
        large = cast(IndexReader, self._large)
        if self._long >= _LONG_CALLS:
            raise ServiceError(429, "too many long calls wait", "send it again", retry=1)
        self._long += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, large)
        finally:
            self._long -= 1

    async def _check(self, asked: Any) -> Struct:
        if self._checks.locked():
            raise ServiceError(429, "the index is checked already", "send it later", retry=30)

        self.reader().require_folder()

        def work() -> Struct:
            reader = self._opened()
            with reader.index:
                return reader.answer("check", asked)

        async with self._checks:
            return await asyncio.to_thread(work)

    async def sizes(self) -> dict[str, int]:
        """Return sizes of the index, a few seconds old at most."""
        since, found = self._sizes
        if time.monotonic() - since >= _KEPT:
            stats = await self.in_thread(lambda large: large.index.stats())
            found = {name: value for name, value in stats.items() if type(value) is int}
            self._sizes = time.monotonic(), found
        return found

    def _require_few(self, asked: Any) -> None:
        for name in ("documents", "texts", "ids"):
            entries = getattr(asked, name, ())
            if len(entries) > self.limits.documents:
                raise ServiceError(
                    413,
                    f"`{name}` has {len(entries):,} entries, and at most {self.limits.documents:,} "
                    "are taken",
                    "send them in several calls, or as a stream",
                )

    # Writing.

    async def write(self, what: object) -> messages.Done | messages.DecidedColumns:
        """Have the writer do one of the requests of `messages`.

        Raises:
            ServiceError: It is refused.
        """
        if self.settings.readonly:
            raise ServiceError(
                403, "the service only reads", "ask the service that writes", "StoreError"
            )
        return await self.link.ask(what)

    async def _write(self, name: str, asked: Any) -> Struct:
        what: object
        if name in ("add_if_new", "add"):
            ids, texts, groups = _columns(asked.documents)
            if name == "add_if_new":
                what = messages.New(ids, texts, groups)
                return cast(messages.DecidedColumns, await self.write(what)).answers()
            what = messages.Added(ids, texts, asked.on_conflict, groups)
            return calls.Count(await self._value(what))
        if name == "update":
            what = messages.Update(asked.id, asked.text, asked.if_new, asked.group)
            return calls.Updated(asked.id, *(await self._value(what)))
        if name == "remove":
            return calls.Released(await self._value(messages.Remove(asked.ids)))
        await self.write(messages.Compact(asked.purge))
        return calls.Nothing()

    async def _value(self, what: object) -> Any:
        return cast(messages.Done, await self.write(what)).value


def _columns(
    documents: list[GivenDocument],
) -> tuple[list[calls.Id] | None, list[calls.Text], list[calls.Group]]:
    ids = [each.id for each in documents if each.id is not None]
    if ids and len(ids) != len(documents):
        raise ServiceError(
            422, "some documents have an id, and others none", "give all an id", "InputError"
        )
    return ids or None, [each.text for each in documents], [each.group for each in documents]
