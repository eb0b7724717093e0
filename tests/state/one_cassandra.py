"""One Cassandra server for all tests that need one, whichever process starts it first.

It wants TLS and a password, and knows a user who may do everything, and one, ``nobody``, who may
do nothing. It runs as long as a test process uses it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

#: Set by `make test-cassandra`: a server keeps a core busy for a minute.
START = "NEARDUP_START_CASSANDRA"
SCRIPT = Path(__file__).parents[2] / "tools/cassandra.py"
NOT_HERE = 3
#: Of the user who may do everything; no message may quote either.
USER, PASSWORD = "anna", "zebrafinch"


@dataclass(frozen=True)
class Server:
    """The server of a folder.

    Attributes:
        folder: Of its data.
        url: With a keyspace for tests, without a login.
    """

    folder: Path
    url: str

    @property
    def authority(self) -> dict[str, str]:
        """Settings of the environment that make it trusted."""
        return {"NEARDUP_CASSANDRA_CA": str(self.folder / "server.pem")}

    @property
    def settings(self) -> dict[str, str]:
        """Those that let a client in."""
        return {**self.authority, **login(USER, PASSWORD)}

    def start(self) -> None:
        assert script("start", self.folder).returncode == 0

    def stop(self, *how: str) -> None:
        assert script("stop", self.folder, *how).returncode == 0


def login(user: str, password: str) -> dict[str, str]:
    """Settings of the environment."""
    return {"NEARDUP_CASSANDRA_USER": user, "NEARDUP_CASSANDRA_PASSWORD": password}


def script(verb: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the script that starts and stops servers; for its exit codes see there."""
    arguments = [sys.executable, str(SCRIPT), verb, "--folder", str(folder), *more]
    if verb == "start":
        arguments += ["--secure", "--quick", "--jars-seconds", "90"]
    # Its own limits are shorter; this one is for what nobody thought of.
    return subprocess.run(arguments, capture_output=True, text=True, timeout=240)


@contextmanager
def shared_server(factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Lend the server of this test session; skips, with the reason, where none can be had."""
    if not os.environ.get(START):
        pytest.skip("no Cassandra server is started: make test-cassandra")
    pytest.importorskip("cassandra.cluster", reason="cassandra-driver is not installed")
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # all workers have it
    folder, users = root / "cassandra", root / "cassandra-users"
    users.mkdir(exist_ok=True)
    me = users / uuid.uuid4().hex
    with FileLock(root / "cassandra.lock"):
        started = script("start", folder)
        if started.returncode == NOT_HERE:
            pytest.skip(started.stderr.strip())
        assert started.returncode == 0, started.stderr
        server = Server(folder, started.stdout.strip().rpartition("/")[0] + "/neardup_tests")
        me.touch()
        if len(list(users.iterdir())) == 1:
            make_users(server)
    try:
        yield server
    finally:
        with FileLock(root / "cassandra.lock"):
            me.unlink()
            if not list(users.iterdir()):
                server.stop("--now")


def make_users(server: Server) -> None:
    """Make both users, by the one that a server has from the beginning."""
    with pytest.MonkeyPatch.context() as here:
        for name, value in {**server.authority, **login("cassandra", "cassandra")}.items():
            here.setenv(name, value)
        change(
            server.url,
            f"CREATE ROLE IF NOT EXISTS {USER} WITH PASSWORD = '{PASSWORD}' AND LOGIN = true",
            f"GRANT ALL PERMISSIONS ON ALL KEYSPACES TO {USER}",
            "CREATE ROLE IF NOT EXISTS nobody WITH PASSWORD = 'nothing' AND LOGIN = true",
        )


def change(url: str, *statements: str) -> None:
    """Send statements that change the server."""
    from neardup.state.cassandra.driver import Contact
    from neardup.state.cassandra.session import Session

    session = Session(Contact.parse(url))
    session.open()
    for statement in statements:
        session.change(statement)
    session.close()
