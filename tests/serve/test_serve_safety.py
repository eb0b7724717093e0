"""Who is answered, what a call may have, and how the service starts and ends."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from serve_process import Service, require_serve, serving

import neardup
from common import Command
from neardup.files.temporary_folder import temporary_folder

require_serve()

SECONDS = 2.0  # of a call
DOCUMENT = {"documents": [{"id": "d", "text": "one two three four"}]}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("safety") / "safety.index"
    with neardup.Index.create(folder, shingle="word:2", threshold=0.5) as made:
        made.add_if_new("a", "some text that is there")
    return folder


@pytest.fixture(scope="module")
def service(index: Path) -> Iterator[Service]:
    options = ("--max-queue", "3", "--call-timeout", str(SECONDS), "--allow-host", "Index.example")
    with serving(index, *options) as found:
        yield found


def test_names_of_the_host(service: Service) -> None:
    for host in ("localhost", f"127.0.0.1:{service.port}", "[::1]:80", "index.example:443"):
        assert service.call("GET", "/v1/stats", headers={"Host": host})[0] == 200, host
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", ""):
        status, found, _ = service.call("GET", "/v1/stats", headers={"Host": host})
        assert (status, found["title"]) == (421, "Misdirected Request"), host


def said(service: Service, lines: str) -> tuple[int, dict[str, Any]]:
    """Send lines of HTTP, each ended here; return the status and the body of the answer."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(lines.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("name", ["Host", "Authorization", "Content-Type"])
def test_a_header_that_is_there_twice(service: Service, name: str) -> None:
    values = {"Host": "localhost", "Authorization": "Bearer x", "Content-Type": "application/json"}
    head = "\n".join(f"{key}: {value}" for key, value in values.items())
    once = f"GET /v1/stats HTTP/1.1\n{head}"
    assert said(service, once)[0] == 200
    for first in (values[name], "evil.example"):
        twice = once.replace(f"{name}:", f"{name.lower()}: {first}\n{name}:")
        status, found = said(service, twice)
        assert (status, found["error"]) == (400, "RequestError")
        assert found["detail"] == f"the header {name.lower()} is there more than once"


def test_what_is_no_http_is_an_error_as_all_are(service: Service) -> None:
    for lines in ("GET", "GET /v1/stats HTTP/1.1\nHost: localhost\nX: " + "x" * 100_000):
        status, found = said(service, lines)
        assert (status, found["status"], found["error"]) == (400, 400, "RequestError")


def test_no_page_of_another_site_may_ask(service: Service) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    status, _, headers = service.call("OPTIONS", "/v1/query", headers=asked)
    assert status == 405
    _, _, answered = service.call("GET", "/v1/stats", headers={"Origin": "http://evil.example"})
    assert not any(name.startswith("access-control") for name in {**headers, **answered})


def test_large_bodies_and_headers(service: Service) -> None:
    large = {"Content-Length": str(100 << 20), "Content-Type": "application/json"}
    assert service.call("POST", "/v1/query", b"{", large)[0] == 413
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    with closing(connection):
        parts = (b" " * (1 << 20) for _ in range(100))
        with suppress(BrokenPipeError):
            connection.request("POST", "/v1/query", parts, {"Content-Type": "application/json"})
        assert connection.getresponse().status == 413
    assert service.call("GET", "/v1/stats", headers={"X": "x" * 100_000})[0] == 400


