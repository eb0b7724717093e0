"""Write what the documentation takes from the code: ``make_cli_docs.py [--check]``.

``docs/cli.md`` from ``--help``; in ``docs/architecture.md`` the layers of ``pyproject.toml`` and a
line for each package; ``docs/modules.md`` with a line for each module, the first of its docstring.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import click

from neardup.cli.main import cli

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "neardup"
CLI, MODULES = ROOT / "docs" / "cli.md", ROOT / "docs" / "modules.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"


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


def first_line(path: Path) -> str:
    """Return the first sentences of a docstring, up to an empty line, as one line."""
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return doc.partition("\n\n")[0].replace("\n", " ").strip().replace("``", "`")


def packages() -> str:
    """Return a line for each package, in the order of the layers."""
    names = dict.fromkeys(re.findall(r"^\w+|(?<=\| )\w+", layers(), re.M))
    inits = ((name, PACKAGE / name / "__init__.py") for name in names)
    return "\n".join(f"* `{name}`: {first_line(path)}" for name, path in inits if path.exists())


def modules_page() -> str:
    """Return a list of all modules, by folder."""
    folders: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        folders.setdefault(path.parent.relative_to(PACKAGE).as_posix(), []).append(path)
    parts = ["# Modules", "", "Written from the docstrings by `make docs`."]
    for folder in sorted(folders, key=lambda name: ("" if name == "." else name).split("/")):
        rows = {path.name: first_line(path) for path in folders[folder]}
        parts += ["", f"## {'The top' if folder == '.' else folder}", "", rows.pop("__init__.py")]
        parts += [""] if rows else []
        parts += [f"* **`{name}`**: {line}" for name, line in rows.items()]
    return "\n".join(parts) + "\n"


def architecture_page() -> str:
    """Return the page with its two generated parts."""
    page = ARCHITECTURE.read_text(encoding="utf-8")
    for name, text in (("layers", layers()), ("packages", packages())):
        head, _, rest = page.partition(f"<!-- {name} -->")
        _, found, tail = rest.partition(f"<!-- /{name} -->")
        if not found:
            raise SystemExit(f"{ARCHITECTURE.name} has no {name}")
        page = f"{head}<!-- {name} -->\n{text}\n{found}{tail}"
    return page


def main() -> None:
    pages = {CLI: cli_page(), MODULES: modules_page(), ARCHITECTURE: architecture_page()}
    for target, made in pages.items():
        if "--check" not in sys.argv[1:]:
            target.write_text(made, encoding="utf-8")
        elif target.read_text(encoding="utf-8") != made:
            raise SystemExit(f"{target.name} is not what the code says; run `make docs`")


if __name__ == "__main__":
    main()
