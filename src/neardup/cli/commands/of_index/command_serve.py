"""``neardup serve``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import click

from neardup.cli import command_options as o
from neardup.errors import DependencyError, SpecError

_NEEDED = ("httptools", "msgspec", "prometheus_client", "starlette", "uvicorn", "uvloop")


@o.grouped("neardup serve notes.index --port 8080")
@click.argument("folder", metavar="INDEX", type=o.LOCAL_TARGET)
@o.option("--host ADDRESS", default="127.0.0.1", help="Address to listen on.")
@o.option("--port N", type=click.IntRange(0, 65535), default=8080, help="0 for any free one.")
@o.option(
    "--token-file FILE",
    help="File whose first line clients must send; needed for addresses that others can reach.",
)
@o.option(
    "--allow-host",
    metavar="NAME",
    type=str,
    multiple=True,
    help="Name under which clients call, such as index.example.org; * for any. Loopback names and "
    "the address itself are allowed always.",
)
@o.option("--readonly", help="Refuse calls that write.")
@o.option(
    "--workers N",
    type=click.IntRange(1, 256),
    default=1,
    group=o.RESOURCES,
    help="Processes that answer, next to the one that writes.",
)
@o.option(
    "--max-body",
    metavar="SIZE",
    type=str,
    default="16MB",
    group=o.RESOURCES,
    help="Largest body of a call, and line of a stream.",
)
@o.option(
    "--max-documents",
    metavar="N",
    type=click.IntRange(1, 100_000),
    default=1000,
    group=o.RESOURCES,
    help="Documents of a call.",
)
@o.option(
    "--max-queue",
    metavar="N",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    group=o.RESOURCES,
    help="Calls that wait for the writer, for each worker.",
)
@o.option(
    "--call-timeout SECONDS",
    default=30.0,
    group=o.RESOURCES,
    help="For a body to come, to wait for the writer, and to take a part of an answer.",
)
@o.option(
    "--stop-timeout SECONDS",
    default=30.0,
    group=o.RESOURCES,
    help="For calls to end after SIGTERM.",
)
@o.option("--access-log", group=o.OUTPUT, help="Log a line for each call, without its body.")
def serve(
    folder: Path,
    host: str,
    port: int,
    token_file: Path | None,
    allow_host: tuple[str, ...],
    readonly: bool,
    workers: int,
    max_body: str,
    max_documents: int,
    max_queue: int,
    call_timeout: float,
    stop_timeout: float,
    access_log: bool,
) -> None:
    """Serve INDEX over HTTP, to several hosts and languages.

    One process writes, and others answer. The address that it listens on is printed to standard
    error, and / has a page about the calls. It ends on SIGTERM, after it has answered all calls
    that began.
    """
    from neardup.memory_plan import parse_size

    if sys.platform == "win32":
        raise SpecError("neardup serve does not run on Windows", "use the Linux of Windows, WSL")
    for name in _NEEDED:
        if importlib.util.find_spec(name) is None:
            raise DependencyError(f"neardup serve needs {name}", "pip install 'neardup[serve]'")
    from neardup.serve.settings import CallLimits, Settings, allowed_hosts, read_token
    from neardup.serve.supervisor import Address, run

    token = "" if token_file is None else read_token(token_file)
    hosts = allowed_hosts(host, allow_host, token)
    size = parse_size(max_body, "max_body")
    limits = CallLimits(size, max_documents, max_queue, call_timeout)
    settings = Settings(
        str(folder.absolute()), hosts, token, readonly, limits, access_log, stop_timeout
    )
    run(settings, Address(host, port, workers))
