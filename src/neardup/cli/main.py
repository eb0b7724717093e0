"""Entry of the command line: the group of commands, and what becomes of errors."""

import _thread
import contextlib
import errno
import gc
import importlib
import os
import re
import shlex
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from neardup import __version__
from neardup.cli.suggesting import Suggesting
from neardup.commands import why_not
from neardup.errors import NeardupError, SpecError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: Why the system refuses to write to standard output.
_REFUSED = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))
#: In which module each command is, which is imported when the command is called; and its line in
#: the list of commands.
_COMMANDS = {
    "dedup": ("command_dedup", "Find near-duplicates, and write a clean corpus."),
    "plan": ("command_forecast", "Estimate duplicates, memory and disk before a run."),
    "audit": ("command_result", "Measure the recall of a run on your own data."),
    "explain": ("command_inspect", "Show why a document was removed or kept."),
    "evaluate": ("command_result", "Compare a run with known duplicates."),
    "report": ("command_result", "Write a result or an index as one page for a browser."),
    "plot": ("command_plot", "Draw a chart of a result as a figure."),
    "recluster": ("command_result", "Cluster a finished run again, with other settings."),
    "pairs": ("command_inspect", "Write pairs with both texts as CSV, for a spreadsheet."),
    "compare": ("command_inspect", "Show what two texts share, and where they differ."),
    "tune": ("command_forecast", "Find bands and rows for points of the S-curve."),
    "sketch": ("command_dedup", "Compute band keys on one of several machines."),
    "signatures": ("command_dedup", "Write the MinHash signatures of a corpus."),
    "spark": ("command_spark", "Do dedup, or passages, on Apache Spark."),
    "passages": ("command_passages", "Find all copied passages and their sources."),
    "link": ("command_link", "Find the records that are one, and merge them."),
    "blocks": ("command_link", "Find pairs of records for a tool that scores them."),
    "index": ("of_index.command_index", "Keep documents or records in a persistent index."),
    "stream": ("of_index.command_stream", "Answer JSON lines, and add new ones to an index."),
    "serve": ("of_index.command_serve", "Serve an index over HTTP."),
    "decontaminate": ("command_decontaminate", "Find training documents with a test item."),
    "synth": ("command_synth", "Generate notes or records, and their ground truth."),
    "warmup": ("command_warmup", "Compile all kernels now, as for a container image."),
}


class _Lazy(Suggesting):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        home = importlib.import_module(f"neardup.cli.commands.{_COMMANDS[cmd_name][0]}")
        return cast(click.Command, getattr(home, cmd_name))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=line)
            for name, (_, line) in _COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


_EXAMPLE, _HELP = "Example: neardup dedup notes.jsonl -o out", ["-h", "--help"]


@click.group(cls=_Lazy, epilog=_EXAMPLE, context_settings={"help_option_names": _HELP})
@click.version_option(__version__, prog_name="neardup")
def cli() -> None:
    """Find near-duplicate texts, exactly verified, and write a clean corpus."""


def main(args: list[str] | None = None) -> Any:
    """Run the command line and exit: 0 done, 1 our error, 2 usage, 130 interrupted.

    An error is one line, and a hint where something is known to help. Of an unexpected error only
    kind and position are shown, since the message of another library may quote a document.
    """
    arguments = sys.argv[1:] if args is None else args
    debug = "--debug" in arguments
    if args is None:  # a separate process
        _prepare()
    try:
        cli.main(arguments, prog_name="neardup", standalone_mode=False)
        if args is None:
            # All is written. To free gigabytes of memory one by one would only take time.
            if sys.stdout is not None:
                sys.stdout.flush()
            _leave(0)
    except click.exceptions.Exit as stop:
        _end(stop.exit_code)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        if debug:
            _say("".join(traceback.format_exception(error)).rstrip())
        code, lines = _explained(error, debug)
        for line in lines:
            _say(line)
        (_leave if code == 130 else _end)(code)


def _explained(error: BaseException, debug: bool) -> tuple[int, list[str]]:
    """Return the exit code for an error, and its message."""
    if isinstance(error, click.ClickException):
        message, context = error.format_message(), getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":  # the message is the help; click >= 8.2
            return 2, [message]
        command = context.command_path if context else "neardup"
        if isinstance(error, click.NoSuchOption):
            name = error.option_name.lstrip("-").replace("-", "_")
            if why := why_not(command.partition(" ")[2], name):
                return 2, [f"error: {as_options(why)}", "hint: leave it out"]
        return 2, [f"error: {_one_line(message)}", f"hint: see {command} --help"]
    if isinstance(error, KeyboardInterrupt | click.Abort):
        # click wraps the interrupt in another error.
        message = str(error.__cause__ or error) or "interrupted"
        return 130, [as_options(message)]
    if isinstance(error, BrokenPipeError):  # whoever read our output has gone
        return 1, []
    if isinstance(error, NeardupError):
        said = {"error": str(error), "hint": error.hint}
        lines = [f"{kind}: {_one_line(as_options(text))}" for kind, text in said.items() if text]
        return 2 if isinstance(error, SpecError) else 1, lines
    if isinstance(error, MemoryError):
        return 1, ["error: out of memory"]
    if isinstance(error, OSError) and error.errno in _REFUSED and _was_writing(error):
        reason = os.strerror(error.errno or 0).lower()
        return 1, [f"error: can't write to standard output: {reason}"]
    hint = "hint: run with --debug to see where it came from, and please report it"
    return 1, [f"error: unexpected {_kind(error)}", *([] if debug else [hint])]


