"""Cassandra servers for the tests that need one."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest
from cassandra_server import PASSWORD, USER, Secure, login, server, start


@pytest.fixture(scope="session")
def cassandra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a keyspace for tests; skips, with the reason, where no server can be had.

    The server is of these tests alone: one that somebody else started, somebody else may stop.
    """
    if importlib.util.find_spec("cassandra") is None:
        pytest.skip("cassandra-driver is not installed; make cassandra installs it")
    folder = str(tmp_path_factory.mktemp("cassandra"))
    url = start("--folder", folder).rpartition("/")[0] + "/neardup_tests"
    os.environ["NEARDUP_TEST_CASSANDRA"] = url  # for the processes that tests start
    try:
        yield url
    finally:
        server("stop", "--folder", folder, "--now")


@pytest.fixture(scope="session")
def secure(cassandra: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    """A server with a user who may do everything, and one, ``nobody``, who may do nothing."""
    secure = Secure(tmp_path_factory.mktemp("cassandra"))
    secure.start()
    try:
        with pytest.MonkeyPatch.context() as here:
            for name, value in {**secure.authority, **login("cassandra", "cassandra")}.items():
                here.setenv(name, value)
            change(
                secure.url,
                f"CREATE ROLE {USER} WITH PASSWORD = '{PASSWORD}' AND LOGIN = true",
                f"GRANT ALL PERMISSIONS ON ALL KEYSPACES TO {USER}",
                "CREATE ROLE nobody WITH PASSWORD = 'nothing' AND LOGIN = true",
            )
        yield secure
    finally:
        secure.stop("--now")


def change(url: str, *statements: str) -> None:
    from neardup.stores.cassandra_place import parse
    from neardup.stores.cassandra_session import Session

    session = Session(parse(url), 30.0)
    session.open()
    for statement in statements:
        session.change(statement)
    session.close()
