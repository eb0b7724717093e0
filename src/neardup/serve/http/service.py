"""The state of a process that answers: an index to read, and the way to the writer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

from msgspec import Struct

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
        self._large: IndexReader | None = None
        self._together: Together | None = None
        self._thread = ThreadPoolExecutor(1, "neardup-read")
        self._long = 0
        self._checks = asyncio.Lock()
        self._sizes: tuple[float, dict[str, int]] = (-_KEPT, {})

    @property
    def ready(self) -> bool:
        """Whether the index is open, and kernels are compiled."""
        return self._small is not None

    async def open(self) -> None:
        """Open the index after the writer: kernels are compiled once."""
        await self.link.ready.wait()
        loop = asyncio.get_running_loop()
        self._large = await loop.run_in_executor(self._thread, IndexReader, self.settings)
        await loop.run_in_executor(self._thread, self._large.warm)
        self._small = await loop.run_in_executor(self._thread, IndexReader, self.settings)
        self._together = Together(self._small)
        self.link.send(messages.WriteRequest(0, 0.0, messages.Opened()))

    def reader(self) -> IndexReader:
        """Return the index.

        Raises:
            ServiceError: It is not open yet.
        """
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

        def work() -> Struct:
            reader = IndexReader(self.settings)
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
            ids, texts = _columns(asked.documents)
            if name == "add_if_new":
                decided = cast(messages.DecidedColumns, await self.write(messages.New(ids, texts)))
                return decided.answers()
            what = messages.Added(ids, texts, asked.on_conflict)
            return calls.Count(await self._value(what))
        if name == "update":
            what = messages.Update(asked.id, asked.text, asked.if_new)
            return calls.Updated(asked.id, *(await self._value(what)))
        if name == "remove":
            return calls.Released(await self._value(messages.Remove(asked.ids)))
        await self.write(messages.Compact(asked.purge))
        return calls.Nothing()

    async def _value(self, what: object) -> Any:
        return cast(messages.Done, await self.write(what)).value


def _columns(documents: list[GivenDocument]) -> tuple[list[calls.Id] | None, list[calls.Text]]:
    ids = [each.id for each in documents if each.id is not None]
    if ids and len(ids) != len(documents):
        raise ServiceError(
            422, "some documents have an id, and others none", "give all an id", "InputError"
        )
    return ids or None, [each.text for each in documents]
