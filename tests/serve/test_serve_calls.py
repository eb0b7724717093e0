"""Calls over HTTP: the answers of the index in process, and the errors that are documented."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serve_process import Service, require_serve, serving

import neardup

require_serve()

A, B = "one two three four five six", "One two, three four five six!"
LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("serve") / "calls.index"
    neardup.Index.create(folder, shingle="word:2", threshold=0.5).close()
    with serving(folder, "--workers", "2", "--max-body", "300kB", "--access-log") as found:
        yield found


def documents(*pairs: tuple[Any, str]) -> dict[str, Any]:
    return {"documents": [{"id": id_, "text": text} for id_, text in pairs]}


def test_every_call_answers(service: Service) -> None:
    status, found = service.post("add_if_new", documents(("a", A), ("b", B), ("c", "x y z")))
    assert status == 200, found
    assert found["id_type"] == "str"
    assert [each["kept"] for each in found["answers"]] == [True, False, True]
    assert found["answers"][1] == {"id": "b", "kept": False, "duplicate_of": "a", "similarity": 1.0}
    assert service.post("add", documents(("d", A + " seven"))) == (200, {"added": 1})
    status, found = service.post("query", {"texts": [A, "nothing of it"], "top": 1})
    assert [each["id"] for each in found["matches"]] == ["a"]
    status, found = service.post("first_matches", {"texts": [A]})
    assert [each["id"] for each in found["matches"]] == ["a"]
    assert service.post("is_duplicate", {"text": B}) == (200, {"duplicate": True})
    assert service.post("get", {"id": "c"}) == (200, {"id": "c", "text": "x y z"})
    assert service.post("contains", {"ids": ["a", "b"]}) == (200, {"contained": [True, False]})
    status, found = service.post("explain", {"id": "a", "other": "d"})
    assert (status, found["only_a"]) == (200, 1)
    assert service.post("explain", {"id": "a", "text": A})[1]["equal"] == "bytes"
    status, found = service.post("update", {"id": "a", "text": "p q r s"})
    assert (status, found["released"]) == (200, ["b"])
    assert service.post("remove", {"ids": ["c", "d"]}) == (200, {"released": []})
    assert service.call("GET", "/v1/stats")[1]["documents"] == 1
    assert service.post("check", {}) == (200, {"problems": []})
    assert service.post("compact", {}) == (200, {})
    assert service.call("GET", "/v1/about")[1]["spec"]["threshold"] == 0.5
    assert service.call("GET", "/v1/ids")[1] == b'"a"\n'
    assert service.call("GET", "/v1/buckets?minimum=0")[0] == 422
    assert service.call("GET", "/v1/buckets?minimum=1")[1].startswith(b'["a"]\n')
    assert service.call("GET", "/v1/buckets?keys=maybe")[0] == 422


@pytest.mark.parametrize(
    ("name", "body", "status", "error"),
    [
        ("get", {"id": "zz"}, 404, "UnknownIdError"),
        ("remove", {"ids": ["zz"]}, 404, "UnknownIdError"),
        ("update", {"id": "zz", "text": "t"}, 404, "UnknownIdError"),
        ("explain", {"id": "zz", "text": "t"}, 404, "UnknownIdError"),
        ("explain", {"id": "zz"}, 422, "SpecError"),
        ("query", {"texts": ["t"], "threshold": 0.1}, 422, "SpecError"),
        ("query", {"texts": ["t"], "threshold": 0}, 422, "InputError"),
        ("query", {"texts": ["t"], "top": 0}, 422, "InputError"),
        ("query", {"texts": ["t"], "more": 1}, 422, "InputError"),
        ("query", {"texts": "t"}, 422, "InputError"),
        ("query", {"texts": [["t"]]}, 422, "InputError"),
        ("query", {"texts": ["t"] * 1001}, 413, "RequestError"),
        ("query", {}, 422, "InputError"),
        ("query", {"texts": ["t"], "text": "t"}, 422, "InputError"),
        ("query", {"text": None}, 422, "InputError"),
        ("first_matches", {"top": 1}, 422, "InputError"),
        ("add_if_new", {"documents": [], "text": "t"}, 422, "InputError"),
        ("add_if_new", {"id": "x"}, 422, "InputError"),
        ("add_if_new", {"id": "x", "documents": [{"id": "y", "text": "t"}]}, 422, "InputError"),
        ("add", {}, 422, "InputError"),
        ("add", {"text": 7}, 422, "InputError"),
        ("add", {"text": ["t"], "id": "x"}, 422, "InputError"),
        ("first_matches", {"texts": ["t"], "top": 1}, 422, "SpecError"),
        ("add_if_new", documents((True, "t")), 422, "InputError"),
        ("add_if_new", documents((2**63, "t")), 422, "InputError"),
        ("add_if_new", documents((1.5, "t")), 422, "InputError"),
        ("add_if_new", documents(("kind", "t"), (7, "t")), 422, "InputError"),
        ("add_if_new", {"documents": [{"text": "t"}, {"id": "a", "text": "t"}]}, 422, "InputError"),
        ("add", documents(("e", "1 2 3"), ("e", "4 5 6")), 409, "DuplicateIdError"),
        ("add", {**documents(("e", "t")), "on_conflict": "x"}, 422, "InputError"),
        ("get", b"{", 400, "FormatError"),
        ("get", b"[" * 100_000, 422, "InputError"),
        ("get", b'{"id": "\xff"}', 400, "FormatError"),
        ("get", b'{"id": "\\ud800"}', 400, "FormatError"),
        ("get", b'{"id": ' + b"[" * 100_000, 422, "InputError"),
        ("get", b"", 400, "FormatError"),
        ("nothing", {}, 404, "RequestError"),
        ("query", b"x" * 400_000, 413, "RequestError"),
    ],
)
def test_errors(service: Service, name: str, body: object, status: int, error: str) -> None:
    service.post("add_if_new", documents(("seed", "some text that is there")))
    found = service.post(name, body)
    assert found[0] == status, found
    assert found[1]["status"] == status
    assert found[1]["error"] == error


def test_one_document_is_given_as_several_are(service: Service) -> None:
    text, other = "r1 r2 r3 r4 r5 r6", "r1 r2 r3 r4 r5 r6 r7 r8"
    status, found = service.post("add_if_new", {"id": "of-one", "text": text})
    assert (status, found) == service.post("add_if_new", documents(("of-one", text)))
    assert found["answers"][0]["kept"] is True
    assert service.post("add", {"id": "of-one-2", "text": other}) == (200, {"added": 1})
    assert service.post("add", {"id": "of-one", "text": other})[0] == 409
    skipped = {"id": "of-one", "text": other, "on_conflict": "skip"}
    assert service.post("add", skipped) == (200, {"added": 0})
    assert service.post("get", {"id": "of-one"})[1]["text"] == text
    for name in ("query", "first_matches"):
        one = service.post(name, {"text": text})
        assert one == service.post(name, {"texts": [text]})
        assert one[1]["matches"][0]["id"] == "of-one"
    top = service.post("query", {"text": text, "top": 1, "threshold": 0.5})
    assert len(top[1]["matches"]) == 1
    errors = {
        "query": "expected one of `texts` and `text`, and neither is given",
        "add": "expected one of `documents` and `text`, and neither is given",
    }
    for name, detail in errors.items():
        assert service.post(name, {})[1]["detail"] == detail


@pytest.mark.long
def test_one_document_without_an_id(tmp_path: Path) -> None:
    neardup.Index.create(tmp_path / "i", shingle="word:2", threshold=0.5).close()
    with serving(tmp_path / "i") as service:
        assert service.post("add", {"text": "u v w x"}) == (200, {"added": 1})
        status, found = service.post("add_if_new", {"text": "U, v w x!"})
        assert (status, found["answers"][0]["duplicate_of"]) == (200, 0)


def test_an_unknown_field_that_nests_deeply_is_refused(service: Service) -> None:
    assert service.post("get", b'{"x": ' + b"[" * 100_000)[0] in (400, 422)


def test_a_nul_is_a_character(service: Service) -> None:
    status, _ = service.post("add_if_new", documents(("nul\0id", "a\0b c d e f")))
    assert status == 200
    assert service.post("get", {"id": "nul\0id"})[1]["text"] == "a\0b c d e f"


def test_methods_and_types_of_bodies(service: Service) -> None:
    status, found, _ = service.call("GET", "/v1/query")
    assert (status, found["error"]) == (405, "RequestError")
    status, found, _ = service.call(
        "POST", "/v1/query", b'{"texts": []}', {"Content-Type": "text/plain"}
    )
    assert (status, found["hint"]) == (415, "send Content-Type: application/json")
    assert found["error"] == "RequestError"
    json_ = {"Content-Type": "application/json; charset=utf-8"}
    assert service.call("POST", "/v1/query", b'{"texts": []}', json_)[0] == 200
    status, found, _ = service.call("POST", "/v1/query", b'{"texts": ["' + b"x" * 400_000 + b'"]}')
    assert status == 413


def test_the_same_document_again_is_answered_as_before(service: Service) -> None:
    body = documents(("again", "v w x y z v w x"), ("again-2", "v w x y z v w x!"))
    first = service.post("add_if_new", body)
    assert first == service.post("add_if_new", body)
    status, found = service.post("add_if_new", documents(("again", "quite another text than it")))
    assert (status, found["error"]) == (409, "DuplicateIdError")


def test_a_stream_answers_as_the_command_does(service: Service, tmp_path: Path) -> None:
    rows = [
        {"key": f"s{i}", "t": f"s{i % 7} s{i % 7 + 1} ä z{i % 5} sd se", "n": i} for i in range(900)
    ]
    lines = "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(rows))
    neardup.Index.create(tmp_path / "i", shingle="word:2", threshold=0.5).close()
    command = [sys.executable, "-m", "neardup", "stream", "--index", str(tmp_path / "i")]
    done = subprocess.run(
        [*command, "--id", "key", "--text", "t"],
        input=lines.encode(),
        capture_output=True,
        check=True,
    )
    # No document of another test has these words.
    found = service.call("POST", "/v1/stream?id=key&text=t", lines.encode(), LINES)
    assert found[0] == 200
    assert found[1] == done.stdout


def test_a_stream_answers_line_by_line(service: Service) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    connection.putrequest("POST", "/v1/stream")
    connection.putheader("Content-Type", "application/x-ndjson")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    answer = None
    for number in range(3):
        line = (
            json.dumps({"id": f"line{number}", "text": f"l{number} m{number} n"}).encode() + b"\n"
        )
        connection.send(b"%x\r\n%b\r\n" % (len(line), line))
        if answer is None:
            answer = connection.getresponse()
        assert json.loads(answer.readline())["id"] == f"line{number}"
    connection.send(b"0\r\n\r\n")
    assert answer is not None and answer.read() == b""
    connection.close()


def test_a_stream_ends_with_the_error_of_a_line(service: Service) -> None:
    good = b'{"id": "g1", "text": "g h i j k"}\n'
    status, found, _ = service.call("POST", "/v1/stream", good + b'{"id": 1}\n', LINES)
    lines = found.splitlines()
    assert status == 200 and json.loads(lines[0])["kept"]
    assert json.loads(lines[1])["error"]["detail"] == "the body: line 2 has no field 'text'"
    status, found, _ = service.call("POST", "/v1/stream", b"x\n", LINES)
    assert (status, found["detail"]) == (422, "the body: line 1 is not valid JSON")
    assert service.call("POST", "/v1/stream?id=a&id=b", good, LINES)[0] == 422
    assert service.call("POST", "/v1/stream?more=b", good, LINES)[0] == 422
    assert service.call("POST", "/v1/stream", good)[0] == 415


@pytest.mark.parametrize("name", ["stream", "stream/query"])
@pytest.mark.parametrize(
    "line",
    [
        b'{"id": "h", "text": "\\ud800"}',
        b'{"id": "h", "text": "\xed\xa0\x80"}',
        b'{"id": "\\udfff", "text": "t"}',
        b'{"id": 9223372036854775808, "text": "t"}',
        b'{"id": -9223372036854775809, "text": "t"}',
        b'{"id": 18446744073709551616, "text": "t"}',
        b'{"id": "h", "text": ["t"]}',
    ],
)
def test_half_pairs_and_large_numbers_are_errors_of_their_line(
    service: Service, name: str, line: bytes
) -> None:
    good = b'{"id": "half", "text": "h1 h2 h3 h4"}\n'
    service.post("add_if_new", documents(("half", "h1 h2 h3 h4")))
    status, found, _ = service.call("POST", f"/v1/{name}", good + b"\n" + line + b"\n", LINES)
    answered, error = found.splitlines()
    assert status == 200 and json.loads(answered)["id"] == "half"
    assert json.loads(error)["error"]["status"] in (400, 422)
    assert json.loads(error)["error"]["detail"].startswith("the body: line 3")
    status, found, _ = service.call("POST", f"/v1/{name}", line, LINES)
    assert status in (400, 422) and found["detail"].startswith("the body: line 1")
    assert "ERROR" not in service.log.read_text()


def test_queries_as_a_stream(service: Service) -> None:
    service.post("add_if_new", documents(("q1", "query me if you can please")))
    lines = b'{"text": "query me if you can please"}\n{"id": "me", "text": "query me if you can"}\n'
    status, found, _ = service.call("POST", "/v1/stream/query?top=1", lines, LINES)
    rows = [json.loads(line) for line in found.splitlines()]
    assert status == 200
    assert [(row["query"], row["id"]) for row in rows] == [(0, "q1"), ("me", "q1")]
    for wrong, expected in ((b"[]\n", 422), (b"{\n", 400)):
        assert service.call("POST", "/v1/stream/query", wrong, LINES)[0] == expected
    assert service.call("POST", "/v1/stream/query?top=x", lines, LINES)[0] == 422


def test_metrics_have_counts_and_no_texts(service: Service) -> None:
    secret = "hush-hush-secret-text"
    service.post("add_if_new", documents((secret, f"{secret} and {secret}")))
    service.post("get", {"id": secret + "?"})
    service.call("GET", f"/v1/{secret}?text={secret}")
    status, found, _ = service.call("GET", "/metrics")
    assert status == 200
    assert b'neardup_calls_total{call="add_if_new",status="200"}' in found
    assert b"neardup_index_documents " in found
    assert b"neardup_commit_seconds_count" in found
    assert secret.encode() not in found
    log = service.log.read_text()
    assert "POST add_if_new 200" in log
    assert secret not in log


def test_health(service: Service) -> None:
    assert service.call("GET", "/healthz")[:2] == (200, {"alive": True})
    assert service.call("GET", "/readyz", headers={"Host": "10.0.0.1"})[:2] == (
        200,
        {"ready": True},
    )


def test_the_description_is_openapi_and_names_every_path(service: Service) -> None:
    from openapi_spec_validator import validate

    status, found, _ = service.call("GET", "/openapi.json")
    assert status == 200 and found["openapi"] == "3.1.0"
    validate(found)
    page = service.call("GET", "/")[1].decode()
    for path in found["paths"]:
        assert path in page
