"""Entry of the command line: the group, and what becomes of errors."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import click

from neardup import __version__
from neardup.errors import NeardupError, SpecError

__all__ = ["cli", "main"]

#: Commands and the module that holds each; imported when it is called or described.
_COMMANDS = {"dedup": "neardup.cli.dedup", "synth": "neardup.cli.synth"}


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
    """Run the command line and exit: 0 done, 1 our error, 2 usage, 130 interrupted."""
    arguments = sys.argv[1:] if args is None else args
    debug = "--debug" in arguments
    try:
        cli.main(arguments, prog_name="neardup", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted; nothing was written")
        _leave(130)
    except BrokenPipeError:
        # Whoever read our output has gone; what is left in the buffer must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except NeardupError as error:
        if debug:
            traceback.print_exc()
        _say(f"error: {error}")
        if error.hint:
            _say(f"hint: {error.hint}")
        sys.exit(2 if isinstance(error, SpecError) else 1)
    except MemoryError:
        if debug:
            traceback.print_exc()
        _say("error: out of memory")
        sys.exit(1)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _leave(code: int) -> None:
    """End at once: threads in the middle of a chunk are not waited for."""
    sys.stderr.flush()
    os._exit(code)
