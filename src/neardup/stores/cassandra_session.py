"""Asking a Cassandra: concurrently, so many at a time, and again where a failure may pass."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from neardup.errors import NeardupError, StoreError
from neardup.stores.cassandra_driver import CONNECT_SECONDS, Driver
from neardup.stores.cassandra_place import Place
from neardup.stores.cassandra_tables import named

__all__ = ["Session"]

_IN_FLIGHT = 16
_PAGE_ROWS = 10_000
_SCHEMA_SECONDS = 60.0
_MAX_PAUSE = 3.0


class Session:
    """A connection to a keyspace; statements name their tables in angle brackets.

    Args:
        place: Where it is.
        patience: Seconds for which what fails is sent again, with growing pauses.
    """

    def __init__(self, place: Place, patience: float) -> None:
        self._place = place
        self._patience = patience
        self._driver = Driver()
        self._cluster: Any = None
        self._session: Any = None
        self._prepared: dict[str, Any] = {}

    def open(self) -> None:
        """Connect, unless it is done."""
        if self._session is None:

            def connect() -> None:
                self._cluster, self._session = self._driver.connect(self._place)

            self._insist(connect, min(self._patience, CONNECT_SECONDS))

    def close(self) -> None:
        cluster, self._cluster, self._session = self._cluster, None, None
        self._prepared = {}
        if cluster is not None:
            with suppress(Exception):  # nothing is lost by it
                cluster.shutdown()

    def statement(self, text: str, values: Iterable[Any] = (), rows: int = _PAGE_ROWS) -> Any:
        """Return what can be sent; the server gives so many rows at a time."""
        prepared = self._prepared.get(text)
        if prepared is None:
            query = named(text, self._place.keyspace)
            prepared = self._insist(lambda: self._session.prepare(query), self._patience)
            prepared.is_idempotent = True
            prepared.consistency_level = self._driver.level
            self._prepared[text] = prepared
        bound = prepared.bind(tuple(values))
        bound.fetch_size = rows
        return bound

    def batch(self, statements: Iterable[Any]) -> Any:
        """Return one of many, for rows of one partition."""
        batch = self._driver.batch()
        for statement in statements:
            batch.add(statement)
        return batch

    def ask(self, text: str, values: Iterable[Any] = (), serial: bool = False) -> list[Any]:
        """Return all rows; for those that are few.

        Args:
            text, values: As for `statement`.
            serial: See what another process is just writing under a condition, too.
        """
        statement = self.statement(text, values)
        if serial:
            statement.consistency_level = self._driver.serial
        return [row for rows in self.pages(statement) for row in rows]

    def pages(self, statement: Any) -> Iterator[list[Any]]:
        """Ask now; yield the rows page by page, with the next one on its way meanwhile."""
        return self._turned(statement, self._send(statement))

    def _turned(self, statement: Any, future: Any) -> Iterator[list[Any]]:
        page = None
        while True:
            answer = self._settle(future, statement, page)
            rows, page = answer.current_rows, answer.paging_state
            if page is not None:
                future = self._send(statement, page)
            yield list(rows)
            if page is None:
                return

    def write(self, statements: Iterable[Any]) -> None:
        """Send them concurrently, so many at a time; the first failure for good is raised."""
        flying: deque[tuple[Any, Any]] = deque()
        for statement in statements:
            if len(flying) >= _IN_FLIGHT:
                self._settle(*flying.popleft())
            flying.append((self._send(statement), statement))
        while flying:
            self._settle(*flying.popleft())

    def change(self, text: str) -> None:
        """Change tables."""
        query = named(text, self._place.keyspace)
        self._insist(lambda: self._session.execute(query, timeout=_SCHEMA_SECONDS), self._patience)

    def _send(self, statement: Any, page: bytes | None = None) -> Any:
        try:
            return self._session.execute_async(statement, paging_state=page)
        except Exception as error:  # of the pool, before anything was sent
            return _Failed(error)

    def _settle(self, future: Any, statement: Any, page: bytes | None = None) -> Any:
        """Wait for an answer; ask again where what failed may pass."""
        futures = iter([future])
        return self._insist(
            lambda: (next(futures, None) or self._send(statement, page)).result(), self._patience
        )

    def _insist(self, action: Callable[[], Any], patience: float) -> Any:
        """Do something until it succeeds, fails for good, or patience is used up."""
        deadline, pause = 0.0, 0.05
        while True:
            try:
                return action()
            except NeardupError:
                raise
            except Exception as error:
                now = time.monotonic()
                deadline = deadline or now + patience
                if not self._driver.may_pass(error) or now + pause > deadline:
                    ours, cause = self._translated(error)
                    raise ours from cause
            time.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE)

    def _translated(self, error: Exception) -> tuple[StoreError, Exception | None]:
        """Return ours, and what it may be raised from: nothing that names the user."""
        where, reason = self._place.url, self._driver.reason(error)
        kind = self._driver.kind(error)
        if kind == "credentials":
            return StoreError(
                f"{where}: refuses user or password",
                "set NEARDUP_CASSANDRA_USER and NEARDUP_CASSANDRA_PASSWORD",
            ), None
        if kind == "rights":
            return StoreError(
                f"{where}: {reason}", "ask for the right, or name another keyspace"
            ), None
        if kind == "tls":
            return StoreError(
                f"{where}: no TLS: {reason}",
                "check NEARDUP_CASSANDRA_TLS and NEARDUP_CASSANDRA_CA, and what the server wants",
            ), error
        if kind in ("unreachable", "passing"):
            what = "can't be reached: " if kind == "unreachable" else ""
            return StoreError(
                f"{where}: {what}{reason}",
                "see that the server runs, and whether it wants TLS; it is waited for as many "
                "seconds as NEARDUP_CASSANDRA_PATIENCE says",
            ), error
        return StoreError(f"{where}: {reason}"), error


class _Failed:
    """Stands for the answer to what could not even be sent."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def result(self) -> Any:
        raise self._error
