"""Write what the documentation takes from the code: ``make_cli_docs.py [--check]``.

``docs/cli.md`` from ``--help``; in ``docs/architecture.md`` the layers of ``pyproject.toml`` and a
line for each module, the first one of its docstring.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path
from typing import Any

import click

from neardup.cli.main import cli

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "neardup"
CLI, ARCHITECTURE = ROOT / "docs" / "cli.md", ROOT / "docs" / "architecture.md"
LAYERS, MODULES = ("<!-- layers -->", "<!-- /layers -->"), ("<!-- modules -->", "<!-- /modules -->")


def cli_page() -> str:
    """Return the help of all commands as one page."""
    parts = [
        "# Command line\n",
        "Written from `--help` by `make docs`. For completion in a shell, put the output of one\n"
        "of these lines into its start-up file:\n",
        "```console\n"
        "_NEARDUP_COMPLETE=bash_source neardup\n"
        "_NEARDUP_COMPLETE=zsh_source neardup\n"
        "_NEARDUP_COMPLETE=fish_source neardup\n"
        "```\n",
    ]
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
        for inner, found in getattr(command, "commands", {}).items():
            below = click.Context(
                found, info_name=inner, parent=context, **width, **found.context_settings
            )
            parts.append(f"### neardup {name} {inner}\n\n```text\n{found.get_help(below)}\n```\n")
    return "\n".join(parts)


def layers() -> str:
    """Return the layers of import-linter, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (found,) = (contract for contract in contracts if contract["type"] == "layers")
    lines = [layer.replace("neardup.", "") for layer in found["layers"]]
    return "\n".join(["```text", *lines, "```"])


def modules() -> str:
    """Return a list of all modules, by folder, each with the first line of its docstring."""
    folders: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        line = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ").strip()
        line = line.replace("``", "`")
        folder = path.parent.relative_to(PACKAGE).as_posix()
        folders.setdefault(folder, []).append((path.name, line))
    parts = []
    for folder in sorted(folders, key=lambda name: ("" if name == "." else name).split("/")):
        rows = dict(folders[folder])
        title = "The top" if folder == "." else folder
        parts += [f"### {title}", "", rows.pop("__init__.py"), ""]
        parts += [f"* **`{name}`**: {line}" for name, line in rows.items()]
        parts += [""] if rows else []
    return "\n".join(parts).rstrip()


def architecture_page() -> str:
    """Return the page with its two generated parts."""
    page = ARCHITECTURE.read_text(encoding="utf-8")
    for (begin, end), text in ((LAYERS, layers()), (MODULES, modules())):
        head, _, rest = page.partition(begin)
        _, found, tail = rest.partition(end)
        if not found:
            raise SystemExit(f"{ARCHITECTURE.name} has no {begin}")
        page = f"{head}{begin}\n{text}\n{end}{tail}"
    return page


def main() -> None:
    for target, made in ((CLI, cli_page()), (ARCHITECTURE, architecture_page())):
        if "--check" not in sys.argv[1:]:
            target.write_text(made, encoding="utf-8")
        elif target.read_text(encoding="utf-8") != made:
            raise SystemExit(f"{target.name} is not what the code says; run `make docs`")


if __name__ == "__main__":
    main()
