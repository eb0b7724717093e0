"""Checks of every call: the header Host and the token; errors, numbers and the log."""

from __future__ import annotations

import hmac
import logging
import time
import traceback
from pathlib import Path
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neardup.errors import NeardupError
from neardup.serve.calls import CALLS
from neardup.serve.http.metrics import CallMetrics
from neardup.serve.problems import ServiceError, problem_of
from neardup.serve.settings import Settings

LOG = logging.getLogger("neardup.serve")
_OPEN = ("/healthz", "/readyz")  # no secret, and asked by those who have no token
_PAGE = "/"  # about the calls, without data: read before a token is at hand
#: Headers that a proxy in front may read otherwise than this where there are several.
_SINGLE = (b"host", b"authorization", b"content-type")
#: Refusals of the library that knows the paths.
_REFUSED = {
    404: ("there is no call at this path", "see /openapi.json"),
    405: ("the call has another method", "see /openapi.json"),
}
_NAMES = {f"/v1/{call.name}": call.name for call in CALLS} | {
    "/v1/stream": "stream",
    "/v1/stream/query": "stream_query",
    "/v1/ids": "ids",
    "/v1/buckets": "buckets",
    "/metrics": "metrics",
}


class Guard:
    """The outermost part of the application: no exception leaves it, and no text gets into a log.

    Args:
        app: What answers.
        settings: Who is answered.
        metrics: Where calls are counted.
    """

    def __init__(self, app: ASGIApp, settings: Settings, metrics: CallMetrics) -> None:
        self._app, self._metrics = app, metrics
        self._hosts = frozenset(host.encode() for host in settings.hosts)
        self._any_host = "*" in settings.hosts
        self._token = settings.token.encode()
        self._log = settings.access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        error: ServiceError | None = None
        scope["app"] = self._app  # then the library raises its refusals
        try:
            self._require(scope)
            await self._app(scope, receive, sending)
        except ServiceError as found:
            error = found
        except NeardupError as found:
            error = problem_of(found)
            if error.problem.status == 500:
                LOG.error("a call failed: %s", _kind(found))
        except HTTPException as found:
            error = ServiceError(
                found.status_code, *_REFUSED.get(found.status_code, (found.detail,))
            )
        except ClientDisconnect:
            status = status or 499  # as nginx counts them
        except Exception as found:  # noqa: BLE001
            error = ServiceError(500, "an unexpected error", "see the log of the service")
            LOG.error("a call failed: %s", _kind(found))
        if error is not None and not status:
            await respond_problem(sending, error)
        elif error is not None:
            raise _CutError  # the client sees that the answer has no end
        seconds = time.perf_counter() - begin
        name = _NAMES.get(scope["path"], "other")
        self._metrics.answered(name, status, seconds)
        if self._log:
            LOG.info("%s %s %d %.1f ms", scope["method"], name, status, seconds * 1e3)

    def _require(self, scope: Scope) -> None:
        if scope["path"] in _OPEN:
            return
        given: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in _SINGLE:
                if name in given:
                    raise ServiceError(
                        400, f"the header {name.decode()} is there more than once", "send one"
                    )
                given[name] = value
        if not self._any_host and not self._is_known(given.get(b"host", b"")):
            raise ServiceError(
                421,
                "the service is not known by this name",
                "start it with --allow-host NAME",
            )
        if not self._token or scope["path"] == _PAGE:
            return
        scheme, _, token = given.get(b"authorization", b"").partition(b" ")
        is_right = hmac.compare_digest(token.strip(), self._token)
        if not (scheme.lower() == b"bearer" and is_right):
            raise ServiceError(
                401,
                "the token is missing or wrong",
                "send that of the service, in the header Authorization: Bearer TOKEN",
            )

    def _is_known(self, host: bytes) -> bool:
        host = host.lower()
        return host in self._hosts or host.rpartition(b":")[0] in self._hosts


class _CutError(Exception):
    """An answer that has begun is given up; the server closes the connection."""


async def respond(send: Send, status: int, body: bytes, kind: bytes = b"application/json") -> None:
    """Send an answer."""
    await _respond(send, status, body, [(b"content-type", kind)])


async def refuse_connection(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer where there are too many connections already."""
    await respond_problem(
        send, ServiceError(503, "there are too many connections", "send it again", retry=1), True
    )


async def respond_problem(send: Send, error: ServiceError, last: bool = False) -> None:
    """Send an error; ``last`` closes the connection."""
    headers = [(b"content-type", b"application/problem+json")]
    if error.retry is not None:
        headers.append((b"retry-after", str(error.retry).encode()))
    if error.problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if last or error.problem.status == 408:
        headers.append((b"connection", b"close"))
    await _respond(send, error.problem.status, msgspec.json.encode(error.problem), headers)


async def _respond(send: Send, status: int, body: bytes, headers: list[Any]) -> None:
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _kind(error: BaseException) -> str:
    """Return the type of an error and the line that raised it, not the message: it may have ids."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} ({Path(last.filename).name}, line {last.lineno})"
