"""The package cassandra-driver: the one place that imports it and knows its errors."""

from __future__ import annotations

import errno
import logging
import os
import re
import ssl
from typing import Any

from neardup.errors import DependencyError, SpecError
from neardup.stores.cassandra_place import Place, login, setting, tls

__all__ = ["CONNECT_SECONDS", "Driver"]

CONNECT_SECONDS = 10.0
_REQUEST_SECONDS = 10.0
_LEVELS = ("ONE", "LOCAL_ONE", "QUORUM", "LOCAL_QUORUM", "ALL")

#: What kinds of errors mean; the others are said in their own words.
_REASONS = {
    "OperationTimedOut": "no answer",
    "ReadTimeout": "reading took too long",
    "WriteTimeout": "writing took too long",
    "Unavailable": "too few of its nodes are up",
    "OverloadedErrorMessage": "it has too much to do",
    "IsBootstrappingErrorMessage": "it is still starting",
    "UnresolvableContactPoints": "no such host",
}


class Driver:
    """Connects, and says what errors are about.

    Raises:
        SpecError: The environment names another level of consistency.
        DependencyError: The package is not installed, or has nothing to run its events.
    """

    def __init__(self) -> None:
        # What it logs is for those who listen; without a handler Python prints it to stderr.
        logging.getLogger("cassandra").addHandler(logging.NullHandler())
        try:
            import cassandra
            from cassandra import cluster, connection, protocol
        except ImportError as error:
            raise DependencyError(
                "Cassandra needs the package cassandra-driver, which is not installed",
                "pip install 'neardup[cassandra]'",
            ) from error
        except Exception as error:  # its own, from Python 3.12 on: nothing to run its events
            raise DependencyError(
                "cassandra-driver was installed without libev, which Python 3.12 and later need",
                "install libev and its headers, then pip install --force-reinstall "
                "cassandra-driver; or use Python 3.11",
            ) from error
        self._cassandra = cassandra
        self._cluster = cluster
        self._connection = connection
        self._protocol = protocol
        name = setting("CONSISTENCY") or "LOCAL_QUORUM"
        if name.upper() not in _LEVELS:
            raise SpecError(
                f"NEARDUP_CASSANDRA_CONSISTENCY is {name!r}, expected one of {', '.join(_LEVELS)}"
            )
        self.level = getattr(cassandra.ConsistencyLevel, name.upper())
        self.serial = cassandra.ConsistencyLevel.LOCAL_SERIAL

    def connect(self, place: Place) -> tuple[Any, Any]:
        """Return a cluster, which is to be shut down, and a session of it."""
        from cassandra.auth import PlainTextAuthProvider
        from cassandra.policies import (
            ConstantReconnectionPolicy,
            DCAwareRoundRobinPolicy,
            FallthroughRetryPolicy,
            TokenAwarePolicy,
        )
        from cassandra.query import tuple_factory

        profile = self._cluster.ExecutionProfile(
            load_balancing_policy=TokenAwarePolicy(
                DCAwareRoundRobinPolicy(local_dc=setting("DATACENTER"))
            ),
            retry_policy=FallthroughRetryPolicy(),  # the session sends again itself
            consistency_level=self.level,
            serial_consistency_level=self.serial,
            request_timeout=_REQUEST_SECONDS,
            row_factory=tuple_factory,
        )
        user, password = login(place)
        cluster = self._cluster.Cluster(
            contact_points=list(place.hosts),
            port=place.hosts[0][1],
            auth_provider=PlainTextAuthProvider(user, password) if user else None,
            ssl_context=tls(),
            execution_profiles={self._cluster.EXEC_PROFILE_DEFAULT: profile},
            reconnection_policy=ConstantReconnectionPolicy(1.0, None),
            connect_timeout=CONNECT_SECONDS,
            compression=False,  # hashes don't shrink
        )
        try:
            return cluster, cluster.connect()
        except BaseException:
            cluster.shutdown()
            raise

    def batch(self) -> Any:
        from cassandra.query import BatchStatement, BatchType

        batch = BatchStatement(batch_type=BatchType.UNLOGGED, consistency_level=self.level)
        batch.is_idempotent = True
        return batch

    def kind(self, error: BaseException) -> str:
        """What an error is about: credentials, rights, tls, request, unreachable, or passing."""
        package, protocol, connection = self._cassandra, self._protocol, self._connection
        if isinstance(error, self._cluster.NoHostAvailable):
            kinds = {self.kind(inner) for inner in self._inner(error)}
            for kind in ("credentials", "rights", "tls", "request"):
                if kind in kinds:
                    return kind
            return "unreachable"
        if isinstance(error, package.AuthenticationFailed | protocol.BadCredentials):
            return "credentials"
        if isinstance(error, package.Unauthorized | protocol.UnauthorizedErrorMessage):
            return "rights"
        if _of_tls(error):
            return "tls"
        if isinstance(
            error,
            package.RequestValidationException
            | protocol.RequestValidationException
            | package.UnsupportedOperation
            | protocol.ProtocolException,
        ):
            return "request"
        if isinstance(
            error,
            package.UnresolvableContactPoints | connection.ConnectionException | OSError,
        ):
            return "unreachable"
        if isinstance(
            error, package.DriverException | protocol.ErrorMessage | connection.ConnectionBusy
        ):
            return "passing"
        return "unknown"

    def may_pass(self, error: BaseException) -> bool:
        if isinstance(error, self._cassandra.UnresolvableContactPoints):
            return False
        return self.kind(error) in ("unreachable", "passing")

    def reason(self, error: BaseException) -> str:
        """Say in a few words what is wrong, without what the driver wraps around it."""
        if isinstance(error, self._cluster.NoHostAvailable):
            inner = self._inner(error)
            # One that says more than that the connection is gone.
            told = [self.reason(e) for e in inner if isinstance(e, OSError)]
            told += [self.reason(e) for e in inner]
            return told[0] if told else "the connection was lost"
        name = type(error).__name__
        if name in _REASONS:
            return _REASONS[name]
        said = str(error)
        if _of_tls(error):
            found = re.search(r"certificate verify failed(?:: [\w ,.'-]*)?", said)
            return found[0].strip() if found else "no encrypted connection"
        if isinstance(error, OSError) and error.errno:
            return os.strerror(error.errno).lower()
        if isinstance(error, self._connection.ConnectionException):
            return "the connection was lost"
        # Of the server: code=2200 [Invalid query] message="..."
        found = re.search(r'message="([^\n]*)"', said)
        said = found[1] if found else said.partition("\n")[0]
        return re.sub(r"^User \S+ has", "this user has", said)[:200] or name

    def _inner(self, error: Any) -> list[BaseException]:
        found = error.errors.values() if isinstance(error.errors, dict) else error.errors
        return [inner for inner in found if isinstance(inner, BaseException)]


def _of_tls(error: BaseException) -> bool:
    """Whether it is of TLS; the driver makes others of them, with its text and number."""
    if isinstance(error, ssl.SSLError):
        return True
    return isinstance(error, OSError) and (
        "[SSL" in str(error) or (error.errno == errno.EPERM and "CERTIFICATE" in str(error))
    )
