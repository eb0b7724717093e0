"""The way to the process that writes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, cast

from msgspec import msgpack

from neardup.serve.http.metrics import CallMetrics
from neardup.serve.messages import DecidedColumns, Done, Failed, Frames, Reply, WriteRequest
from neardup.serve.problems import ServiceError
from neardup.serve.settings import CallLimits

_READY = -1  # number of the message that has the index opened
_BODIES = 8  # largest bodies that may wait
_reply = msgpack.Decoder(Reply).decode
_Answer: TypeAlias = Failed | Done | DecidedColumns


class _Waiting(NamedTuple):
    """A request that the writer has not answered, and its bytes."""

    done: asyncio.Future[_Answer]
    size: int


class WriterLink(Frames):
    """Sends requests to the writer, and gives the answers to those who wait for them.

    Args:
        limits: How much may wait.
        metrics: Where the number of calls that wait is noted.
        lost: Called once the other process is gone.
    """

    def __init__(self, limits: CallLimits, metrics: CallMetrics, lost: Callable[[], None]) -> None:
        super().__init__()
        self._limits, self._metrics, self._lost = limits, metrics, lost
        self._waiting: dict[int, _Waiting] = {}
        self._number = self._bytes = 0
        self._ready: asyncio.Future[tuple[int, ...]] = asyncio.get_running_loop().create_future()

    async def opened(self) -> tuple[int, ...]:
        """Wait until the index is to be opened; return the identity that it has to have."""
        return await self._ready

    async def ask(self, what: object) -> Done | DecidedColumns:
        """Send a request of `messages`, and wait for the answer, which comes after its commit.

        It counts towards the limits until then, also if its client has gone.

        Raises:
            ServiceError: Too much waits already, or it was refused.
        """
        limits = self._limits
        if len(self._waiting) >= limits.queue or self._bytes > _BODIES * limits.body:
            raise ServiceError(429, "too many calls wait for the writer", "send it again", retry=1)
        self._number += 1
        done: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        until = time.monotonic() + limits.seconds
        size = self.send(WriteRequest(self._number, until, what))  # type: ignore[arg-type]
        self._waiting[self._number] = _Waiting(done, size)
        self._bytes += size
        self._metrics.waiting(len(self._waiting))
        reply = await done
        if isinstance(reply, Failed):
            retry = 1 if reply.status == 503 else None
            raise ServiceError(reply.status, reply.detail, reply.hint, reply.error, retry)
        return reply

    def received(self, message: bytes) -> None:
        reply = _reply(message)
        if reply.number == _READY:
            self._ready.set_result(tuple(cast(Done, reply.what).value))
            return
        done, size = self._waiting.pop(reply.number)
        self._bytes -= size
        self._metrics.waiting(len(self._waiting))
        if not done.done():  # else its client has gone
            done.set_result(reply.what)

    def connection_lost(self, error: Exception | None) -> None:
        self._lost()
