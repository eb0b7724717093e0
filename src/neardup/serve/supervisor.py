"""The process that writes, and starts those that answer."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from neardup.api.indexes.index_folders import opened_core
from neardup.errors import InputNotFoundError, StoreError
from neardup.files.temporary_folder import temporary_folder
from neardup.index.storing.catalogue import Options
from neardup.index.storing.location import FolderIdentity
from neardup.result_record import INDEX
from neardup.serve.group_commit import Decider
from neardup.serve.http import metrics
from neardup.serve.loading import compiling_is_logged, load_kernels
from neardup.serve.messages import Done, Reply
from neardup.serve.settings import Settings
from neardup.serve.writer import WorkerLink, Writer

LOG = logging.getLogger("neardup.serve")
#: Seconds before a process that has ended is started again; twice as many each time, if it was not
#: ready before it ended, and so many times at most.
_PAUSE, _ATTEMPTS = 0.5, 6


class Address(NamedTuple):
    """Where the service listens, and how many processes answer."""

    host: str
    port: int
    workers: int


def listening(address: Address) -> socket.socket:
    """Return a socket that listens.

    Raises:
        StoreError: The address can't be used.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower() if error.errno else "not known"
        raise StoreError(
            f"can't listen on {address.host}, port {address.port}: {reason}",
            "give another `host` or `port`",
        ) from error


def run(settings: Settings, address: Address) -> None:
    """Serve an index until the process gets SIGTERM or SIGINT.

    Raises:
        InputNotFoundError: There is no index.
        StoreError: It is damaged, or the address can't be used; or a process that answers can't be
            started.
    """
    import uvloop

    if not (Path(settings.index) / INDEX).is_file():
        raise InputNotFoundError(
            f"{settings.index}: there is no index", "make one with neardup index create"
        )
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    _raise_files()
    with temporary_folder("serve") as folder, listening(address) as server, compiling_is_logged():
        metrics.start(folder)
        uvloop.run(_Supervisor(settings, server, address.workers).run())


