"""Where a Cassandra is and how to be let in: the URL, and settings of the environment."""

from __future__ import annotations

import os
import re
import ssl
from dataclasses import dataclass, field
from urllib.parse import unquote

from neardup.errors import SpecError, StoreError

__all__ = ["Place", "login", "parse", "patience", "setting", "tls"]

_PORT = 9042
_FORM = "write cassandra://HOST[:PORT][,HOST[:PORT]...]/KEYSPACE"


@dataclass(frozen=True, slots=True)
class Place:
    """What a URL says; user and password show in no message."""

    hosts: tuple[tuple[str, int], ...]
    keyspace: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        hosts = (f"[{h}]:{p}" if ":" in h else f"{h}:{p}" for h, p in self.hosts)
        return f"cassandra://{','.join(hosts)}/{self.keyspace}"


def parse(url: str) -> Place:
    """Take a URL apart; what is wrong with it is said without quoting it."""
    scheme, _, rest = url.partition("://")
    if scheme != "cassandra":
        raise SpecError("the URL of a Cassandra does not begin with cassandra://", _FORM)
    server, _, keyspace = rest.rpartition("/")
    who, _, hosts = server.rpartition("@")
    user, _, password = who.partition(":")
    if not re.fullmatch(r"[A-Za-z]\w{0,47}", keyspace, re.ASCII):
        raise SpecError("the URL of the Cassandra names no keyspace of letters and digits", _FORM)
    found = []
    for host in hosts.split(","):
        match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?", host, re.ASCII)
        if match is None or not 0 < int(match[3] or _PORT) < 65536:
            raise SpecError("the URL of the Cassandra names no host, or no port", _FORM)
        found.append((match[1] or match[2], int(match[3] or _PORT)))
    return Place(tuple(found), keyspace, unquote(user), unquote(password))


def setting(name: str) -> str:
    return os.environ.get(f"NEARDUP_CASSANDRA_{name}", "")


def login(place: Place) -> tuple[str, str]:
    """Return user and password; what the environment says goes before the URL."""
    return setting("USER") or place.user, setting("PASSWORD") or place.password


def patience() -> float:
    """Return for how many seconds a server that is away is waited for."""
    text = setting("PATIENCE") or "60"
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise SpecError(f"NEARDUP_CASSANDRA_PATIENCE is {text!r}, expected seconds")
    return value


def tls() -> ssl.SSLContext | None:
    """Return how to encrypt; None for not at all.

    Raises:
        StoreError: A file can't be used.
    """
    authority = setting("CA")
    if not authority and setting("TLS") in ("", "0"):
        return None
    try:
        context = ssl.create_default_context(cafile=authority or None)
        if setting("CHECK_HOSTNAME") == "0":
            context.check_hostname = False
        if setting("CERT"):
            # With a password, even none, OpenSSL does not ask for one at the terminal.
            context.load_cert_chain(
                setting("CERT"), setting("KEY") or None, setting("KEY_PASSWORD")
            )
    except OSError as error:  # ssl.SSLError is one
        raise StoreError(
            "the TLS files for Cassandra can't be read",
            "check NEARDUP_CASSANDRA_CA, NEARDUP_CASSANDRA_CERT and NEARDUP_CASSANDRA_KEY",
        ) from error
    return context
