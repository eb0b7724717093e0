"""``neardup index``: make, fill, ask and keep up a persistent index."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import command_options as o
from neardup.cli.showing import show_events
from neardup.cli.suggesting import Suggesting
from neardup.errors import SpecError, UnknownIdError, ids_left_out
from neardup.options.option_groups import PageForm, Reading
from neardup.result_record import RECORD_INDEX
from neardup.spec import Spec
from neardup.values.readable import counted

if TYPE_CHECKING:
    from neardup.index.storing.transactions import Batch

_index = click.argument("folder", metavar="INDEX", type=o.LOCAL_TARGET)
_conflict = o.option(
    "--on-conflict [error|replace|skip]",
    default="error",
    help="Action where the index has the id already.",
)


@click.group(cls=Suggesting, no_args_is_help=True)
def index() -> None:
    """Keep documents in an index that is asked and filled all the time.

    INDEX is a folder. One process writes at a time, and any number read.
    """


def _command(example: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a command of the group, with INDEX as its first argument."""

    def make(function: Callable[..., Any]) -> click.Command:
        made = o.grouped(f"neardup index {example}")(_index(function))
        index.add_command(made)
        return made

    return make


@_command("create notes.index --preset web")
@o.of_input(
    *("--from-run RUN", "run"),
    type=o.PATH,
    help="Begin with the kept documents of this output folder of neardup dedup, and its settings.",
)
@o.of_output("--no-store-text", help="Store shingles instead of the texts.")
@o.of_output(
    "--passages L",
    type=int,
    help="Answer neardup index copied too: words of the shortest copied passage, such as 25. The "
    "index then keeps its documents.",
)
@o.index_options
@o.shared(Spec, "within")
@o.quiet_option
def create(folder: Path, run: Path | None, quiet: bool, **options: Any) -> None:
    """Make an index, and compile the kernels that it needs.

    They are compiled once on a machine, which takes some seconds; neardup serve and other commands
    are ready sooner then.
    """
    from neardup.api.indexes.index_warming import warm
    from neardup.api.indexes.indexing import Index

    how = {"store_text": not options.pop("no_store_text"), "passages": options.pop("passages")}
    if run is None:
        made = Index.create(folder, spec=o.spec_of(options), **how)
    elif any(o.given_options(*options)):
        raise SpecError(
            "with `from_run` the settings are those of the run", "leave out the other options"
        )
    else:
        with show_events(not quiet) as listener:
            made = Index.from_run(run, folder, **how, progress=listener or False)
    with made:
        warm(made.spec, made.recipe)
        if run is not None:
            _show_added(len(made), quiet)


def _has_records(folder: Path) -> bool:
    return (folder / RECORD_INDEX).is_file()


def _documents(folder: Path, **how: Any) -> Any:
    """Open an index of documents."""
    from neardup.api.indexes.indexing import Index

    return Index.open(folder, **how)


def _records(folder: Path) -> Any:
    """Open an index of records."""
    from neardup.api.indexes.record_index import RecordIndex

    return RecordIndex.open(folder)


def _opened(folder: Path) -> Any:
    """Open an index of documents or of records, to read it."""
    return _records(folder) if _has_records(folder) else _documents(folder, readonly=True)


@_command("update people.index changed.csv")
@click.argument("records", metavar="FILE", type=o.PATH)
@o.shared(Reading, "id", help="Column with the ids. [default: that of the index]")
@o.file_options
@o.quiet_option
def update(folder: Path, records: Path, quiet: bool, **how: Any) -> None:
    """Replace the records of FILE in an index of records, by their ids.

    They are linked as if they came now; all others keep their clusters.
    """
    with _records(folder) as found:
        run = found.update(records, **how)
    if not quiet:
        click.echo(str(run), err=True)


