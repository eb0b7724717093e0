"""``neardup serve``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from neardup.cli import command_options as o
from neardup.errors import DependencyError, InputError, SpecError
from neardup.result_record import RECORD_INDEX

_NEEDED = ("httptools", "msgspec", "prometheus_client", "starlette", "uvicorn", "uvloop")


def _number(name: str, most: int, default: int, what: str) -> Callable[[o.F], o.F]:
    return o.of_resources(name, type=click.IntRange(1, most), default=default, help=what)


@o.grouped("neardup serve notes.index --port 8080")
@click.argument("folder", metavar="INDEX", type=o.LOCAL_TARGET)
@o.option("--host ADDRESS", default="127.0.0.1", help="Address to listen on.")
@o.option("--port N", type=click.IntRange(0, 65535), default=8080, help="0 for any free one.")
@o.option(
    "--token-file FILE",
    help="File whose first line clients must send; needed for addresses that others can reach.",
)
@o.option(
    "--allow-host NAME",
    multiple=True,
    help="Name under which clients call, such as index.example.org; * for any. Loopback names and "
    "the address itself are allowed always.",
)
@o.option("--readonly", help="Refuse calls that write.")
@_number("--workers N", 256, 1, "Processes that answer, next to the one that writes.")
@o.of_resources(
    "--max-body SIZE", default="16MB", help="Largest body of a call, and line of a stream."
)
@_number("--max-documents N", 100_000, 1000, "Documents of a call.")
@_number("--max-queue N", 1_000_000, 1000, "Calls that wait for the writer, for each worker.")
@o.of_resources(
    "--call-timeout SECONDS",
    default=30.0,
    help="For a body to come, to wait for the writer, and to take a part of an answer.",
)
@o.of_resources("--stop-timeout SECONDS", default=30.0, help="For calls to end after SIGTERM.")
@o.of_output("--access-log", help="Log a line for each call, without its body.")
def serve(folder: Path, host: str, port: int, token_file: Path | None, **options: Any) -> None:
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
    if (folder / RECORD_INDEX).is_file():
        raise InputError(
            f"{folder} is an index of records, which is not served over HTTP",
            "neardup link NEW --against INDEX links records with it; neardup index stats, "
            "check, mark, remove and relink, and neardup explain and evaluate work on it",
        )
    from neardup.serve.settings import CallLimits, Settings, allowed_hosts, read_token
    from neardup.serve.supervisor import Address, run

    token = "" if token_file is None else read_token(token_file)
    hosts = allowed_hosts(host, options["allow_host"], token)
    size = parse_size(options["max_body"], "max_body")
    numbers = (options[name] for name in ("max_documents", "max_queue", "call_timeout"))
    how = options["readonly"], CallLimits(size, *numbers), options["access_log"]
    settings = Settings(str(folder.absolute()), hosts, token, *how, options["stop_timeout"])
    run(settings, Address(host, port, options["workers"]))
