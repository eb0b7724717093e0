"""The queue of the one writer: what waits is taken together, in the order in which it came."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import msgpack

from neardup.serve.http.metrics import WriterMetrics
from neardup.serve.messages import Frames, Opened, Reply, WriteRequest

#: Documents of a transaction: no more are added to one that has so many.
_DOCUMENTS = 1000
_request = msgpack.Decoder(WriteRequest).decode


class WorkerLink(Frames):
    """The way to a process that answers.

    Args:
        writer: Where its requests go.
        opened: Called once that process is ready.
    """

    def __init__(self, writer: Writer, opened: Callable[[], None]) -> None:
        super().__init__()
        self._writer, self._opened = writer, opened

    def received(self, message: bytes) -> None:
        request = _request(message)
        if isinstance(request.what, Opened):
            self._opened()
        else:
            self._writer.put(request, self)


class Writer:
    """Takes requests, and answers them once they are committed.

    Args:
        decide: Does some requests in one transaction; called in one thread. If an exception
            leaves it, `run` ends.
        metrics: Where transactions are counted.
    """

    def __init__(
        self, decide: Callable[[Sequence[WriteRequest]], list[Reply]], metrics: WriterMetrics
    ) -> None:
        self._decide, self._metrics = decide, metrics
        self._waiting: deque[tuple[WriteRequest, WorkerLink]] = deque()
        self._filled = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "neardup-write")

    def put(self, request: WriteRequest, link: WorkerLink) -> None:
        """Have a request done."""
        self._waiting.append((request, link))
        self._filled.set()

    async def run(self) -> None:
        """Do what comes, until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._filled.wait()
            group = self._taken()
            begin = time.perf_counter()
            requests = [request for request, _ in group]
            replies = await loop.run_in_executor(self._thread, self._decide, requests)
            self._metrics.committed(len(group), time.perf_counter() - begin)
            for reply, (_, link) in zip(replies, group, strict=True):
                link.send(reply)

    def _taken(self) -> list[tuple[WriteRequest, WorkerLink]]:
        group, documents = [], 0
        while self._waiting and documents < _DOCUMENTS:
            group.append(self._waiting.popleft())
            documents += max(1, len(getattr(group[-1][0].what, "texts", ())))
        if not self._waiting:
            self._filled.clear()
        return group
