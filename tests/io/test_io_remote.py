"""Inputs at URLs: an object store and web servers that run on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from io_samples import FILES, TEXTS, lines, made, opened, texts_of
from remote_servers import BUCKET, Store, object_store, web_server

import neardup
from common import Command, core, some_rows, write_lines
from neardup.errors import FormatError, InputError, InputNotFoundError
from neardup.io import remote
from neardup.io.paths import find_files
from neardup.io.remote import Url, located
from neardup.output import publishing

LINES = "".join(json.dumps(row) + "\n" for row in some_rows()).encode()


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with object_store() as found:
        yield found


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://b/a//c", "s3://b/a//c"),
        (Path("s3://b/a/c"), "s3://b/a/c"),  # pathlib takes a slash away
        ("S3://b/a", "s3://b/a"),
        ("file:///tmp/a%20b", "/tmp/a b"),
        ("file://localhost/tmp/a", "/tmp/a"),
        ("plain/a", "plain/a"),
        ("odd:name", "odd:name"),
        ("C://x", "C://x"),  # a drive of Windows
        (Url("https://h/a?x=1//2"), "https://h/a?x=1//2"),
    ],
)
def test_what_is_a_url(path: str | Path, expected: str) -> None:
    assert str(located(path)) == expected
    assert isinstance(located(expected), Url) == ("://" in expected and expected[0] != "C")


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_read_from_a_store(store: Store, tmp_path: Path, name: str) -> None:
    url = store.put(f"formats/{name}", made(tmp_path, name).read_bytes())
    for size in (1 << 10, 8 << 20):
        source = opened(url, size, id="id")
        assert texts_of(source) == TEXTS
        assert source.rereadable and source.files[0].is_remote
    source.check_unchanged()


def test_folders_and_patterns(store: Store) -> None:
    for name in ("x=1/a.jsonl", "x=2/b.jsonl", "c.jsonl.txt", ".hid/d.jsonl", "_SUCCESS"):
        store.put(f"tree/{name}", LINES)

    def names(*urls: str, format: str | None = "jsonl") -> list[str]:
        return [file.name for file in find_files([Url(url) for url in urls], format)]

    top = f"s3://{BUCKET}/tree"
    assert names(top) == names(f"{top}/") == ["c.jsonl.txt", "x=1/a.jsonl", "x=2/b.jsonl"]
    assert names(f"{top}/*/*.jsonl") == ["x=1/a.jsonl", "x=2/b.jsonl"]
    assert names(f"{top}/**/*.jsonl", format=None) == ["x=1/a.jsonl", "x=2/b.jsonl"]
    assert names(f"{top}/x=[2-9]/?.jsonl", format=None) == ["b.jsonl"]
    assert names(f"{top}/x=2/b.jsonl", f"{top}/x=1") == ["x=2/b.jsonl", "x=1/a.jsonl"]
    with pytest.raises(InputError, match="given twice"):
        names(f"{top}/x=1", f"{top}/x=1/a.jsonl")


def test_a_change_is_noticed(store: Store) -> None:
    url = store.put("changing.jsonl", LINES)
    source = opened(url)
    store.put("changing.jsonl", LINES + LINES)
    with pytest.raises(FormatError, match="has changed while it was read"):
        source.check_unchanged()
    store.remove("changing.jsonl")
    with pytest.raises(InputError, match="was removed"):
        source.check_unchanged()


def test_a_run_on_a_store_equals_a_local_one(
    store: Store, tmp_path: Path, command: Command
) -> None:
    local = write_lines(tmp_path / "notes.jsonl", some_rows())
    url = store.put("run/notes.jsonl", local.read_bytes())
    runs = [neardup.dedup(source, id="id") for source in (local, url, Path(url))]
    for run in runs[1:]:
        assert run.clusters.equals(runs[0].clusters)
        assert run.clean().equals(runs[0].clean())
        assert run.explain("n2").comparison == runs[0].explain("n2").comparison
    assert command("dedup", url, "-o", tmp_path / "out", "--id", "id").code == 0
    stored = neardup.open(tmp_path / "out")
    assert stored.clusters.equals(runs[0].clusters)
    assert stored.explain("n2").comparison == runs[0].explain("n2").comparison
    assert stored.recluster(threshold=0.9).spec.threshold == 0.9
    store.put("run/notes.jsonl", local.read_bytes() * 2)
    with pytest.raises(InputError, match="has changed since the run"):
        neardup.open(tmp_path / "out").clean()


SERVED = ("a.jsonl", "a.jsonl.gz", "a.csv", "a.parquet", "file.feather")


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("name", core(SERVED, "a.jsonl.gz", "a.parquet"))
def test_web_servers(tmp_path: Path, name: str, ranges: bool) -> None:
    """Without ranges the file is copied first, as a pipe is."""
    pytest.importorskip("aiohttp")
    folder = tmp_path / "served"
    folder.mkdir()
    made(folder, name)
    with web_server(folder, ranges) as top:
        url = f"{top}/{name}"
        source = opened(url, 1 << 12, id="id")
        assert source.rereadable == ranges
        assert texts_of(source) == TEXTS
        source.check_unchanged()
        run = neardup.dedup(url, id="id", out=tmp_path / "out")
        assert len(run) == len(TEXTS) and run.clusters["file"][0].as_py() == name
        if ranges:
            assert run.clean().num_rows == run.summary["counts"]["kept"]
        with pytest.raises(InputNotFoundError, match="there is no such file"):
            opened(f"{top}/none.jsonl")


def test_bad_urls(store: Store, command: Command, tmp_path: Path) -> None:
    """One clear line each, with a hint."""
    url = store.put("good.jsonl", LINES)
    store.put("bad.parquet", b"PAR1 is not enough")
    out = tmp_path / "out"
    cases = {
        "s4://b/x": "s4:// is no kind of URL",
        "s3:///x": "no bucket is named",
        "s3://none/x.jsonl": "there is no such bucket",
        f"s3://{BUCKET}/none.jsonl": "no file is there",
        f"s3://{BUCKET}/none*": "no file matches the pattern",
        "s3://*/x": "the bucket is a pattern",
        f"s3://{BUCKET}/bad.parquet": "not Parquet, or cut off or damaged",
        "abfs://box/x.jsonl": "needs the package adlfs",
    }
    for name, says in cases.items():
        answer = command("dedup", name, "-o", out)
        assert answer.code == (2 if "://" in says or "is named" in says else 1), answer.err
        assert says in answer.error
        assert "hint: " in answer.err
        assert not out.exists()
    with pytest.raises(InputError, match="names of files") as caught:
        neardup.dedup([url, url])
    assert "pathlib.Path" in caught.value.hint
    assert len(neardup.dedup(["https://a.example/x", "https://a.example/y"])) == 2  # are texts


def test_without_rights_or_server(
    store: Store, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = store.put("secret.jsonl", LINES)
    store.require_keys(True)
    try:
        answer = command("dedup", url, "-o", tmp_path / "out")
    finally:
        store.require_keys(False)
    assert "access is refused, or there are no credentials" in answer.error
    assert "AWS_ACCESS_KEY_ID" in answer.err
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    answer = command("dedup", url, "-o", tmp_path / "out")
    assert "the server can't be reached" in answer.error


def test_other_stores_by_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pyarrow does not open: listed, read, written and removed by another library."""
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setitem(remote._PACKAGES, "memory", "fsspec")
    files = fsspec.filesystem("memory")
    files.pipe({"/box/in/a.jsonl": lines(), "/box/in/b/c.jsonl": LINES})
    found = find_files(["memory://box/in"], None)
    assert [file.name for file in found] == ["a.jsonl", "b/c.jsonl"]
    source = opened("memory://box/in/a.jsonl")
    assert texts_of(source) == TEXTS
    source.check_unchanged()
    run = neardup.dedup("memory://box/in/b", id="id", out="memory://box/out")
    assert sorted(publishing.remote_names("memory://box/out")) == [
        "clean/part-00000.jsonl",
        "clusters.parquet",
        "run.json",
    ]
    assert len(neardup.open("memory://box/out").clean()) == run.summary["counts"]["kept"]
    files.rm("/box", recursive=True)


LOCAL = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind"):
        raise AssertionError(event)
sys.addaudithook(refuse)
from pyarrow import fs
def closed(*arguments, **options):
    raise AssertionError("a store was opened")
fs.S3FileSystem = fs.GcsFileSystem = fs.resolve_s3_region = closed
import neardup
run = neardup.dedup(sys.argv[1], id="id", out=sys.argv[2])
run.explain("n2"), run.clean(), neardup.open(sys.argv[2]).clusters
neardup.dedup(["see s3://bucket/a", "https://a.example/b"])
print("fsspec" in sys.modules)
"""


@pytest.mark.long
def test_nothing_goes_out_without_a_url(store: Store, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "notes.jsonl", some_rows())
    done = subprocess.run(
        [sys.executable, "-c", LOCAL, str(path), str(tmp_path / "out")],
        capture_output=True,
        env=dict(os.environ),
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False"]
