"""`neardup.connect`: the methods, types and errors of `Index`, over HTTP."""

from __future__ import annotations

import importlib.util
import inspect
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from serve_process import Service, require_serve, serving

import neardup
from neardup.cli import main
from neardup.client.transport import Transport
from neardup.errors import StoreError, TokenError

require_serve()

TEXTS = [f"w{i % 9} w{i % 4} b{i % 6} c d e{i % 3} f" for i in range(120)]


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text("a-token-of-this-test-0123456789\n")
    return path


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, token: Path) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("client") / "client.index"
    neardup.Index.create(folder, shingle="word:2", threshold=0.6).close()
    with serving(folder, "--token-file", str(token), "--max-documents", "32") as found:
        yield found


@pytest.fixture(scope="module")
def pair(service: Service, token: Path) -> Iterator[tuple[neardup.Index, neardup.RemoteIndex]]:
    local = neardup.Index.create(shingle="word:2", threshold=0.6)
    with neardup.connect(service.url, token=token.read_text().strip()) as remote:
        for index in (local, remote):
            index.add_if_new(TEXTS, ids=[f"t{i}" for i in range(len(TEXTS))])
        yield local, remote


CALLS: dict[str, Callable[[Any], Any]] = {
    "add_if_new": lambda i: i.add_if_new(TEXTS[:50], ids=[f"again{n}" for n in range(50)]),
    "one": lambda i: i.add_if_new("one-x", "never seen before at all"),
    "the same": lambda i: i.add_if_new("one-x", "never seen before at all"),
    "another text": lambda i: i.add_if_new("one-x", "w w w w"),
    "another kind": lambda i: i.add_if_new(7, "w w w w"),
    "no text": lambda i: i.add_if_new("q", None),
    "half a pair": lambda i: i.add_if_new("q", "\ud800"),
    "a table": lambda i: i.add_if_new(
        pa.table({"n": ["p", "q"], "t": ["ta tb tc", "td te tf"]}), id="n", column="t"
    ),
    "no documents": lambda i: i.add_if_new([], ids=[]),
    "query": lambda i: i.query(TEXTS[:80]),
    "top": lambda i: i.query(TEXTS[:80], top=1),
    "of one": lambda i: i.query(TEXTS[0], threshold=0.9),
    "of none": lambda i: i.query([]),
    "of nothing similar": lambda i: i.query("zz yy xx"),
    "a table of queries": lambda i: i.query(pa.table({"k": range(90), "text": TEXTS[:90]}), id="k"),
    "low threshold": lambda i: i.query("x", threshold=0.1),
    "bad threshold": lambda i: i.query("x", threshold="0.7"),
    "bad top": lambda i: i.query("x", top=0),
    "first_matches": lambda i: i.first_matches(TEXTS[:90]),
    "is_duplicate": lambda i: [i.is_duplicate(t) for t in (TEXTS[3], "zz yy xx")],
    "get": lambda i: i.get("t0"),
    "get of none": lambda i: i.get("nobody"),
    "explain": lambda i: i.explain("never seen before at last", "one-x"),
    "explain of none": lambda i: i.explain("x", "nobody"),
    "contains": lambda i: ["one-x" in i, "nobody" in i, 1.5 in i],
    "ids": lambda i: i.ids(),
    "len": len,
    "spelled": lambda i: i.spelled(["1", "x"]),
    "buckets": lambda i: sorted(map(sorted, i.buckets())),
    "buckets with keys": lambda i: sorted(i.buckets(keys=True)),
    "bad buckets": lambda i: list(i.buckets(0)),
    "spec": lambda i: i.spec,
    "recipe": lambda i: i.recipe,
    "update": lambda i: i.update("t0", "another text for the first"),
    "update if new": lambda i: i.update("one-x", TEXTS[1], if_new=True),
    "update of none": lambda i: i.update("nobody", "x"),
    "add": lambda i: i.add(["ad1 ad2", "ad3 ad4"], ids=["ad1", "ad2"]),
    "add one": lambda i: i.add("single", "a text of one document"),
    "add one again": lambda i: i.add("single", text="a text of one document"),
    "replace one": lambda i: i.add("single", "another text of it", on_conflict="replace"),
    "get one": lambda i: i.get("single"),
    "add one of another kind": lambda i: i.add(8, "x"),
    "add one without a text": lambda i: i.add("single"),
    "add one of no text": lambda i: i.add("single-2", None),
    "add one in both forms": lambda i: i.add("single-2", "x", ids=["single-2"]),
    "add one with a column": lambda i: i.add("single-2", "x", id="k"),
    "new one in both forms": lambda i: i.add_if_new("single-2", "x", ids=["single-2"]),
    "a column by its place": lambda i: i.add(pa.table({"n": ["pl"], "t": ["ti tj"]}), "t", id="n"),
    "add again": lambda i: i.add(["ad1 ad2"], ids=["ad1"]),
    "skip": lambda i: i.add(["ad1 ad2", "n n"], ids=["ad1", "ad9"], on_conflict="skip"),
    "replace": lambda i: i.add(["ad1 ad2 ad3"], ids=["ad1"], on_conflict="replace"),
    "bad conflict": lambda i: i.add(["x"], ids=["y"], on_conflict="no"),
    "twice": lambda i: i.add(["x", "y"], ids=["y", "y"]),
    "remove": lambda i: i.remove("t1"),
    "remove several": lambda i: i.remove(["ad1", "ad2"]),
    "remove many": lambda i: i.remove([f"t{n}" for n in range(2, 100)]),
    "remove of none": lambda i: i.remove(["ad1"]),
    "a keyword that is none": lambda i: i.add(["x"], idz=["y"]),
    "compact": lambda i: i.compact(),
    "check": lambda i: i.check(),
    "without ids": lambda i: i.add(["x"]),
}


