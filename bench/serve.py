"""The index behind HTTP: answers a second, and latencies, with a load generator that is not ours.

python bench/serve.py --documents 1000000

The generator is wrk (Debian package wrk), with bodies of its own for each request. The same server
with an empty handler is measured beside it: what HTTP alone costs on the machine at that moment.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import neardup
from index import SPEC, texts
from notes import SynthSpec, generate

#: What is to be reached; latencies in ms at most, others at least.
ACCEPT = {
    "add_8_per_s": 1500,
    "add_64_per_s": 3000,
    "stream_per_s": 8000,
    "query_p50_ms": 1.5,
    "query_p99_ms": 8,
}
#: Each thread of wrk takes bodies of its own, one after the other.
LUA = """
local threads = 0
function setup(thread) thread:set("part", threads); threads = threads + 1 end
function init(args)
  bodies = {}
  local number = 0
  for line in io.lines(args[1]) do
    if number % tonumber(args[2]) == part then bodies[#bodies + 1] = line end
    number = number + 1
  end
  next_body = 0
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
end
function request()
  next_body = next_body + 1
  if next_body > #bodies then next_body = 1; again = true end
  return wrk.format(nil, nil, nil, bodies[next_body])
end
function done(summary, latency, requests)
  io.write(string.format("RESULT %d %d %d %d %f %f %f\\n", summary.requests, summary.duration,
    summary.errors.status, summary.errors.timeout + summary.errors.read + summary.errors.connect,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
"""
#: The server and the application around it, and nothing in it.
EMPTY = """
import sys, uvicorn
async def app(scope, receive, send):
    more = True
    while more:
        more = (await receive()).get("more_body", False)
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-type", b"application/json"), (b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})
uvicorn.run(app, port=int(sys.argv[1]), http="httptools", loop="uvloop", log_level="error",
            access_log=False, lifespan="off")
"""


@contextlib.contextmanager
def started(command: list[str], port: int, path: str) -> Iterator[subprocess.Popen[bytes]]:
    """Give a server that answers 200 at a path."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 300
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", path)
                if connection.getresponse().status == 200:
                    break
            if time.monotonic() > end or process.poll() is not None:
                raise RuntimeError("the server did not start")
            time.sleep(0.1)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def wrk(port: int, path: str, bodies: Path, connections: int, seconds: float) -> dict[str, float]:
    """Return answers a second, errors, and latencies in ms."""
    script = bodies.with_suffix(".lua")
    script.write_text(LUA)
    threads = 1 if connections < 8 else 2
    command = ["wrk", "-t", str(threads), "-c", str(connections), "-d", f"{seconds:.0f}s"]
    url = f"http://127.0.0.1:{port}{path}"
    done = subprocess.run(
        [*command, "-s", str(script), url, "--", str(bodies), str(threads)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = re.search(r"RESULT (.*)", done.stdout)
    assert found, done.stdout + done.stderr
    requests, duration, refused, failed, p50, p99, most = map(float, found[1].split())
    assert not refused and not failed, done.stdout
    return {
        "per_s": round(requests / duration * 1e6),
        "p50_ms": round(p50, 2),
        "p99_ms": round(p99, 2),
        "max_ms": round(most, 1),
    }


def written(path: Path, bodies: list[Any]) -> Path:
    path.write_text("".join(json.dumps(body) + "\n" for body in bodies))
    return path


def streamed(port: int, bodies: list[bytes]) -> float:
    """Return the documents a second of a stream of JSON lines that curl sends."""
    command = ["curl", "-sS", "-N", "-T", "-", "-H", "Content-Type: application/x-ndjson"]
    url = f"http://127.0.0.1:{port}/v1/stream"
    begin = time.perf_counter()
    done = subprocess.run(
        [*command, "-X", "POST", url], input=b"".join(bodies), capture_output=True, check=True
    )
    seconds = time.perf_counter() - begin
    assert done.stdout.count(b'"kept"') == len(bodies), done.stdout[-300:]
    return round(len(bodies) / seconds)


def writes(port: int, per_s: int, stop: threading.Event, some: list[str]) -> None:
    """Add documents at a rate, until it is stopped."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    begin, batch = time.monotonic(), 5
    for low in range(0, len(some), batch):
        if stop.is_set():
            return
        time.sleep(max(0.0, begin + low / per_s - time.monotonic()))
        body = {
            "documents": [
                {"id": 10**12 + low + i, "text": t} for i, t in enumerate(some[low : low + batch])
            ]
        }
        connection.request(
            "POST", "/v1/add_if_new", json.dumps(body), {"Content-Type": "application/json"}
        )
        connection.getresponse().read()


def measured(folder: Path, options: argparse.Namespace, found: dict[str, Any]) -> None:
    seconds, port = options.seconds, options.port
    count = int(30_000 + seconds * 10_000)
    notes = generate(SynthSpec.shaped("mixed", count, 5)).column("text").to_pylist()
    base = 20_000
    few = written(folder / "few.jsonl", [
        {"documents": [{"id": i, "text": t}]} for i, t in enumerate(notes[base:], base)
    ])  # fmt: skip
    empty = [sys.executable, "-c", EMPTY, str(port)]
    with started(empty, port, "/"):
        for connections in (8, 64):
            got = wrk(port, "/", few, connections, seconds)
            found |= {f"empty_{connections}_{name}": value for name, value in got.items()}
    path = folder / "small.index"
    serve = [sys.executable, "-m", "neardup", "serve", "--port", str(port)]
    serve += ["--workers", str(options.workers)]
    for connections in (8, 64):
        with neardup.Index.create(path, spec=SPEC) as index:
            index.add_if_new(notes[:base], ids=range(base))
        with started([*serve, str(path)], port, "/readyz"):
            got = wrk(port, "/v1/add_if_new", few, connections, seconds)
            found |= {f"add_{connections}_{name}": value for name, value in got.items()}
            if connections == 64:
                lines = [
                    json.dumps({"id": 10**9 + i, "text": t}).encode() + b"\n"
                    for i, t in enumerate(notes[: options.lines])
                ]
                found["stream_per_s"] = streamed(port, lines)
        shutil.rmtree(path)
    path = folder / "large.index"
    with neardup.Index.create(path, spec=SPEC, durable="process") as index:
        for low in range(0, options.documents, 10_000):
            some = texts(min(10_000, options.documents - low), low)
            index.add(some, ids=range(low, low + len(some)))
        index.compact()
    asked = texts(20_000, 10**7) + texts(min(20_000, options.documents), 0)
    queries = written(folder / "queries.jsonl", [{"texts": [text]} for text in asked])
    with started([*serve, str(path)], port, "/readyz"):
        for name, rate in (("query_alone", 0), ("query", 500)):
            stop = threading.Event()
            work = (port, rate, stop, texts(int(rate * (seconds + 5)), 2 * 10**7))
            writer = threading.Thread(target=writes, args=work)
            writer.start()
            got = wrk(port, "/v1/query", queries, 8, seconds)
            stop.set()
            writer.join()
            found |= {f"{name}_{key}": value for key, value in got.items()}


def show(found: dict[str, Any]) -> None:
    for name, value in found.items():
        accept = ACCEPT.get(name)
        met = (
            ""
            if accept is None
            else value >= accept
            if name.endswith("_per_s")
            else value <= accept
        )
        print(f"{name:28} {value!s:>14} {accept or '':>10} {met}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--lines", type=int, default=40_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--port", type=int, default=18765)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/serve.json")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("this needs wrk; on Debian: apt-get install wrk")
    found: dict[str, Any] = {"documents": options.documents, "workers": options.workers}
    found["load"] = round(os.getloadavg()[0], 1)
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("NEARDUP_BENCH_DATA")))
    try:
        measured(folder, options, found)
    finally:
        shutil.rmtree(folder)
    show(found)
    options.out.write_text(json.dumps({**found, "accept": ACCEPT}, indent=1) + "\n")


if __name__ == "__main__":
    main()
