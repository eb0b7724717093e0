"""``neardup explain`` and ``neardup compare``: documents and texts next to each other."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from neardup.cli import options as o
from neardup.cli.main import as_options
from neardup.cli.showing import Page, show_options
from neardup.errors import InputError, SpecError

#: Bytes of a text.
_MOST = 64 << 20


@o.grouped("neardup explain out note-17\nneardup explain out note-17 note-4 --html pair.html")
@o.run_argument
@click.argument("id_", metavar="ID")
@click.argument("other", metavar="[ID2]", required=False)
@o.of_output(
    "--limit N", type=o.COUNT, default=20, help="Duplicates that are named; all are counted."
)
@o.no_text_option
@show_options
@o.threads_option
@o.quiet_notes_option
def explain(
    run: Path, id_: str, other: str | None, no_text: bool, quiet: bool, **options: Any
) -> None:
    """Show why a document was removed or kept, or which of its passages are copied.

    RUN is the output folder of neardup dedup or neardup passages, and ID an id in it; its position
    from 0 if the run had no ids. With ID2, show how these two documents are related. Similarity is
    exact; bands are counted from 1. The documents are read from the input again, which must not
    have changed. Put -- before ids that begin with -.
    """
    from neardup.result_record import result_in

    if result_in(run) == "passages":
        _explain_passages(run, id_, other, not no_text, options)
        return
    from neardup.api.runs import Run
    from neardup.report.views import view
    from neardup.results.folder_results import FolderResults

    results, page = FolderResults(run), Page.of(options)
    page.check(results.inputs, results.read_from)
    found = Run(results).explain(id_, other, texts=not no_text, **options)
    found = replace(found, notes=tuple(map(as_options, found.notes)))
    page.show(view(found), found.as_dict())


def _explain_passages(
    run: Path, id_: str, other: str | None, texts: bool, options: dict[str, Any]
) -> None:
    from neardup.cli.commands.command_passages import explain_passages

    if other is not None or options["html"] is not None:
        raise SpecError(
            f"{run} was made by neardup passages: it is explained by one document, in the terminal",
            "leave out the second id and --html; neardup report makes a page",
        )
    explain_passages(run, id_, texts, options["json_"])


@o.grouped("neardup compare a.txt b.txt --shingle word:3")
@click.argument("file1", metavar="FILE1")
@click.argument("file2", metavar="FILE2")
@o.encoding_option
@o.pair_options
@o.no_text_option
@show_options
def compare(file1: str, file2: str, encoding_errors: str, no_text: bool, **options: Any) -> None:
    """Show what two texts share, and where they differ.

    Each file is one text, of 64 MiB at most; one of them may be - for standard input. Whether they
    are duplicates is decided as neardup dedup would, with the same options.
    """
    if file1 == file2 == "-":
        raise SpecError("both texts are to come from standard input", "name one file")
    page, spec = Page.of(options), o.spec_of(options)
    page.check((file1, file2))
    from neardup.inspect.compare import compare
    from neardup.report.views import view_of_pair
    from neardup.sketch.baskets import sorted_lines

    a, b = (_text(name, encoding_errors) for name in (file1, file2))
    if spec.shingle.unit == "item":  # a line is an item, and lines have no order
        a, b = sorted_lines(a), sorted_lines(b)
    found = compare(a, b, spec)
    shingle, texts = str(spec.shingle), () if no_text else (a, b)
    values = {"files": [file1, file2], "shingle": shingle, **found.as_dict()}
    if not no_text:
        values["texts"] = [a, b]
    page.show(view_of_pair(found, shingle, (file1, file2), texts), values)


def _text(name: str, encoding_errors: str) -> str:
    """Return the text of a file, whatever its ending."""
    from neardup.io.opening import open_source
    from neardup.io.source import Columns

    path = Path(name)
    if name != "-" and path.is_dir():
        raise InputError(f"{name} is a folder; expected a file with one text")
    columns = Columns(encoding_errors=encoding_errors)
    source = open_source([path], columns, input_format="text")
    if sum(file.size or 0 for file in source.files) > _MOST:
        raise InputError(f"{name}: larger than {_MOST >> 20} MiB, for one text")
    texts = [text for part in source.partitions() for text in part.read().text.to_pylist()]
    return texts[0] or "" if texts else ""
