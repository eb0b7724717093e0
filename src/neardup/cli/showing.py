"""How commands show results: pages, JSON, colours."""

import inspect
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from neardup.cli.command_options import all_of, file_option, given_options, json_option, of_output
from neardup.cli.main import as_options
from neardup.errors import InputError, SpecError
from neardup.result_record import RECORD_INDEX

if TYPE_CHECKING:
    from neardup.deduplication.clock import Event, Listener
    from neardup.views.compared import ComparedView

    AnyPath = str | os.PathLike[str]


@contextmanager
def show_events(shown: bool) -> "Iterator[Listener | None]":
    """Give a listener that shows events on stderr, with options where they name arguments."""
    from neardup.api.progress import show_progress

    with show_progress(shown) as show:

        def listen(event: "Event") -> None:
            if show is not None:
                show(replace(event, note=as_options(event.note)) if event.note else event)

        yield None if show is None else listen


def show_record(record: dict[str, Any], out: str, as_json: bool, quiet: bool) -> None:
    """Show the summary of a command on stderr, or its record as JSON."""
    if as_json:
        click.echo(json.dumps(record, indent=2))
    elif not quiet:
        from neardup.views.text.summary_text import render

        click.echo(render(record, out), err=True)


def open_run(run: Path, what: str) -> Any:
    """Open the output of a command; InputError where that is an index."""
    from neardup.api.finished.open_folder import open
    from neardup.frame.run import Run

    found = open(run)
    if not isinstance(found, Run):
        found.close()
        if getattr(found, "command", "") == "link":
            raise InputError(
                f"{run} is an index of records; neardup {what} does not work on it",
                "neardup index stats, check and relink do, and explain and evaluate; the folder of "
                "neardup link has a page",
            )
        raise InputError(
            f"{run} is an index; neardup {what} does not work on it",
            "name an output folder, or see neardup index --help",
        )
    return found


def open_records(run: Path) -> Any:
    """Open an index of records; None where there is none."""
    if not (run / RECORD_INDEX).is_file():
        return None
    from neardup.api.indexes.record_index import RecordIndex

    return RecordIndex.open(run)


def on_run(run: Any, what: str, *ids: Any, **options: Any) -> Any:
    """Call a method of the output of a command; options that it has not are refused."""
    method = getattr(run, what)
    known = inspect.signature(method).parameters
    without = ["texts"] if options.get("texts") is False else []  # of --no-text
    for name in [*given_options(*options), *without]:
        if name not in known:
            instead = run.command == "link" and name == "threshold"
            raise SpecError(
                f"`{name}` does not apply to an output of neardup {run.command}",
                "it has `decide_at` instead" if instead else "leave it out",
            )
    names = [name for name, found in known.items() if found.kind is found.POSITIONAL_OR_KEYWORD]
    least = sum(known[name].default is inspect.Parameter.empty for name in names)
    if not least <= len(ids) <= len(names):
        many = "one id" if len(names) == 1 else "two ids"
        raise SpecError(f"neardup {what} takes {many} for an output of neardup {run.command}")
    return method(*ids, **{name: value for name, value in options.items() if name in known})


context_option = of_output(
    "--context N",
    type=click.IntRange(0),
    default=40,
    help="Equal words that are shown before and after each difference.",
)


_HTML = "Write a page with both texts side by side too, which needs nothing else."
#: The options of `Page`.
show_options = all_of(
    json_option,
    file_option("--html", what=_HTML),
    of_output("--overwrite", help="Replace the FILE of --html if it exists."),
    context_option,
)


class Pager(NamedTuple):
    """How a view is shown: on a terminal or as JSON, and as a page too."""

    json_: bool
    html: Path | None
    overwrite: bool
    context: int

    @classmethod
    def of(cls, options: dict[str, Any]) -> "Pager":
        return cls(*(options.pop(name) for name in cls._fields))

    def check(self, inputs: "Iterable[AnyPath]", given: "Iterable[AnyPath]" = ()) -> None:
        """Refuse, before any work, a page that can't or must not be written."""
        if self.html is not None:
            from neardup.output.outfile import check_file
            from neardup.views.html_page import need_jinja

            need_jinja()
            check_file(self.html, inputs, self.overwrite, given)

    def show(self, view: "ComparedView", values: dict[str, Any]) -> None:
        """Print a view, or the same values for programs as JSON, and write it as a page."""
        from neardup.values.json_values import plain_id
        from neardup.views.compared import page, render

        if self.html is not None:
            from neardup.output.outfile import write_file

            write_file(self.html, page(view, self.context).encode())
        if self.json_:
            parts = [part._asdict() for part in view.parts] if len(view.texts) == 2 else None
            # Ids may be of any type. In ASCII, no text can control a terminal.
            click.echo(json.dumps({**values, "differences": parts}, indent=2, default=plain_id))
        else:
            click.echo(render(view, in_colour(), self.context), color=True)


def in_colour() -> bool:
    """Whether the standard output is a terminal that shows colours, and they are not disabled."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in ("", "dumb"):
        return False
    return sys.stdout.isatty()
