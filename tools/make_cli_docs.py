"""Write ``docs/cli.md`` from ``--help``, or compare it: ``make_cli_docs.py [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from neardup.cli.main import cli

TARGET = Path(__file__).parent.parent / "docs/cli.md"


def pages() -> str:
    """Return the help of all commands as one page."""
    parts = ["# Command line\n\nMade from `--help` by `make docs`.\n"]
    width: dict[str, Any] = {"max_content_width": 96, "terminal_width": 96}
    top = click.Context(cli, info_name="neardup", **width, **cli.context_settings)
    parts.append(f"## neardup\n\n```text\n{cli.get_help(top)}\n```\n")
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        if command is None:
            raise SystemExit(f"no command {name}")
        context = click.Context(
            command, info_name=name, parent=top, **width, **command.context_settings
        )
        parts.append(f"## neardup {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def main() -> None:
    if "--check" in sys.argv[1:]:
        if TARGET.read_text(encoding="utf-8") != pages():
            raise SystemExit(f"{TARGET.name} is not what --help says; run `make docs`")
    else:
        TARGET.write_text(pages(), encoding="utf-8")


if __name__ == "__main__":
    main()
