"""Address of a Cassandra, connecting with it by cassandra-driver, and the meaning of its errors.

A URL says where, and settings of the environment, of which no message shows any:
``NEARDUP_CASSANDRA_USER`` and ``_PASSWORD``, ``_CA`` (a file; it, or ``_TLS=1``, turns TLS on),
``_DATACENTER`` and ``_PATIENCE`` (seconds).
"""

import logging
import os
import re
import ssl
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from neardup.errors import DependencyError, SpecError, StoreError

_PORT = 9042
_FORM = "write cassandra://HOST[:PORT][,HOST[:PORT]...]/KEYSPACE"
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?", re.ASCII)
CONNECT_SECONDS = 10.0
_REQUEST_SECONDS = 10.0

#: The subject of errors, by the name of their class or of one that it inherits from.
_KINDS = {
    "UnresolvableContactPoints": "no host",
    "AuthenticationFailed": "credentials",
    "BadCredentials": "credentials",
    "Unauthorized": "rights",
    "UnauthorizedErrorMessage": "rights",
    "RequestValidationException": "request",
    "UnsupportedOperation": "request",
    "ProtocolException": "request",
    "ConnectionBusy": "passing",
    "ConnectionException": "unreachable",
    "OSError": "unreachable",
    "DriverException": "passing",
    "ErrorMessage": "passing",
}
#: Messages that replace those of the driver.
_REASONS = {"OperationTimedOut": "no answer", "UnresolvableContactPoints": "no such host"}
_WAITED = (
    "check that the server runs, and whether it wants TLS; neardup waits for it as many seconds as "
    "NEARDUP_CASSANDRA_PATIENCE sets"
)
#: How messages begin, and hints.
_ADVICE = {
    "credentials": (
        "refuses user or password",
        "set NEARDUP_CASSANDRA_USER and NEARDUP_CASSANDRA_PASSWORD",
    ),
    "rights": ("", "ask for the permission, or name another keyspace"),
    "tls": ("no TLS: ", "check NEARDUP_CASSANDRA_TLS and NEARDUP_CASSANDRA_CA"),
    "no host": ("can't be reached: ", _WAITED),
    "unreachable": ("can't be reached: ", _WAITED),
    "passing": ("", _WAITED),
}


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
        addresses = tuple((m[1] or m[2], int(m[3] or _PORT)) for m in found if m is not None)
        if scheme != "cassandra":
            raise SpecError("the URL of a Cassandra does not begin with cassandra://", _FORM)
        if not re.fullmatch(r"[A-Za-z]\w{0,47}", keyspace, re.ASCII):
            raise SpecError("the URL of the Cassandra names no keyspace of letters, digits", _FORM)
        if len(addresses) < len(found) or not all(0 < port < 65536 for _, port in addresses):
            raise SpecError("the URL of the Cassandra names no host, or no port", _FORM)
        seconds = setting("PATIENCE") or "60"
        if not re.fullmatch(r"\d{1,9}(\.\d*)?", seconds):
            raise SpecError(f"NEARDUP_CASSANDRA_PATIENCE is {seconds!r}, expected seconds")
        return cls(
            addresses,
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


def connect(contact: Contact) -> Any:
    """Return a session, whose cluster is to be shut down."""
    # Its log is for those who add a handler; without one Python prints it to stderr.
    logging.getLogger("cassandra").addHandler(logging.NullHandler())
    try:
        from cassandra import ConsistencyLevel, auth, cluster, policies, query
    except ImportError as error:
        raise DependencyError(
            "Cassandra needs the package cassandra-driver, which is not installed",
            "pip install 'neardup[cassandra]'",
        ) from error
    except Exception as error:  # one of the driver, from Python 3.12 on: nothing to run its events
        raise DependencyError(
            "cassandra-driver was installed without libev, which Python 3.12 and later need",
            "install libev and its headers, then pip install --force-reinstall "
            "cassandra-driver; or use Python 3.11",
        ) from error
    nearest = policies.DCAwareRoundRobinPolicy(local_dc=setting("DATACENTER"))
    profile = cluster.ExecutionProfile(
        load_balancing_policy=policies.TokenAwarePolicy(nearest),
        retry_policy=policies.FallthroughRetryPolicy(),  # the session sends again itself
        consistency_level=ConsistencyLevel.LOCAL_QUORUM,
        serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL,
        request_timeout=_REQUEST_SECONDS,
        row_factory=query.tuple_factory,
    )
    login = auth.PlainTextAuthProvider(contact.user, contact.password) if contact.user else None
    connected = cluster.Cluster(
        contact_points=list(contact.hosts),
        port=contact.hosts[0][1],
        auth_provider=login,
        ssl_context=tls(),
        execution_profiles={cluster.EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=policies.ConstantReconnectionPolicy(1.0, None),
        connect_timeout=CONNECT_SECONDS,
        compression=False,  # hashes don't shrink
    )
    try:
        return connected.connect()
    except BaseException:
        connected.shutdown()
        raise


def may_pass(error: BaseException) -> bool:
    return _kind(error) in ("unreachable", "passing")


def translated(url: str, error: BaseException) -> tuple[StoreError, BaseException | None]:
    """Return our error, and its cause, which must not name the user."""
    kind = _kind(error)
    start, hint = _ADVICE.get(kind, ("", ""))
    reason = "" if kind == "credentials" else _reason(error)
    cause = None if kind in ("credentials", "rights") else error
    return StoreError(f"{url}: {start}{reason}", hint), cause


def _kind(error: BaseException) -> str:
    """Return the subject of an error: a value of `_KINDS`, ``tls`` or ``unknown``."""
    if type(error).__name__ == "NoHostAvailable":
        kinds = {_kind(inner) for inner in _inner(error)}
        first = (k for k in ("credentials", "rights", "tls", "request") if k in kinds)
        return next(first, "unreachable")
    if _is_tls(error):
        return "tls"
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((_KINDS[name] for name in names if name in _KINDS), "unknown")


def _reason(error: BaseException) -> str:
    """Describe an error in a few words, without the wrapping of the driver."""
    name, text = type(error).__name__, str(error)
    if name == "NoHostAvailable":
        # One that reports more than that the connection is gone.
        inner = sorted(_inner(error), key=lambda error: not isinstance(error, OSError))
        return _reason(inner[0]) if inner else "the connection was lost"
    if name in _REASONS:
        return _REASONS[name]
    if _is_tls(error):
        found = re.search(r"certificate verify failed(?:: [\w ,.'-]*)?", text)
        return found[0].strip() if found else "no encrypted connection"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    if _kind(error) == "unreachable":
        return "the connection was lost"
    # Of the server: code=2200 [Invalid query] message="..."
    found = re.search(r'message="([^\n]*)"', text)
    text = found[1] if found else text.partition("\n")[0]
    return re.sub(r"^User \S+ has", "this user has", text)[:200] or name


def _inner(error: Any) -> list[BaseException]:
    found = error.errors.values() if isinstance(error.errors, dict) else error.errors
    return [inner for inner in found if isinstance(inner, BaseException)]


def _is_tls(error: BaseException) -> bool:
    """Return whether it is about TLS; the driver makes plain errors of them, with their text."""
    signs = "[SSL" in str(error) or "CERTIFICATE" in str(error)
    return isinstance(error, ssl.SSLError) or (isinstance(error, OSError) and signs)
