"""Cassandra servers for tests: the script that starts and stops them, and one of one's own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/cassandra.py"
NOT_HERE = 3
#: Of the user that `Secure` knows; no message may quote either.
USER, PASSWORD = "anna", "zebrafinch"


def server(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script; for its exit codes see there."""
    command = [sys.executable, str(SCRIPT), *arguments]
    # Its own limits are shorter; this one is for what nobody thought of.
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def start(*arguments: str) -> str:
    """Start a server; return its URL. Skips, with the reason, where none can be had."""
    started = server("start", "--quick", "--jars-seconds", "90", *arguments)
    if started.returncode == NOT_HERE:
        pytest.skip(started.stderr.strip())
    assert started.returncode == 0, started.stderr
    return started.stdout.strip()


def login(user: str, password: str) -> dict[str, str]:
    """Settings of the environment."""
    return {"NEARDUP_CASSANDRA_USER": user, "NEARDUP_CASSANDRA_PASSWORD": password}


@dataclass
class Secure:
    """A server in a folder of its own, which wants TLS and a password, and may be stopped."""

    folder: Path
    url: str = ""

    @property
    def authority(self) -> dict[str, str]:
        """Settings of the environment that make it trusted."""
        return {"NEARDUP_CASSANDRA_CA": str(self.folder / "server.pem")}

    @property
    def settings(self) -> dict[str, str]:
        """Those that let a client in."""
        return {**self.authority, **login(USER, PASSWORD)}

    def start(self) -> None:
        self.url = start("--folder", str(self.folder), "--secure")

    def stop(self, *how: str) -> None:
        assert server("stop", "--folder", str(self.folder), *how).returncode == 0
