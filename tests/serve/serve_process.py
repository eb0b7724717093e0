"""A service in processes of its own, on a free port of the loopback address."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_JSON = ("application/json", "application/problem+json")
NEEDED = ("uvicorn", "starlette", "msgspec", "prometheus_client", "uvloop", "httptools", "urllib3")


def require_serve() -> None:
    """Skip the tests of a file where the extra is not installed."""
    for name in NEEDED:
        pytest.importorskip(name, reason=f"neardup[serve] is not installed: no {name}")


class Service:
    """A running ``neardup serve``.

    Args:
        index: The index.
        options: Of the command.
        before: Python code that its first process runs before the command.
    """

    def __init__(self, index: Path, *options: str, before: str = "") -> None:
        self.index, self.log = index, index.with_name(index.name + ".log")
        self.options = options
        code = f"import sys\n{before}\nfrom neardup.cli import main\nmain(sys.argv[1:])"
        with self.log.open("ab") as log:
            self._before = log.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, "serve", str(index), "--port", "0", *options],
                stderr=log,
                start_new_session=True,
            )
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait(self, seconds: float = 120) -> Service:
        """Wait until it is ready."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(self.log.read_text())
            if not self.port:
                said = self.log.read_bytes()[self._before :].decode()
                found = re.findall(r"on http://[^ ]*:(\d+)\n", said)
                self.port = int(found[-1]) if found else 0
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.port and self.call("GET", "/readyz")[0] == 200:
                    return self
            time.sleep(0.05)
        raise AssertionError("it was not ready in time: " + self.log.read_text())

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
        timeout: float = 30,
    ) -> tuple[int, Any, dict[str, str]]:
        """Send a call; return status, parsed body and headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        given: dict[str, str] = {}
        data = body
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body).encode()
        if body is not None:
            given["Content-Type"] = "application/json"
        given |= headers or {}
        with contextlib.closing(connection):
            connection.request(method, path, data, given)  # type: ignore[arg-type]
            answer = connection.getresponse()
            text = answer.read()
            kind = answer.headers.get_content_type()
            found = json.loads(text) if kind in _JSON and text else text
            return answer.status, found, {k.lower(): v for k, v in answer.getheaders()}

    def post(self, name: str, body: object, **headers: str) -> tuple[int, Any]:
        status, found, _ = self.call("POST", f"/v1/{name}", body, headers)
        return status, found

    def metric(self, name: str) -> float:
        """Return a number of /metrics; 0 where it is not there yet."""
        text: bytes = self.call("GET", "/metrics")[1]
        found = re.search(f"^{re.escape(name)} (.*)$", text.decode(), re.MULTILINE)
        return float(found[1]) if found else 0.0

    def until(self, name: str, value: float, seconds: float = 30) -> None:
        """Wait until a number of /metrics has come to a value."""
        end = time.monotonic() + seconds
        while self.metric(name) < value:
            assert time.monotonic() < end, name
            time.sleep(0.02)

    def kill(self) -> None:
        """End it at once, the process that writes first."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """End it by SIGTERM; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


@contextlib.contextmanager
def serving(index: Path, *options: str) -> Iterator[Service]:
    """Give a service that is ready, and end it."""
    service = Service(index, *options)
    try:
        yield service.wait()
    finally:
        service.stop()