def _prepare() -> None:
    """Switch off, before libraries are loaded, features that a short process does not need.

    Measured on 100,000 documents and on 100: some 0.3 s of processor time each.
    """
    if sys.stdin is None:  # closed: whoever reads it finds its end
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    sys.unraisablehook = _not_lost
    # Objects live as long as the command; to look for cycles of them over and over takes time.
    gc.set_threshold(200_000, 20, 100)
    # No linear algebra is done here: its threads would only wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.platform == "linux":
        # Arrow's default allocator returns memory so eagerly that a fifth of the time went into
        # clearing pages; jemalloc does so after 1 s unless it is told to wait.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
        os.environ.setdefault("JE_ARROW_MALLOC_CONF", "dirty_decay_ms:3000")
    # Numba loads SciPy where it is installed, for functions that no kernel calls.
    cast("dict[str, Any]", sys.modules).setdefault("scipy", None)


def _not_lost(found: "sys.UnraisableHookArgs") -> None:
    """Repeat a Ctrl-C that came in a callback of a library, where it would be dropped."""
    if found.exc_type is KeyboardInterrupt:
        # From another thread, a moment later: here it would be dropped again. What `threading` has
        # waits until a thread has begun, in which time the interrupt may come.
        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(found)


def _interrupt_soon() -> None:
    time.sleep(0.1)
    _thread.interrupt_main()


#: Arguments and methods of the library, and the options and commands that are the same.
_RENAMED = {
    "out": "-o",
    "num_bands": "--bands",
    "name_source": "--source",
    "progress": "--quiet",
    "clean": "--no-clean",
    "merged": "--no-merged",
    "texts": "--no-text",
    "printed": "--print",
    "Index.create": "neardup index create",
    "LinkRun.index": "neardup link --index",
    "Run.recluster": "neardup recluster",
    "neardup.sketch_corpus": "neardup sketch",
    "RecordIndex.clusters": "clusters.parquet of the linkages, before records were removed,",
}


def flag_of(argument: str) -> str:
    """Return the option that is an argument of the library.

    >>> flag_of("num_bands"), flag_of("order_by")
    ('--bands', '--order-by')
    """
    return _RENAMED.get(argument, "--" + argument.replace("_", "-"))


def as_options(message: str) -> str:
    """Return a message of the library with options instead of Python arguments.

    >>> as_options("`memory` is 1 MB; use overwrite=True, store='sqlite:a'")
    '--memory is 1 MB; use --overwrite, --store sqlite:a'
    >>> as_options("use `Index.add_if_new()`, or `threshold`=0.3")
    'use Index.add_if_new(), or --threshold 0.3'
    >>> as_options("make one with `LinkRun.index`")
    'make one with neardup link --index'
    >>> as_options("`delimiter`=';'")
    "--delimiter ';'"
    >>> as_options("`neardup dedup` finds equal ones")
    'neardup dedup finds equal ones'
    """

    def named(found: re.Match[str]) -> str:
        name, value = found["name"], found.groupdict().get("value")
        option = flag_of(name)
        return option if value is None else f"{option} {shlex.quote(value)}"

    message = re.sub(r"`(?P<name>[a-z_]+)`=(?P<value>[\d.]*\d)", named, message)
    values = r"`?\b(?P<name>[a-z_]+)`?=(?:True|False|'(?P<value>[^']*)')`?"
    message = re.sub(values, named, message)
    message = re.sub("`(?P<name>[a-z_]+)`", named, message)
    # Of code that is no argument.
    codes = r"`(neardup [^`\n]+|[^`\s]+)`"
    message = re.sub(codes, lambda code: _RENAMED.get(code[1], code[1]), message)
    return message.replace("the same call", "the same command")


def _say(line: str) -> None:
    # Perhaps no process listens any more; the exit code still reports the error.
    if sys.stderr is not None:  # as it is where it was closed before we began
        with contextlib.suppress(OSError, ValueError):
            print(line, file=sys.stderr)


def _one_line(text: str) -> str:
    """The text without control characters: names of files and columns may have any."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _kind(error: BaseException) -> str:
    """The type of an error, its system reason if it has one, and the line that raised it."""
    reason = ""
    if isinstance(error, OSError) and error.errno:
        reason = f": {os.strerror(error.errno).lower()}"
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({Path(last[0].filename).name}, line {last[0].lineno})" if last else ""
    return f"{type(error).__name__}{reason}{where}"


def _was_writing(error: OSError) -> bool:
    """Whether it was raised where commands write their answers: by them, or by click."""
    file = traceback.extract_tb(error.__traceback__)[-1].filename
    return Path(file).is_relative_to(Path(__file__).parent) or "click" in Path(file).parts


def _end(code: int) -> NoReturn:
    """Exit; data left in a pipe without a reader must not raise again."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _leave(code: int) -> None:
    """End at once: threads in the middle of a partition are not waited for."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
