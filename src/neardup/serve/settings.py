"""Settings of the service, as its processes get them."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from msgspec import Struct

from neardup.errors import InputError, SpecError

_SHORTEST = 16  # characters of a token
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


class CallLimits(Struct, frozen=True):
    """Limits of a call.

    Attributes:
        body: Bytes of a body, or of a line of a stream.
        documents: Documents, texts or ids of a call.
        queue: Calls that wait for the writer, in each process that answers; they may have eight
            times the bytes of one body.
        seconds: For a body to come in, for a call to wait for the writer, and for a client to take
            the next part of an answer.
        connections: Of each process that answers.
    """

    body: int = 16 << 20
    documents: int = 1000
    queue: int = 1000
    seconds: float = 30.0
    connections: int = 4000


class Settings(Struct, frozen=True):
    """Settings of a process that answers.

    Attributes:
        index: Folder of the index.
        hosts: Values of the header Host that are answered, in lower case; ``*`` for all.
        token: What clients must send; empty for none.
        readonly: Calls that write are refused.
        limits: Limits of a call.
        access_log: Log a line for each call.
        stop_seconds: For calls to end once the process gets SIGTERM.
    """

    index: str
    hosts: tuple[str, ...]
    token: str = ""
    readonly: bool = False
    limits: CallLimits = CallLimits()
    access_log: bool = False
    stop_seconds: float = 30.0


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str, names: tuple[str, ...], token: str) -> tuple[str, ...]:
    """Return which values of the header Host are answered.

    Raises:
        SpecError: An address of the network was given without a token, or one that means
            several without names.
    """
    if not is_loopback(host) and not token:
        raise SpecError(
            f"`host` is {host}, which other machines may reach, and there is no token",
            "give `token_file`, or use a loopback address such as 127.0.0.1",
        )
    if host in ("0.0.0.0", "::", "") and not names:  # noqa: S104
        raise SpecError(
            f"`host` is {host!r}, and it isn't known under which names clients call",
            "give each as `allow_host`, such as --allow-host index.example.org",
        )
    listening = f"[{host}]" if ":" in host else host
    return tuple(dict.fromkeys(name.lower() for name in (*_LOCAL, listening, *names)))


def read_token(path: Path) -> str:
    """Return the token in a file: its first line.

    Raises:
        InputError: It can't be read, or the token is too short, or has other characters than
            printable ones of ASCII.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"can't read {path}: {type(error).__name__}", "name a file") from error
    token = lines[0].strip() if lines else ""
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"{path}: the first line is no token; expected {_SHORTEST} printable characters of "
            "ASCII or more, without spaces",
            "make one with: openssl rand -hex 32",
        )
    return token