def _raise_files() -> None:
    """Allow as many open files as the system lets this process have."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class _Supervisor:
    def __init__(self, settings: Settings, server: socket.socket, workers: int) -> None:
        self._settings, self._server, self._count = settings, server, workers
        self._stopping = asyncio.Event()
        self._processes: set[asyncio.subprocess.Process] = set()
        self._decider: Decider | None = None
        self._identity: tuple[int, ...] = ()  # of the index that is open
        self._writer: Writer | None = None
        self._metrics: metrics.WriterMetrics | None = None
        self._open = asyncio.Event()
        self._first = asyncio.Event()  # one process answers
        self._begin = time.monotonic()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        host, port = self._server.getsockname()[:2]
        LOG.info("serving %s on http://%s:%d", self._settings.index, host, port)
        self._metrics = metrics.WriterMetrics()
        self._writer = Writer(self._decide, self._metrics)
        # One answers at once: it can be asked whether the service is ready. The others
        # listen once it is: whoever is told that it is ready is refused by none.
        keepers = [asyncio.create_task(self._keep(not number)) for number in range(self._count)]
        writing = asyncio.create_task(self._writer.run())
        opening = asyncio.create_task(self._open_index())
        try:
            await self._watch(opening, {writing, *keepers})
        finally:
            self._stopping.set()
            await asyncio.wait({opening})
            # Without the part that writes, no call that waits for it gets an answer.
            await self._end(keepers, 0.0 if writing.done() else self._settings.stop_seconds)
            writing.cancel()
            if self._decider is not None:
                await asyncio.to_thread(self._decider.close)
            LOG.info("ended")

    async def _watch(self, opening: asyncio.Task[None], lasting: set[asyncio.Task[None]]) -> None:
        """Wait until the service is to stop; raise the error of a part that ends before."""
        stopping = asyncio.create_task(self._stopping.wait())
        parts = {opening, *lasting}
        while not stopping.done():
            done, _ = await asyncio.wait({stopping, *parts}, return_when=asyncio.FIRST_COMPLETED)
            for task in done & parts:
                task.result()
            parts -= done

    def _decide(self, requests: object) -> list[Reply]:
        assert self._decider is not None  # nothing is asked before the index is open
        return self._decider(requests)  # type: ignore[arg-type]

    async def _open_index(self) -> None:
        folder = Path(self._settings.index)
        if self._settings.readonly:
            found = FolderIdentity(folder / INDEX)
            found.require()
            self._identity = found.known
        else:
            options = Options(timeout=self._settings.limits.seconds)
            core, spec = await asyncio.to_thread(opened_core, folder, options)
            await asyncio.to_thread(load_kernels, spec, core.recipe)
            assert self._metrics is not None
            self._decider = Decider(core, self._metrics.failed)
            self._identity = core.catalogue.identity
        self._open.set()

    async def _keep(self, first: bool) -> None:
        """Keep one process running.

        Args:
            first: It listens before the index is open, until one process is ready.

        Raises:
            StoreError: It can't be started.
        """
        failed = 0
        while not self._stopping.is_set():
            opened = asyncio.Event()
            try:
                code = await self._run_one(first and not self._first.is_set(), opened)
            except OSError as error:
                code = error.strerror or type(error).__name__
            if self._stopping.is_set():
                return
            failed = 0 if opened.is_set() else failed + 1
            if failed == _ATTEMPTS:
                raise StoreError(
                    f"a process that answers ended {failed} times before it was ready, last with "
                    f"{code}",
                    "see the log above",
                )
            LOG.error("a process that answers has ended with %s; it is started again", code)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _PAUSE * 2**failed)

    async def _run_one(self, early: bool, opened: asyncio.Event) -> int | str:
        """Start a process, and wait until it ends; return its exit status.

        Args:
            early: It listens before the index is open.
            opened: Set once it is ready.

        Raises:
            OSError: It can't be started.
        """

        def ready() -> None:
            opened.set()
            if not self._first.is_set():
                took = time.monotonic() - self._begin
                LOG.info("ready after %.1f s: the index is open, and its kernels are loaded", took)
                self._first.set()

        process, link = await self._start(early, ready)
        self._processes.add(process)
        telling = asyncio.create_task(self._tell(link, self._open if early else self._first))
        if self._stopping.is_set():
            process.terminate()
        code = await process.wait()
        telling.cancel()
        self._processes.discard(process)
        metrics.forget(process.pid)
        return code

    async def _tell(self, link: WorkerLink, event: asyncio.Event) -> None:
        """Have a process open the index, once something has happened."""
        await event.wait()
        link.send(Reply(-1, Done(self._identity)))

    async def _start(
        self, early: bool, ready: Callable[[], None]
    ) -> tuple[asyncio.subprocess.Process, WorkerLink]:
        assert self._writer is not None
        ours, theirs = socket.socketpair()
        link = WorkerLink(self._writer, ready)
        transport, _ = await asyncio.get_running_loop().create_connection(lambda: link, sock=ours)
        try:
            with theirs:
                numbers = (self._server.fileno(), theirs.fileno())
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "neardup.serve.http.worker",
                    *map(str, (*numbers, int(early))),
                    stdin=asyncio.subprocess.PIPE,
                    pass_fds=numbers,
                )
        except OSError:
            transport.close()
            raise
        assert process.stdin is not None
        if not process.stdin.is_closing():  # else it has ended already
            process.stdin.write(msgspec.json.encode(self._settings))
            process.stdin.close()
        return process, link

    async def _end(self, keepers: list[asyncio.Task[None]], seconds: float) -> None:
        """Have the other processes end: they finish calls that have begun, within the time."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.terminate()
        _, late = await asyncio.wait(keepers, timeout=seconds + 1)
        if late:
            for process in list(self._processes):
                with suppress(ProcessLookupError):
                    process.kill()
            await asyncio.wait(keepers, timeout=5)
