"""Bodies that come in, within limits."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from neardup.serve.problems import ServiceError
from neardup.serve.settings import CallLimits

T = TypeVar("T")
_LINES = (b"application/x-ndjson", b"application/jsonl", b"application/x-jsonlines")


def require_type(scope: Scope, lines: bool = False) -> None:
    """Refuse a body of another type than JSON, as a page of another site could send it.

    Args:
        scope: The call.
        lines: JSON lines are expected.

    Raises:
        ServiceError: The message says which type is expected.
    """
    expected = _LINES if lines else (b"application/json",)
    given = header(scope, b"content-type").partition(b";")[0].strip().lower()
    if given not in expected:
        kind = expected[0].decode()
        raise ServiceError(415, f"the body is not of the type {kind}", f"send Content-Type: {kind}")


def header(scope: Scope, name: bytes) -> bytes:
    """Return the value of a header; empty without it."""
    return next((value for key, value in scope["headers"] if key == name), b"")


async def read_body(scope: Scope, receive: Receive, limits: CallLimits) -> bytes:
    """Read a body.

    Raises:
        ServiceError: It is too large, or takes too long.
        ClientDisconnect: The client has gone.
    """
    length = header(scope, b"content-length")
    if length.isdigit() and int(length[:20]) > limits.body:
        raise _too_large(limits)
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                part, more = message.get("body", b""), message.get("more_body", False)
                size += len(part)
                if size > limits.body:
                    raise _too_large(limits)
                parts.append(part)
    except TimeoutError as error:
        raise ServiceError(408, "the body took too long", "send it faster, or less") from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(limits: CallLimits) -> ServiceError:
    return ServiceError(
        413,
        f"the body is too large; at most {limits.body:,} bytes are taken",
        "send fewer documents a call, or a stream",
    )


def decoded(decoder: msgspec.json.Decoder[T], body: bytes, where: str = "the body") -> T:
    """Return a body, or a line of it, as the struct of its call.

    Args:
        decoder: Makes the struct.
        body: What came.
        where: Its name in messages.

    Raises:
        ServiceError: It is not valid JSON, or has other fields or types.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        # It names fields and types, and no value.
        text = str(error) if where == "the body" else f"{where}: {error}"
        raise ServiceError(422, text, "see /openapi.json", "InputError") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ServiceError(400, f"{where} is not valid JSON", "", "FormatError") from error
