"""Where a Cassandra is and how to log in: the URL, and settings of the environment.

No message shows any of ``NEARDUP_CASSANDRA_USER`` and ``_PASSWORD``, ``_CA`` (a file; it, or
``_TLS=1``, turns TLS on), ``_DATACENTER`` and ``_PATIENCE`` (seconds).
"""

import os
import re
import ssl
from dataclasses import dataclass, field
from urllib.parse import unquote

from neardup.errors import SpecError, StoreError

_PORT = 9042
_FORM = "write cassandra://HOST[:PORT][,HOST[:PORT]...]/KEYSPACE"
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Contact:
    """Settings of a URL and of the environment; user and password show in no message."""

    hosts: tuple[tuple[str, int], ...]
    keyspace: str
    user: str = field(repr=False)
    password: str = field(repr=False)
    patience: float  # seconds for which a server that does not answer is waited for

    @property
    def url(self) -> str:
        """The URL without user and password."""
        hosts = (f"[{h}]:{p}" if ":" in h else f"{h}:{p}" for h, p in self.hosts)
        return f"cassandra://{','.join(hosts)}/{self.keyspace}"

    @classmethod
    def parse(cls, url: str, patience: float | None = None) -> "Contact":
        """Read a URL, and the settings of the environment, which take precedence."""
        scheme, _, rest = url.partition("://")
        server, _, keyspace = rest.rpartition("/")
        login, _, hosts = server.rpartition("@")
        user, _, password = login.partition(":")
        found = [_HOST.fullmatch(host) for host in hosts.split(",")]
        places = tuple((m[1] or m[2], int(m[3] or _PORT)) for m in found if m is not None)
        if scheme != "cassandra":
            raise SpecError("the URL of a Cassandra does not begin with cassandra://", _FORM)
        if not re.fullmatch(r"[A-Za-z]\w{0,47}", keyspace, re.ASCII):
            raise SpecError("the URL of the Cassandra names no keyspace of letters, digits", _FORM)
        if len(places) < len(found) or not all(0 < port < 65536 for _, port in places):
            raise SpecError("the URL of the Cassandra names no host, or no port", _FORM)
        seconds = setting("PATIENCE") or "60"
        if not re.fullmatch(r"\d{1,9}(\.\d*)?", seconds):
            raise SpecError(f"NEARDUP_CASSANDRA_PATIENCE is {seconds!r}, expected seconds")
        return cls(
            places,
            keyspace,
            setting("USER") or unquote(user),
            setting("PASSWORD") or unquote(password),
            float(seconds) if patience is None else patience,
        )


def tls() -> ssl.SSLContext | None:
    """Return how to encrypt; None for not at all; StoreError where a file can't be used."""
    authority = setting("CA")
    if not authority and setting("TLS") in ("", "0"):
        return None
    try:
        return ssl.create_default_context(cafile=authority or None)
    except OSError as error:  # ssl.SSLError is one
        message = "the certificate of the authority for Cassandra can't be read"
        raise StoreError(message, "check NEARDUP_CASSANDRA_CA") from error


def setting(name: str) -> str:
    return os.environ.get(f"NEARDUP_CASSANDRA_{name}", "")
