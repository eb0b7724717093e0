"""``neardup explain`` and ``neardup compare``: documents and texts next to each other."""

import itertools
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from neardup.cli import command_options as o
from neardup.cli.main import as_options
from neardup.cli.showing import Pager, in_colour, on_run, open_records, open_run, show_options
from neardup.errors import InputError, SpecError, hint_instead
from neardup.options.option_groups import Reading

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
    have changed. RUN may be the output folder of neardup link too, or its index of records: then
    the match weights of two records are shown; of one record, in such a folder, its cluster and its
    candidates. Put -- before ids that begin with -.
    """
    from neardup.api.finished.documents_run import DocumentsRun
    from neardup.inspect.explain import Explanation
    from neardup.inspect.one_document import PassageExplanation
    from neardup.values.json_values import plain_id
    from neardup.views.compared import view
    from neardup.views.text.passage_text import render

    page = Pager.of(options)
    opened = open_records(run) or open_run(run, "explain")
    if isinstance(opened, DocumentsRun):
        page.check(opened._results.inputs, opened._results.read_from)
    elif page.html is not None:
        raise SpecError(
            f"`html` does not apply to an output of neardup {opened.command}",
            "leave it out; neardup report makes a page",
        )
    ids = (id_,) if other is None else (id_, other)
    options |= {"texts": not no_text}
    found = on_run(opened, "explain", *ids, **options)
    if isinstance(found, Explanation):
        found = replace(found, notes=tuple(map(as_options, found.notes)))
        page.show(view(found), found.as_dict())
    elif page.json_:
        click.echo(json.dumps(found, indent=2, default=plain_id))
    elif isinstance(found, PassageExplanation):
        click.echo(render(found, in_colour()), color=True)
    else:
        click.echo(str(found))


@o.grouped("neardup pairs out --texts -o pairs.csv")
@o.run_argument
@o.of_output("--texts", help="Add both texts, which are read from the input again.")
@o.of_output(
    "--doubtful",
    help="Of a linkage: the candidates that are worth a mark, the most doubtful first, with the "
    "values of both records.",
)
@o.of_output(
    "--limit N", type=click.IntRange(1), help="Rows of --doubtful at most.  [default: 100]"
)
@o.of_output("--bom", help="Begin with the byte order mark by which Excel knows UTF-8.")
@o.file_option("-o", "--output", "out", what="File to make. [default: standard output]")
@o.of_output("--overwrite", help="Replace FILE if it exists.")
@o.quiet_option
def pairs(
    run: Path,
    texts: bool,
    doubtful: bool,
    limit: int | None,
    bom: bool,
    out: Path | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Write pairs as CSV, for a spreadsheet: id_a, id_b, similarity, and both texts.

    RUN is the output folder of a command. Of neardup dedup the pairs are the edges if these were
    listed (--pairs all); else each removed document, id_b, and the one that it is a duplicate of,
    id_a. With --against, in_old is true where id_a is of the old corpus, whose texts are read again
    too, where they can be; with --old-only, the pairs are the matches. A text or an id that begins
    like a formula of a spreadsheet gets an apostrophe before it.

    Of neardup decontaminate the pairs are the matches: test_id and train_id, and with --texts the
    passage that both have; of neardup passages, doc_id and source_id, with --texts the passage and
    its source. Of neardup link they are the records that are the same, each field of
    one next to that of the other; with --doubtful the candidates that are worth a mark, and with a
    column duplicate, true or false, that file is for --labels. Where ids are private, rows replace
    them. Excel reads other letters than those of English wrongly without --bom.
    """
    from neardup.files.private_files import replacing
    from neardup.output.outfile import check_file
    from neardup.results.results import Results
    from neardup.views.spreadsheet import csv_rows

    found = open_run(run, "pairs")
    records = found.command == "link"
    if doubtful or not records:
        found.require("doubtful" if doubtful else "pairs")
    if limit is not None and not doubtful:
        raise SpecError("`limit` is of the pairs that `doubtful` lists", "leave it out")
    if records:
        if out is not None:
            check_file(out, [], overwrite)
        most = {} if limit is None else {"limit": limit}
        rows = csv_rows([found.doubtful(**most) if doubtful else found.pairs_with_records()])
    else:
        results = Results(found._storage)
        if out is not None:
            check_file(out, results.inputs, overwrite, results.read_from)
        rows = csv_rows(found._pairs(texts, _note))
    if bom:
        rows = itertools.chain(["\ufeff"], rows)
    if out is None:
        for lines in rows:
            click.echo(lines, nl=False)
        return
    with replacing(Path(os.path.realpath(out))) as file:
        for lines in rows:
            file.write(lines.encode(errors="replace"))
    if not quiet:
        click.echo(f"{'written':<13}{out}", err=True)


def _note(text: str) -> None:
    click.echo(f"{'note':<13}{text}", err=True)


@o.grouped("neardup compare a.txt b.txt --shingle word:3")
@click.argument("file1", metavar="FILE1")
@click.argument("file2", metavar="FILE2")
@o.shared(Reading, "encoding", "encoding_errors")
@o.pair_options
@o.no_text_option
@show_options
def compare(
    file1: str,
    file2: str,
    encoding: str | None,
    encoding_errors: str,
    no_text: bool,
    **options: Any,
) -> None:
    """Show what two texts share, and where they differ.

    Each file is one text, of 64 MiB at most; one of them may be - for standard input. Whether they
    are duplicates is decided as neardup dedup would, with the same options.
    """
    if file1 == file2 == "-":
        raise SpecError("both texts are to come from standard input", "name one file")
    page, spec = Pager.of(options), o.spec_of(options)
    page.check((file1, file2))
    from neardup.inspect.compare import compare
    from neardup.sketch.baskets import sorted_lines
    from neardup.views.compared import view_of_pair

    a, b = (_text(name, encoding, encoding_errors) for name in (file1, file2))
    if spec.shingle.unit == "item":  # a line is an item, and lines have no order
        a, b = sorted_lines(a), sorted_lines(b)
    found = compare(a, b, spec)
    shingle, texts = str(spec.shingle), () if no_text else (a, b)
    values = {"files": [file1, file2], "shingle": shingle, **found.as_dict()}
    if not no_text:
        values["texts"] = [a, b]
    page.show(view_of_pair(found, shingle, (file1, file2), texts), values)


def _text(name: str, encoding: str | None, encoding_errors: str) -> str:
    """Return the text of a file, whatever its ending."""
    from neardup.io.opening import Characters, open_source
    from neardup.io.source import Columns

    path = Path(name)
    if name != "-" and path.is_dir():
        raise InputError(f"{name} is a folder; expected a file with one text")
    columns = Columns(encoding_errors=encoding_errors)
    plain = "each file is one plain text"
    with hint_instead(plain, "input_format", "max_document"):
        source = open_source([path], columns, "text", Characters(encoding=encoding))
        if sum(file.size or 0 for file in source.files) > _MOST:
            raise InputError(f"{name}: larger than {_MOST >> 20} MiB, for one text")
        texts = [text for part in source.partitions() for text in part.read().text.to_pylist()]
    return texts[0] or "" if texts else ""
