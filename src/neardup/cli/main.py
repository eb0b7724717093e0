"""Entry of the command line: the group, and what becomes of errors."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

import click

from neardup import __version__
from neardup.errors import NeardupError, SpecError

__all__ = ["cli", "main"]

#: Commands and the module that holds each; imported when it is called or described.
_COMMANDS = {
    "audit": "neardup.cli.audit",
    "compare": "neardup.cli.compare",
    "dedup": "neardup.cli.dedup",
    "evaluate": "neardup.cli.evaluate",
    "explain": "neardup.cli.explain",
    "plan": "neardup.cli.plan",
    "recluster": "neardup.cli.recluster",
    "report": "neardup.cli.report",
    "sign": "neardup.cli.sign",
    "synth": "neardup.cli.synth",
    "tune": "neardup.cli.tune",
}


class _Lazy(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        import importlib

        command: click.Command = getattr(importlib.import_module(_COMMANDS[name]), name)
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="neardup")
def cli() -> None:
    """Find near-duplicate texts, exactly verified, and write a clean corpus."""


def main(args: list[str] | None = None) -> Any:
    """Run the command line and exit: 0 done, 1 our error, 2 usage, 130 interrupted.

    An error is one line, and a hint where something is known to help. What nobody foresaw is told
    by its kind and place only, since the message of a foreign error may quote a document.
    """
    arguments = sys.argv[1:] if args is None else args
    debug = "--debug" in arguments
    try:
        cli.main(arguments, prog_name="neardup", standalone_mode=False)
        if args is None:
            # All is written; taking gigabytes of memory apart piece by piece helps nobody.
            if sys.stdout is not None:
                sys.stdout.flush()
            _leave(0)
    except click.exceptions.Exit as stop:
        _end(stop.exit_code)
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the message is the help; click >= 8.2
            _say(error.format_message())
            _end(2)
        _show(error, debug)
        context = getattr(error, "ctx", None)
        _say(f"error: {_one_line(error.format_message())}")
        _say(f"hint: see {context.command_path if context else 'neardup'} --help")
        _end(2)
    except (KeyboardInterrupt, click.Abort) as error:
        _show(error, debug)
        # click puts an error of its own around the interrupt.
        _say(str(error.__cause__ or error) or "interrupted; nothing was written")
        _leave(130)
    except BrokenPipeError as error:
        # Whoever read our output has gone.
        _show(error, debug)
        _end(1)
    except NeardupError as error:
        _show(error, debug)
        _say(f"error: {_one_line(str(error))}")
        if error.hint:
            _say(f"hint: {_one_line(error.hint)}")
        _end(2 if isinstance(error, SpecError) else 1)
    except MemoryError as error:
        _show(error, debug)
        _say("error: out of memory")
        _end(1)
    except Exception as error:
        _show(error, debug)
        _say(f"error: unexpected {_kind(error)}")
        if not debug:
            _say("hint: run with --debug to see where it came from, and please report it")
        _end(1)


def _say(line: str) -> None:
    # Nobody may be listening any more; the exit code still tells.
    if sys.stderr is not None:  # as it is where it was closed before we began
        with contextlib.suppress(OSError, ValueError):
            print(line, file=sys.stderr)


def _show(error: BaseException, debug: bool) -> None:
    if debug:
        _say("".join(traceback.format_exception(error)).rstrip())


def _one_line(text: str) -> str:
    """The text without control characters: names of files and columns may hold any."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _kind(error: Exception) -> str:
    """The type of an error, its system reason if it has one, and the line that raised it."""
    reason = ""
    if isinstance(error, OSError) and error.errno:
        reason = f": {os.strerror(error.errno).lower()}"
    place = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({Path(place[0].filename).name}, line {place[0].lineno})" if place else ""
    return f"{type(error).__name__}{reason}{where}"


def _end(code: int) -> NoReturn:
    """Exit; what is left in a pipe that nobody reads must not raise again."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _leave(code: int) -> None:
    """End at once: threads in the middle of a chunk are not waited for."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