@_command("mark people.index labels.csv")
@click.argument("labels", metavar="FILE", type=o.PATH)
@o.private_ids_option
@o.quiet_option
def mark(folder: Path, labels: Path, private_ids: bool, quiet: bool) -> None:
    """Mark pairs of an index of records: id_a, id_b, duplicate (true or false), as a page saves it.

    Their answers stay. Records of a cluster that contradicts a mark are linked again; all others
    keep their clusters.
    """
    with _records(folder) as found:
        again = found.mark(labels, private_ids=private_ids)
    if not quiet:
        click.echo(f"{counted(again, 'record')} linked again", err=True)


@_command("unmark people.index p-17 p-39")
@click.argument("ids", metavar="ID ID", nargs=2)
@o.private_ids_option
def unmark(folder: Path, ids: tuple[str, str], private_ids: bool) -> None:
    """Take back the mark of a pair of records; they keep their clusters."""
    with _records(folder) as found, ids_left_out(private_ids):
        if not found.unmark([ids]):
            raise UnknownIdError("this pair has no mark", "neardup explain INDEX ID ID says so")


@_command("relink people.index")
@o.json_option
def relink(folder: Path, json_: bool) -> None:
    """Report changes that one linkage of all records of an index would make, and change nothing."""
    with _records(folder) as found:
        changes = found.relink()
    click.echo(json.dumps(changes.as_dict(), indent=2) if json_ else str(changes))


@_command("add notes.index notes.jsonl --id id")
@o.inputs_argument
@o.input_options
@_conflict
@o.timeout_option
@o.quiet_option
def add(folder: Path, inputs: Sequence[str], timeout: float, quiet: bool, **how: Any) -> None:
    """Add the documents of INPUT, whatever they are similar to.

    To add those only that are similar to none before them, use neardup stream.
    """
    with _documents(folder, timeout=timeout) as found, show_events(not quiet) as listener:
        paths = [Path(name) for name in inputs]
        count = found.add(paths, **how, progress=listener or False)
    _show_added(count, quiet)


def _show_added(count: int, quiet: bool) -> None:
    from neardup.deduplication.clock import process_start

    if not quiet:
        seconds = time.monotonic() - process_start()
        click.echo(f"added {counted(count, 'document')}, took {seconds:.1f} s", err=True)


@_command("query notes.index new.jsonl --id id")
@o.inputs_argument
@o.input_options
@o.option("--threshold T", help="[default: that of the index]")
@o.option("--top N", help="The N most similar candidates of each document.")
def query(folder: Path, inputs: Sequence[str], **options: Any) -> None:
    """Print the similar documents in INDEX for those of INPUT, as JSON lines.

    Each line has query (the id, or the position in the input), id, similarity, query_contained and
    match_contained. Nothing is added.
    """
    reading = o.group_of(Reading, options)

    def answer(found: Any, batch: Batch) -> Any:
        return found.query(batch.texts, group=batch.groups, **options)

    _print_answers(folder, inputs, reading, answer)


def _print_answers(
    folder: Path, inputs: Sequence[str], reading: Reading, answer: Callable[[Any, Any], Any]
) -> None:
    """Print the rows that an index answers for some batches."""
    from neardup.deduplication.clock import Clock
    from neardup.index.incoming import batches_of
    from neardup.options.how_read import how_read

    done = 0
    with _documents(folder, readonly=True) as found:
        how = how_read(reading, items=found.recipe.shingle.unit == "item")
        clock = Clock(lambda event: click.echo(event.note, err=True) if event.note else None)
        paths, within = [Path(name) for name in inputs], found.recipe.within
        for batch in batches_of(paths, None, how, clock, within):
            for row in answer(found, batch).to_pylist():
                row_number = row["query"]
                row["query"] = batch.ids[row_number] if batch.ids else done + row_number
                sys.stdout.write(json.dumps(row) + "\n")
            done += len(batch.texts)


@_command("copied notes.index new.jsonl --id id")
@o.inputs_argument
@o.input_options
def copied(folder: Path, inputs: Sequence[str], **options: Any) -> None:
    """Print which parts of the documents of INPUT are copied from those in INDEX, as JSON lines.

    Each line is a passage: query (the id, or the position in the input), start, end, words,
    source_id, source_start, source_end, origin_id, origin_start, documents and kind, as in
    passages.parquet of neardup passages. INDEX was made with --passages. Nothing is added, and
    documents of INPUT are not compared with each other.
    """
    reading = o.group_of(Reading, options)
    _print_answers(folder, inputs, reading, lambda found, batch: found.copied(batch.texts))