@pytest.mark.long
def test_a_client_that_sends_slowly_holds_nobody_up(service: Service) -> None:
    begun = []
    for sent in (b"POST /v1/qu", b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\n"
                 b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"):  # fmt: skip
        begun.append(socket.create_connection(("127.0.0.1", service.port), timeout=20))
        begun[-1].sendall(sent)
    begin = time.monotonic()
    assert service.post("query", {"texts": ["some text"]})[0] == 200
    assert time.monotonic() - begin < SECONDS
    assert begun[0].recv(100) == b""
    assert begun[1].recv(100).startswith(b"HTTP/1.1 408 ")
    for connection in begun:
        connection.close()


def test_a_client_that_ends_in_the_middle(service: Service) -> None:
    for sent in (b"POST /v1/add_if_new HTTP/1.1\r\nHost: localhost\r\n"
                 b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
                 b"POST /v1/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                 b"Content-Type: application/x-ndjson\r\n\r\n5\r\n{\"id\""):  # fmt: skip
        connection = socket.create_connection(("127.0.0.1", service.port), timeout=20)
        connection.sendall(sent)
        connection.close()
    assert service.post("add_if_new", DOCUMENT)[0] == 200
    assert "Traceback" not in service.log.read_text()


def test_many_connections(service: Service) -> None:
    many = [socket.create_connection(("127.0.0.1", service.port), timeout=20) for _ in range(1000)]
    try:
        line = b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for connection in many[::50]:
            connection.sendall(line)
        for connection in many[::50]:
            assert connection.recv(20).startswith(b"HTTP/1.1 200 ")
    finally:
        for connection in many:
            connection.close()


@pytest.mark.long
def test_more_connections_than_are_allowed_and_what_is_waited_for(tmp_path: Path) -> None:
    """Few connections are allowed, and kernels seem to be compiled, which the log says."""
    before = """
import functools as f, neardup.serve.settings as s
import neardup.api.indexes.index_warming as w, neardup.announcing as a
s.CallLimits, old = f.partial(s.CallLimits, connections=3), w.Index.create
w.Index.create = lambda *g, **k: (a.announce_compiling(), old(*g, **k))[1]
"""
    neardup.Index.create(tmp_path / "i", shingle="word:2", threshold=0.5).close()
    service = Service(tmp_path / "i", before=before)
    try:
        service.wait()
        many = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(3)]
        end = time.monotonic() + 20
        while service.call("GET", "/v1/stats")[0] == 200:  # connections are taken one by one
            assert time.monotonic() < end
        status, found, headers = service.call("GET", "/v1/stats")
        assert (status, found["error"]) == (503, "UnavailableError")
        assert (headers["retry-after"], headers["connection"]) == ("1", "close")
        for connection in many:
            connection.close()
        service.wait()
    finally:
        assert service.stop() == 0
    said = service.log.read_text()
    (line,) = (line for line in said.splitlines() if "compiling kernels" in line)
    assert " INFO compiling kernels, " in line and "/readyz answers 503 until it is done" in line
    assert len(re.findall(r"INFO ready after \d+\.\d s: ", said)) == 1


def test_too_much_waits_for_the_writer(service: Service, index: Path) -> None:
    answers: list[tuple[int, Any, dict[str, str]]] = []

    def ask(number: int) -> None:
        body = {"documents": [{"id": f"q{number}", "text": f"q{number} text of this one"}]}
        answers.append(service.call("POST", "/v1/add_if_new", body))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    with neardup.Index.open(index) as other, other._core.writing():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(0.7)
            if not thread.is_alive():
                break
        # The index can be read all the time.
        assert service.post("is_duplicate", {"text": "some text that is there"})[0] == 200
        for thread in threads:
            thread.join()
    assert sorted(status for status, _, _ in answers) == [429, 503, 503, 503]
    assert {found["error"] for _, found, _ in answers} == {"UnavailableError"}
    assert all(headers["retry-after"] == "1" for _, _, headers in answers)
    ids = {"ids": [f"q{number}" for number in range(4)]}
    assert service.post("contains", ids)[1] == {"contained": [False] * 4}
    assert service.post("add_if_new", DOCUMENT)[0] == 200


def begun_stream(service: Service, lines: bytes) -> socket.socket:
    """Give a connection by which some lines were sent, and more could follow."""
    connection = socket.create_connection(("127.0.0.1", service.port), timeout=20)
    connection.sendall(
        b"POST /v1/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: application/x-ndjson\r\n\r\n%x\r\n%b\r\n" % (len(lines), lines)
    )
    return connection


def test_clients_that_go_away_leave_the_queue_full(service: Service, index: Path) -> None:
    gone = 'neardup_calls_total{call="stream",status="499"}'
    before = service.metric(gone)
    with neardup.Index.open(index) as other, other._core.writing():
        for number in range(3):
            with begun_stream(service, b'{"id": "s%d", "text": "some %d"}\n' % (number, number)):
                service.until("neardup_queue_calls", number + 1)
        service.until(gone, before + 3)
        assert service.metric("neardup_queue_calls") == 3
        assert service.post("add_if_new", DOCUMENT)[0] == 429
    end = time.monotonic() + 30
    while service.metric("neardup_queue_calls"):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert service.post("add_if_new", DOCUMENT)[0] == 200


def test_a_stream_writes_only_once_what_was_before_is_committed(
    service: Service, index: Path
) -> None:
    lines = b"".join(b'{"id": "u%d", "text": "u%d of %d"}\n' % (n, n, n) for n in range(1000))
    names = "neardup_commit_calls_sum", "neardup_commit_calls_count"
    before = [service.metric(name) for name in names]
    with neardup.Index.open(index) as other, other._core.writing():
        stream = begun_stream(service, lines + lines)
        service.until("neardup_queue_calls", 1)
        time.sleep(0.3)
        assert service.metric("neardup_queue_calls") == 1
    stream.sendall(b"0\r\n\r\n")
    said = b""
    while not said.endswith(b"0\r\n\r\n"):
        said += stream.recv(1 << 16)
    stream.close()
    assert said.count(b'"kept": true') == 2000  # the second time they are answered as before
    calls, commits = (service.metric(name) - last for name, last in zip(names, before, strict=True))
    assert calls == commits >= 8


def test_a_stream_takes_no_more_than_it_writes(service: Service, index: Path) -> None:
    line = b'{"id": "v%d", "text": "' + b"v " * 500 + b'"}\n'
    with neardup.Index.open(index) as other, other._core.writing():
        stream, sent = begun_stream(service, line % 0), 0
        stream.settimeout(0.5)
        with suppress(TimeoutError):
            while sent < 100 << 20:
                part = b"".join(line % (sent + n) for n in range(1, 257))
                stream.sendall(b"%x\r\n%b\r\n" % (len(part), part))
                sent += len(part)
        stream.close()
    assert sent < 32 << 20
    assert service.post("is_duplicate", {"text": "some text that is there"})[0] == 200


@pytest.mark.long
def test_what_was_begun_is_answered_before_it_ends(tmp_path: Path) -> None:
    neardup.Index.create(tmp_path / "i", shingle="word:2", threshold=0.5).close()
    answers = []
    with serving(tmp_path / "i") as service:
        ask = threading.Thread(target=lambda: answers.append(service.post("add_if_new", DOCUMENT)))
        with neardup.Index.open(tmp_path / "i") as other:
            with other._core.writing():
                ask.start()
                time.sleep(0.5)
                service.process.terminate()
                time.sleep(0.5)
            ask.join()
        assert service.process.wait(30) == 0
    assert answers[0][0] == 200
    with neardup.Index.open(tmp_path / "i", readonly=True) as found:
        assert found.ids().to_pylist() == ["d"]


@pytest.mark.long
def test_a_process_that_answers_is_started_again(index: Path) -> None:
    import psutil

    """The first two times it does not start."""
    which = "('/nowhere', '/bin/false', real)[min(count, 2)]"
    service = Service(index, "--readonly", before=FALSE.format(which=which))
    try:
        service.wait()
        said = service.log.read_text()
        assert "has ended with No such file or directory; it is started again" in said
        assert "has ended with 1; it is started again" in said
        assert service.post("add_if_new", DOCUMENT)[0] == 403
        assert service.post("remove", {"ids": ["a"]})[0] == 403
        assert service.post("get", {"id": "a"})[0] == 200
        for child in psutil.Process(service.process.pid).children():
            child.kill()
        time.sleep(0.2)
        service.wait()
        assert service.post("get", {"id": "a"})[0] == 200
        service.kill()  # the others end too
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", service.port)):
                    return
            time.sleep(0.05)
        raise AssertionError("a process goes on without the one that writes")
    finally:
        service.stop()


@pytest.mark.long
def test_the_temporary_folder_of_a_killed_service_is_removed(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    killed = Service(index, "--readonly").wait()
    (left,) = tmp_path.glob("neardup-serve-*")
    os.killpg(killed.process.pid, signal.SIGKILL)
    killed.process.wait()
    assert list(left.glob("*.db"))
    # What may belong to others is without the file that is locked.
    (tmp_path / "neardup-serve-of-others").mkdir()
    (tmp_path / "neardup-serve-a-link").symlink_to(left)
    others = {"neardup-serve-of-others", "neardup-serve-a-link"}
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with serving(index, "--readonly") as first:
        assert not left.exists()
        (its,) = {path.name for path in tmp_path.glob("neardup-serve-*")} - others
        with temporary_folder("serve"):  # as of another service
            assert (tmp_path / its).is_dir()
            assert first.metric('neardup_calls_total{call="other",status="200"}') > 0
    assert {path.name for path in tmp_path.glob("neardup-serve-*")} == others


@pytest.mark.long
def test_a_command_that_makes_an_index_compiles_for_the_service(
    kernels: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a copy of the package, from which two kernels are gone that no empty index calls."""
    shutil.copytree(Path(neardup.__file__).parent, tmp_path / "neardup")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    for kernel in ("keep_reachable", "find_in_blocks"):
        for path in tmp_path.rglob(f"*.{kernel}-*.nb[ci]"):
            path.unlink()
    command = [sys.executable, "-m", "neardup", "index", "create", str(tmp_path / "i")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "compiling kernels" in done.stderr
    with serving(tmp_path / "i") as service:
        assert service.post("add_if_new", DOCUMENT)[0] == 200
    assert "compiling" not in service.log.read_text()


FALSE = """
import sys, neardup.serve.supervisor as found
found._PAUSE, real, count = 1e-3, sys.executable, 0
async def run_one(self, *given, run_one=found._Supervisor._run_one):
    global count
    count, sys.executable = count + 1, {which}
    return await run_one(self, *given)
found._Supervisor._run_one = run_one
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "message"),
    [
        (FALSE.format(which="'/bin/false'"), "ended 6 times before it was ready, last with 1"),
        ("import neardup.serve.writer as w\nw.Writer._taken = None", "TypeError"),
    ],
)
def test_a_part_that_ends_for_good_ends_the_service(before: str, message: str, index: Path) -> None:
    service = Service(index, before=before)
    try:
        if message == "TypeError":
            with suppress(OSError, http.client.HTTPException):
                service.wait().post("add_if_new", DOCUMENT)
        assert service.process.wait(60) not in (0, -15)
    finally:
        service.stop()
    assert message in service.log.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "192.0.2.1"], "which other machines may reach, and there is no token"),
        (["--host", "0.0.0.0", "--token-file", "TOKEN"], "under which names clients call"),
        (["--token-file", "SHORT"], "the first line is no token"),
        (["--token-file", "NONE"], "can't read"),
        (["--port", "TAKEN"], "address already in use"),
    ],
)
def test_it_refuses_to_start(
    options: list[str],
    message: str,
    index: Path,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "TOKEN").write_text("0123456789abcdef\n")
    (tmp_path / "SHORT").write_text("0123456789abcde\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = [port if word == "TAKEN" else word for word in options]
        done = command("serve", index, *given)
    assert done.code in (1, 2)
    assert message in done.err and "hint: " in done.err
    assert "0123456789abcde" not in done.err


def test_there_is_no_index(tmp_path: Path, command: Command) -> None:
    done = command("serve", tmp_path / "no", "--port", "0")
    assert done.code == 1 and "there is no index" in done.err
