"""Servers of the tests of remote files: a store, and web servers with and without ranges."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

BUCKET = "corpus"


class Store:
    """A bucket of a store that speaks the protocol of S3, in this process."""

    def __init__(self, port: int) -> None:
        from pyarrow import fs

        self.host = f"127.0.0.1:{port}"
        self._fs: Any = fs.S3FileSystem(
            access_key="key",
            secret_key="secret",
            endpoint_override=self.host,
            scheme="http",
            allow_bucket_creation=True,
        )
        self._fs.create_dir(BUCKET)

    def put(self, name: str, data: bytes) -> str:
        """Store an object; return its URL."""
        with self._fs.open_output_stream(f"{BUCKET}/{name}", compression=None) as file:
            file.write(data)
        return f"s3://{BUCKET}/{name}"

    def files(self, folder: str) -> dict[str, bytes]:
        """All objects below a folder, by relative name."""
        from pyarrow.fs import FileSelector

        top = f"{BUCKET}/{folder}"
        infos = self._fs.get_file_info(FileSelector(top, recursive=True, allow_not_found=True))
        found = {}
        for info in infos:
            if info.is_file:
                with self._fs.open_input_file(info.path) as file:
                    found[info.path[len(top) + 1 :]] = file.read()
        return found

    def folders(self, folder: str) -> set[str]:
        """All folders below a folder, by relative name, with those that are empty objects."""
        from pyarrow.fs import FileSelector

        top = f"{BUCKET}/{folder}"
        infos = self._fs.get_file_info(FileSelector(top, recursive=True, allow_not_found=True))
        return {info.path[len(top) + 1 :] for info in infos if not info.is_file}

    def remove(self, name: str) -> None:
        self._fs.delete_file(f"{BUCKET}/{name}")

    def require_keys(self, required: bool) -> None:
        """Have it check who asks, or not."""
        import urllib.request

        count = b"0" if required else b"inf"
        url = f"http://{self.host}/moto-api/reset-auth"
        headers = {"Content-Type": "text/plain"}
        with urllib.request.urlopen(urllib.request.Request(url, count, headers)):
            pass


@contextmanager
def object_store() -> Iterator[Store]:
    """Start a store, and set what the libraries of the store read from the environment."""
    server: Any = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", port=0)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server.start()
    _, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        yield Store(port)
    server.stop()


class _Plain(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Ranges(_Plain):
    """Sends the ranges that are asked for, as most servers do and Python's does not."""

    def do_HEAD(self) -> None:
        self._send(b"" if self._body() is None else self._body(), head=True)

    def do_GET(self) -> None:
        self._send(self._body(), head=False)

    def _body(self) -> bytes | None:
        path = Path(self.translate_path(self.path))
        return path.read_bytes() if path.is_file() else None

    def _send(self, body: bytes | None, head: bool) -> None:
        if body is None or self._body() is None:
            self.send_error(404)
            return
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if found:
            low, high = int(found[1]), min(int(found[2]), len(body) - 1)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {low}-{high}/{len(body)}")
            body = body[low : high + 1]
        else:
            self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not head:
            self.wfile.write(body)


@contextmanager
def web_server(folder: Path, ranges: bool) -> Iterator[str]:
    """Serve a folder; give the URL of its top."""
    handler = partial(_Ranges if ranges else _Plain, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
