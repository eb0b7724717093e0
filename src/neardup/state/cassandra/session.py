"""Requests to a Cassandra: several at a time, and sent again where a failure may pass."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from neardup.errors import NeardupError
from neardup.state.cassandra import driver
from neardup.state.cassandra.cql import named
from neardup.threads import Pool
from neardup.tuning import TUNING

_IN_FLIGHT = 16
_SCHEMA_SECONDS = 60.0
_MAX_PAUSE = 3.0
_T = TypeVar("_T")


class Session:
    """A connection to a keyspace, made when it is opened; statements are those of `cql`.

    A statement whose error may pass is sent again, with growing pauses, until the patience of the
    contact is used up. Permanent errors are raised as StoreError.
    """

    def __init__(self, contact: driver.Contact) -> None:
        self._contact = contact
        self._session: Any = None
        self._pool = Pool(_IN_FLIGHT)
        self._prepared: dict[str, Any] = {}

    def open(self) -> None:
        if self._session is None:
            patience = min(self._contact.patience, driver.CONNECT_SECONDS)
            self._session = self._insist(lambda: driver.connect(self._contact), patience)

    def close(self) -> None:
        session, self._session = self._session, None  # cancels writes that are still being sent
        self._prepared = {}
        if session is not None:
            with suppress(Exception):  # nothing is lost by it
                session.cluster.shutdown()

    def statement(self, text: str, values: Iterable[object] = (), row_bytes: int = 1) -> Any:
        """Return a prepared statement; pages of its answer are limited by the bytes of a row."""
        prepared = self._prepared.get(text)
        if prepared is None:
            query = named(text, self._contact.keyspace)
            prepared = self._insist(lambda: self._session.prepare(query))
            prepared.is_idempotent = True
            self._prepared[text] = prepared
        bound = prepared.bind(tuple(values))
        fit = TUNING.cassandra_page // row_bytes
        bound.fetch_size = max(1, min(TUNING.cassandra_page_rows, fit))
        return bound

    def ask(self, text: str, values: Iterable[object] = (), serial: bool = False) -> list[Any]:
        """Return all rows; ``serial``: also those that another process writes under a condition."""
        statement = self.statement(text, values)
        if serial:
            from cassandra import ConsistencyLevel

            statement.consistency_level = ConsistencyLevel.LOCAL_SERIAL
        return self._rows(statement)

    def answers(self, statements: Iterable[Any]) -> Iterator[list[Any]]:
        """Yield all rows of each statement in order, while the next ones are on their way."""
        return self._pool.ordered(self._rows, statements, most=_IN_FLIGHT)

    def write(self, statements: Iterable[Any]) -> None:
        """Send statements, several at a time; the first failure for good is raised."""
        for _ in self.answers(statements):
            pass

    def change(self, text: str) -> None:
        query = named(text, self._contact.keyspace)
        self._insist(lambda: self._session.execute(query, timeout=_SCHEMA_SECONDS))

    def _rows(self, statement: Any) -> list[Any]:
        return self._insist(lambda: list(self._session.execute(statement)))

    def _insist(self, action: Callable[[], _T], patience: float | None = None) -> _T:
        """Do something until it succeeds, fails for good, or patience is used up."""
        deadline, pause = 0.0, 0.05
        while True:
            try:
                return action()
            except NeardupError:
                raise
            # The errors of the driver have no class in common.
            except Exception as error:  # noqa: BLE001
                now = time.monotonic()
                deadline = deadline or now + (
                    self._contact.patience if patience is None else patience
                )
                if not driver.may_pass(error) or now + pause > deadline:
                    ours, cause = driver.translated(self._contact.url, error)
                    raise ours from cause
            time.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE)