@_command("remove notes.index note-17")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@o.private_ids_option
@o.timeout_option
def remove(folder: Path, ids: Sequence[str], private_ids: bool, timeout: float) -> None:
    """Remove documents, or records. Put -- before ids that begin with -.

    Prints the ids of documents that neardup stream has answered as duplicates of these, a line for
    each. They are not in the index: send them again to have them back. In an index of records, the
    other records keep their clusters.
    """
    if _has_records(folder):
        with _records(folder) as records, ids_left_out(private_ids):
            records.remove(ids)
        click.echo(f"removed {counted(len(set(ids)), 'record')}", err=True)
        return
    with _documents(folder, timeout=timeout) as found, ids_left_out(private_ids):
        released = found.remove(found.spelled(ids))
    for id_ in released:
        click.echo(id_)
    click.echo(f"removed {counted(len(set(ids)), 'document')}", err=True)


@_command("merge notes.index other.index")
@click.argument("other", metavar="OTHER", type=o.PATH)
@_conflict
@o.private_ids_option
@o.timeout_option
def merge(folder: Path, other: Path, on_conflict: Any, private_ids: bool, timeout: float) -> None:
    """Add all documents of the index OTHER, which has the same recipe."""
    with (
        _documents(folder, timeout=timeout) as found,
        _documents(other, readonly=True) as more,
        ids_left_out(private_ids),
    ):
        count = found.merge(more, on_conflict=on_conflict)
    click.echo(f"added {counted(count, 'document')}", err=True)


@_command("backup notes.index /backup/notes.index")
@click.argument("to", metavar="NEW", type=o.LOCAL_TARGET)
def backup(folder: Path, to: Path) -> None:
    """Copy INDEX, as it is at one moment, to the folder NEW; others can write meanwhile."""
    with _documents(folder, readonly=True) as found:
        found.backup(to)


@_command("compact notes.index --purge")
@o.option("--purge", help="Remove the texts of removed documents from the disk too.")
@o.timeout_option
def compact(folder: Path, purge: bool, timeout: float) -> None:
    """Make one segment of all, without removed documents."""
    with _documents(folder, timeout=timeout) as found:
        found.compact(purge)


@_command("check notes.index")
def check(folder: Path) -> None:
    """Read all of INDEX; print its errors, or that there are none; exit with 1 if there are any."""
    from neardup.errors import StoreError

    kind = "record" if _has_records(folder) else "document"
    with _opened(folder) as found:
        problems = found.check()
        if not problems:
            click.echo(f"no errors, {counted(len(found), kind)}")
    for problem in problems:
        click.echo(problem)
    if problems:
        raise StoreError(f"{folder}: the index is damaged", "restore it from a copy")


@_command("stats notes.index")
@o.json_option
def stats(folder: Path, json_: bool) -> None:
    """Print numbers of documents and segments, or of records and clusters, and bytes."""
    with _opened(folder) as found:
        values = found.stats()
    if json_:
        click.echo(json.dumps(values, indent=2))
        return
    for name, value in values.items():
        shown = f"{value:,}" if type(value) is int else value
        click.echo(f"{name.replace('_', ' '):<16} {shown}")


#: Options of pages that apply to runs only.
_OF_RUNS = ("show", "by", "no_text", "max_items", "max_size", "min_group", "context", "threads")


def report_index(folder: Path, out: Path, form: PageForm) -> Path:
    """Write the page of an index."""
    from neardup.views.all_views import write_report
    from neardup.views.view import PageOptions

    if given := o.given_options(*_OF_RUNS):
        raise SpecError(f"`{given[0]}` does not apply to an index", "leave it out")
    with _documents(folder, readonly=True) as index:
        return write_report(index, out, PageOptions(form), folder.iterdir())
