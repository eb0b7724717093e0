"""Calls over HTTP: retries, and answers as errors."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from neardup import errors
from neardup.errors import (
    DependencyError,
    InputError,
    NeardupError,
    SpecError,
    StoreError,
    TokenError,
)

if TYPE_CHECKING:
    import urllib3

_RETRIED = (429, 503)  # by which the service says that nothing was done
_CONNECTIONS = 16  # that are kept


class Transport:
    """Sends calls to a service; threads can share it.

    Args:
        url: Address of the service.
        token: Its token.
        timeout: Seconds to wait for a connection, and for each part of an answer.
        retries: How often a call is sent again.

    Raises:
        SpecError: The address is none of HTTP.
        DependencyError: urllib3 is not installed.
    """

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SpecError(
                "the address of the service is not one of HTTP", "such as http://127.0.0.1:8080"
            )
        self.url, self._timeout, self._retries = url.rstrip("/"), timeout, retries
        self._headers = {"content-type": "application/json"}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"
        try:
            import urllib3  # noqa: F401
        except ImportError as error:
            raise DependencyError(
                "neardup.connect needs urllib3", "pip install 'neardup[client]'"
            ) from error
        self._pool: urllib3.PoolManager | None = None
        self._pid, self._closed = 0, False

    def call(
        self, name: str, body: object = None, *, again: bool = True, long: bool = False
    ) -> Any:
        """Return the answer to a call.

        Args:
            name: Its name.
            body: Its body; None for a call without a body.
            again: It may be sent again where it isn't known whether it was done.
            long: The answer may take longer than the timeout.

        Raises:
            NeardupError: As the index does.
            StoreError: The service can't be reached, or refuses.
            TokenError: The token is missing or wrong.
        """
        response = self._sent(name, body, again, None if long else self._timeout)
        if response.status != HTTPStatus.OK:
            raise _error_of(response.status, response.data)
        return _parsed(response.data)

    def lines(self, name: str) -> Iterator[Any]:
        """Yield the lines of an answer.

        Raises:
            StoreError: The service can't be reached, or the answer was cut.
        """
        import urllib3

        response = self._sent(name, None, True, self._timeout, preload=False)
        try:
            if response.status != HTTPStatus.OK:
                raise _error_of(response.status, response.read())
            rest = b""
            for part in response.stream(1 << 16):
                *lines, rest = (rest + part).split(b"\n")
                yield from map(_parsed, lines)
        except urllib3.exceptions.HTTPError as error:
            raise StoreError(f"{self.url}: the answer was cut", "ask again") from error
        finally:
            response.close()

    def close(self) -> None:
        """Let go of the connections; every later call is refused."""
        self._closed = True
        if self._pool is not None and self._pid == os.getpid():
            self._pool.clear()

    def require_open(self) -> None:
        """Refuse what comes after `close`.

        Raises:
            StoreError: It was closed.
        """
        if self._closed:
            raise StoreError("the connection was closed", "connect again, by `neardup.connect`")

    def _sent(
        self, name: str, body: object, again: bool, seconds: float | None, preload: bool = True
    ) -> Any:
        import urllib3

        self.require_open()
        retries = urllib3.Retry(
            total=self._retries,
            connect=self._retries,
            read=self._retries if again else 0,
            other=0,
            redirect=0,
            status_forcelist=_RETRIED,
            allowed_methods=None,  # all that are listed here have done nothing
            raise_on_status=False,
            backoff_factor=0.1,
        )
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        try:
            return self._opened().request(
                "GET" if data is None else "POST",
                f"{self.url}/v1/{name}",
                body=data,
                headers=self._headers,
                retries=retries,
                timeout=urllib3.Timeout(connect=self._timeout, read=seconds),
                preload_content=preload,
            )
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise StoreError(
                f"{self.url} can't be reached, or gave no answer ({type(reason).__name__})",
                "see whether the service is running"
                if again
                else "it isn't known whether the call was done: ask before you send it again",
            ) from error

    def _opened(self) -> urllib3.PoolManager:
        import urllib3

        if self._pool is None or self._pid != os.getpid():  # a parent's connections are its own
            self._pid = os.getpid()
            # Where an answer takes long, the system finds out whether the other machine is there.
            alive = (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            options = [*urllib3.connection.HTTPConnection.default_socket_options, alive]
            self._pool = urllib3.PoolManager(
                maxsize=_CONNECTIONS, block=False, socket_options=options
            )
        return self._pool


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise StoreError(
            "the answer is no JSON", "see whether the address is that of neardup serve"
        ) from error


def _error_of(status: int, data: bytes) -> NeardupError:
    """Return an answer as an error."""
    try:
        found = json.loads(data)
        name, detail, hint = (str(found[key]) for key in ("error", "detail", "hint"))
    except (ValueError, KeyError, TypeError):
        refused = TokenError if status == HTTPStatus.UNAUTHORIZED else StoreError
        return refused(f"the service answered {status}", "see the log of the service")
    kind = getattr(errors, name, None) if name else None
    if isinstance(kind, type) and issubclass(kind, NeardupError):
        return kind(detail, hint)
    if status in (400, 413, 422):
        return InputError(detail, hint)
    return StoreError(f"the service answered {status}: {detail}", hint)
