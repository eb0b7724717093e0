"""What explain and compare have in common: how what they found is shown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from neardup.report.explain import View

__all__ = ["check_html", "html_options", "json_option", "show"]

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "json_", is_flag=True, help="Print JSON.")


def html_options(command: F) -> F:
    """``--html`` and ``--overwrite``, for `check_html`."""
    html = click.option(
        "--html",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write a page with both texts side by side too, which needs nothing else.",
    )
    overwrite = click.option(
        "--overwrite", is_flag=True, help="Replace the FILE of --html if it exists."
    )
    return html(overwrite(command))


def check_html(html: Path | None, inputs: Iterable[str | Path], overwrite: bool) -> None:
    """Refuse, before any work, a page that can't or must not be written.

    Args:
        html: What was given.
        inputs: Files that are never replaced.
        overwrite: Another file may be.

    Raises:
        OutputError: As for `neardup.report.outfile.check_file`.
    """
    if html is not None:
        from neardup.report.outfile import check_file

        check_file(html, inputs, overwrite)


def show(shown: View, values: dict[str, Any], as_json: bool, html: Path | None) -> None:
    """Print a view, or the same as JSON, and write it as a page.

    Args:
        shown: What was found, for people.
        values: The same for programs; the differences are added.
        as_json: Whether JSON is printed.
        html: Where the page goes; None for no page.
    """
    from neardup.report.explain import render
    from neardup.run.ids import plain_id

    if html is not None:
        from neardup.report.outfile import write_file
        from neardup.report.side_by_side import page

        write_file(html, page(shown).encode())
    if as_json:
        parts = [part._asdict() for part in shown.parts] if len(shown.texts) == 2 else None
        # Ids may be of any type; and in ASCII, so that no terminal obeys what a text says.
        click.echo(json.dumps({**values, "differences": parts}, indent=2, default=plain_id))
    else:
        click.echo(render(shown, _in_colour()), color=True)


def _in_colour() -> bool:
    """Whether the standard output is a terminal that shows colours, and nobody said no to them."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in ("", "dumb"):
        return False
    return sys.stdout.isatty()
