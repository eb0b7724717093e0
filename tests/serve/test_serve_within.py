"""A service of an index within groups: its answers are those of the index, in each call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from serve_process import Service, require_serve, serving

import neardup
from neardup import Index, RemoteIndex, Spec
from neardup.errors import ColumnError, SpecError
from neardup.testing import small_corpora

require_serve()

SPEC = Spec(threshold=0.4, within="group").replace(n=2)
SAME = "one and the same text of seven words"
LINES = "application/x-ndjson"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    Index.create(tmp_path / "i", spec=SPEC).close()
    with serving(tmp_path / "i", "--max-documents", "64") as found:
        yield found


@pytest.fixture
def remote(service: Service) -> Iterator[RemoteIndex]:
    with neardup.connect(service.url) as found:
        yield found


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return small_corpora.random_documents(np.random.default_rng(31), 200)


def answers(found: list[dict[str, Any]]) -> list[Any]:
    return [tuple(row[name] for name in ("kept", "duplicate_of", "similarity")) for row in found]


def test_a_client(rows: pa.Table, remote: RemoteIndex) -> None:
    local = Index.create(spec=SPEC)
    given = rows.to_pydict()
    texts, groups = [text or "" for text in given["text"]], given["group"]
    for low in range(0, 200, 50):
        part, some = rows.slice(low, 50), slice(low, low + 50)
        expected = local.add_if_new(part, id="id")
        found = (
            remote.add_if_new(part, id="id")
            if low % 100
            else remote.add_if_new(texts[some], ids=given["id"][some], group=groups[some])
        )
        assert found.equals(expected)
    assert local.spec == remote.spec
    expected = neardup.dedup(rows, id="id", spec=SPEC).clusters.column("kept")
    assert len(remote) == sum(expected.to_pylist())
    for index in (local, remote):
        index.add([SAME, SAME], ids=["x", "y"], group=["a", 7])
        index.add("z", SAME, group="b")
    calls: list[Any] = [
        lambda i: i.query(rows, id="id").to_pylist(),
        lambda i: i.query(texts, group=groups, top=2).to_pylist(),
        lambda i: i.first_matches(texts, group="a").to_pylist(),
        lambda i: [i.is_duplicate(SAME, group=group) for group in ("a", 7, "7", "c", "", True)],
        lambda i: [i.explain(SAME, "x", group=group).duplicates for group in ("a", 7, "")],
        lambda i: i.update("x", SAME, group="b", if_new=True),
        lambda i: i.add_if_new("w", SAME, group=7),
        lambda i: (i.get("y"), len(i), i.check()),
    ]
    for call in calls:
        assert call(remote) == call(local)
    for index in (local, remote):
        with pytest.raises(SpecError, match="no `group` is given"):
            index.is_duplicate(SAME)
        with pytest.raises(ColumnError, match="group"):
            index.query(rows.drop(["group"]))


@pytest.mark.long
def test_bodies(service: Service) -> None:
    def post(name: str, **body: Any) -> Any:
        status, found = service.post(name, body)
        return found if status == 200 else (status, found["detail"])

    documents = [{"id": "a", "text": SAME, "group": 7}, {"id": "b", "text": SAME, "group": "x"}]
    assert answers(post("add_if_new", documents=documents)["answers"]) == [(True, None, None)] * 2
    again = post("add_if_new", id="c", text=SAME, group="7")["answers"]
    assert answers(again) == [(False, "a", 1.0)]
    assert post("add", id="d", text=SAME, group="") == {"added": 1}
    found = post("query", texts=[SAME, SAME, SAME], group=["x", "y", 7])["matches"]
    assert [(row["query"], row["id"]) for row in found] == [(0, "b"), (2, "a")]
    found = post("first_matches", texts=[SAME, SAME], group="x")["matches"]
    assert [(row["query"], row["id"]) for row in found] == [(0, "b"), (1, "b")]
    assert post("is_duplicate", text=SAME, group="x") == {"duplicate": True}
    assert post("is_duplicate", text=SAME, group="y") == {"duplicate": False}
    assert post("explain", id="a", other="b")["other_group"]
    assert not post("explain", id="a", text=SAME, group=7)["other_group"]
    assert post("update", id="b", text=SAME, group=7, if_new=True)["duplicate_of"] == "a"
    assert post("get", id="d") == {"id": "d", "text": SAME}
    none = (422, "the index compares within 'group', and no `group` is given")
    for name, body in (
        ("add", {"documents": [{"text": "x", "id": "p", "group": "a"}, {"text": "y", "id": "q"}]}),
        ("add_if_new", {"text": "x", "id": "p", "group": None}),
        ("query", {"texts": ["a", "b"]}),
        ("is_duplicate", {"text": SAME}),
        ("update", {"id": "a", "text": SAME}),
        ("explain", {"id": "a", "text": SAME}),
    ):
        assert post(name, **body) == none
    assert post("query", texts=["a"], group=["x", "y"])[0] == 422
    assert post("is_duplicate", text=SAME, group=1.5)[0] == 422
    assert post("is_duplicate", text=SAME, group=2**70)[0] == 422
    assert post("add", documents=documents, group="x")[0] == 422


@pytest.mark.long
def test_streams(rows: pa.Table, service: Service) -> None:
    lines = [{**row, "text": row["text"] or ""} for row in rows.to_pylist()]
    body = "".join(json.dumps(row) + "\n" for row in lines).encode()
    status, text, _ = service.call("POST", "/v1/stream", body, {"Content-Type": LINES})
    found = [json.loads(line) for line in text.splitlines()]
    expected = neardup.dedup(rows, id="id", spec=SPEC).clusters.to_pylist()
    assert status == 200 and answers(found) == answers(expected)
    asked = [{"id": 1, "text": lines[0]["text"], "group": "none"}, {"text": "x y", "group": ""}]
    body = "".join(json.dumps(row) + "\n" for row in asked).encode()
    assert service.call("POST", "/v1/stream/query", body, {"Content-Type": LINES})[1] == b""
    for path, line in (("stream", b'{"id": "n", "text": "x"}'), ("stream/query", b'{"text": "x"}')):
        status, found, _ = service.call("POST", f"/v1/{path}", line, {"Content-Type": LINES})
        assert status == 422 and "group" in found["detail"]


@pytest.mark.long
def test_an_index_without_groups(tmp_path: Path) -> None:
    Index.create(tmp_path / "i").close()
    with serving(tmp_path / "i") as service:
        for name in ("query", "is_duplicate", "add", "add_if_new"):
            status, found = service.post(name, {"text": SAME, "group": "a"})
            assert status == 422 and found["detail"].startswith("`group` is given, and this index")
