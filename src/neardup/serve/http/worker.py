"""A process that answers: ``python -m neardup.serve.http.worker``, started by `supervisor`.

It gets its settings from standard input, and two sockets: the one that listens, and the one to the
process that writes. If the latter ends, so does this one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from typing import Any, cast

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from neardup.serve.http.app import made_app
from neardup.serve.http.guard import refuse_connection
from neardup.serve.http.service import Service
from neardup.serve.loading import compiling_is_logged
from neardup.serve.problems import ServiceError
from neardup.serve.settings import CallLimits, Settings

_HEAD = 64 << 10  # bytes of an address with all headers
_HEAD_SECONDS = 15.0  # in which they have to come, or less where bodies have less


class _Protocol(HttpToolsProtocol):
    """HTTP of the library, with limits on headers and connections, and errors as of all calls."""

    seconds = _HEAD_SECONDS
    most = CallLimits().connections
    _size = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._size = 0
        self._stop()
        self._start()

    def on_url(self, url: bytes) -> None:
        self._add(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._add(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop()
        is_full = max(len(self.connections), len(self.tasks)) >= self.most
        self.app = cast(Any, refuse_connection) if is_full else self.config.loaded_app
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP; then the connection is closed."""
        error = ServiceError(400, "the request is no valid HTTP, or its headers are too large")
        body = msgspec.json.encode(error.problem)
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body)
        )
        self.transport.close()

    def _add(self, size: int) -> None:
        self._size += size
        if self._size > _HEAD:
            raise ValueError("the headers are too large")  # answered as bytes that are no HTTP

    def _start(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


async def _serve(
    settings: Settings, listening: socket.socket, link: socket.socket, early: bool
) -> None:
    _Protocol.seconds = min(_HEAD_SECONDS, settings.limits.seconds)
    _Protocol.most = settings.limits.connections
    service = Service(settings, lambda: os._exit(1))
    config = uvicorn.Config(
        made_app(service),
        http=cast(Any, _Protocol),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=2048,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=max(1, int(settings.stop_seconds)),
    )
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: service.link, sock=link)
    opening = asyncio.create_task(service.open())
    opening.add_done_callback(_opened)
    if not early:
        moved = asyncio.create_task(service.moved.wait())
        await asyncio.wait({opening, moved}, return_when=asyncio.FIRST_COMPLETED)
    await uvicorn.Server(config).serve(sockets=[listening])
    os._exit(0)  # all is answered; threads in the middle of a check are not waited for


def _opened(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        logging.getLogger("neardup.serve").error("can't open the index: %s", task.exception())
        os._exit(1)


def main() -> None:
    """Run the process.

    Arguments: the numbers of the two sockets, and 1 to listen before the index is open.
    """
    import uvloop

    settings = msgspec.json.decode(sys.stdin.buffer.read(), type=Settings)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    listening, link = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    with compiling_is_logged():
        uvloop.run(_serve(settings, listening, link, sys.argv[3] == "1"))


if __name__ == "__main__":
    main()