def outcome(call: Callable[[Any], Any], index: Any) -> Any:
    try:
        found = call(index)
    except neardup.NeardupError as error:
        return type(error), error.message.replace("RemoteIndex", "Index")
    return (found.schema, found.to_pylist()) if isinstance(found, pa.Table) else found


@pytest.mark.parametrize("name", CALLS)
def test_it_answers_as_an_index_does(pair: Any, name: str) -> None:
    local, remote = pair
    assert outcome(CALLS[name], remote) == outcome(CALLS[name], local)


def test_it_has_the_methods_of_an_index() -> None:
    made = {"create", "open", "from_run"}
    for name, method in inspect.getmembers(neardup.Index, inspect.isfunction):
        if name.startswith("_") or name in made:
            continue
        ours = inspect.signature(getattr(neardup.RemoteIndex, name))
        assert list(ours.parameters) == list(inspect.signature(method).parameters), name


def test_all_numbers_are_there(pair: Any) -> None:
    local, remote = pair
    assert remote.stats().keys() == local.stats().keys()
    with pytest.raises(neardup.SpecError, match="can't be merged"):
        remote.merge(local)


def test_a_long_call_takes_as_long_as_it_likes(
    pair: Any, service: Service, token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with neardup.connect(service.url, token=token.read_text().strip(), retries=0) as remote:
        monkeypatch.setattr(remote._transport, "_timeout", 1e-6)
        remote.compact()
        assert remote.check() == []


def test_a_wrong_token_is_refused(service: Service) -> None:
    for token in (None, "a-token-of-this-test-012345678x", "ä"):
        with pytest.raises(TokenError, match="the token is missing or wrong"):
            neardup.connect(service.url, token=token)
    status, found, headers = service.call("GET", "/v1/stats")
    assert (status, found["error"], headers["www-authenticate"]) == (401, "TokenError", "Bearer")
    assert service.call("GET", "/openapi.json")[0] == 401
    assert service.call("POST", "/", {})[0] == 405
    status, page, _ = service.call("GET", "/")
    assert status == 200 and b"/v1/query" in page
    assert service.call("GET", "/", headers={"Host": "evil.example"})[0] == 421
    assert service.call("GET", "/metrics")[0] == 401
    assert service.call("GET", "/healthz")[0] == 200


def test_what_can_not_be_reached(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't be reached, or gave no answer"):
        neardup.connect("http://127.0.0.1:9", retries=0)
    with pytest.raises(neardup.SpecError, match="not one of HTTP"):
        neardup.connect("ftp://127.0.0.1")


def test_only_calls_that_may_be_repeated_are() -> None:
    """A server that takes calls and gives no answer, and then one that asks for patience."""
    asked: list[str] = []
    busy = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n"
    answers = {"silent": b"", "busy": busy + b"Connection: close\r\n\r\n"}

    def serve(listening: socket.socket, answer: bytes) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection:
                    asked.append(connection.recv(1 << 16).split()[1].decode())
                    connection.sendall(answer)

    calls: dict[str, Callable[[neardup.RemoteIndex], Any]] = {
        "get": lambda i: i.get("x"),
        "add_if_new": lambda i: i.add_if_new("x", "y"),
        "add": lambda i: i.add(["x"], ids=["x"]),
        "update": lambda i: i.update("x", "y"),
        "remove": lambda i: i.remove("x"),
    }
    for kind, answer in answers.items():
        with socket.create_server(("127.0.0.1", 0)) as listening:
            threading.Thread(target=serve, args=(listening, answer), daemon=True).start()
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            index = neardup.RemoteIndex(Transport(url, None, 20, 2))
            vars(index)["_about"] = {
                "max_documents": 9, "max_body": 999, "spec": neardup.Spec().as_dict(),
            }  # fmt: skip
            for name, call in calls.items():
                asked.clear()
                with pytest.raises(StoreError):
                    call(index)
                again = kind == "busy" or name in ("get", "add_if_new")
                assert asked == [f"/v1/{name}"] * (3 if again else 1), kind
            listening.shutdown(socket.SHUT_RDWR)


def test_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "urllib3", None)
    with pytest.raises(neardup.DependencyError, match="needs urllib3"):
        neardup.connect("http://127.0.0.1:9")


def test_the_command_without_its_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        main(["serve", "an.index"])
    assert "neardup serve needs httptools" in capsys.readouterr().err


def test_after_it_was_closed(service: Service, token: Path) -> None:
    index = neardup.connect(service.url, token=token.read_text().strip())
    index.close()
    with pytest.raises(StoreError, match="was closed"):
        len(index)
