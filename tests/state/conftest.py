"""The Cassandra server for the tests that need one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from one_cassandra import Server, shared_server


@pytest.fixture(scope="session")
def cassandra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose URL is in the environment, for the processes that tests start too."""
    with shared_server(tmp_path_factory) as server, pytest.MonkeyPatch.context() as here:
        here.setenv("NEARDUP_TEST_CASSANDRA", server.url)
        yield server


@pytest.fixture
def let_in(cassandra: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server, with settings of the environment that let clients in."""
    for name, value in cassandra.settings.items():
        monkeypatch.setenv(name, value)
    assert os.environ["NEARDUP_TEST_CASSANDRA"]
    return cassandra
