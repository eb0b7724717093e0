"""``neardup compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neardup.cli.options import debug_option, pair_options, spec_of
from neardup.cli.showing import check_html, html_options, json_option, show
from neardup.errors import SpecError

__all__ = ["compare"]

#: Bytes of a text.
_MOST = 64 << 20


@click.command(no_args_is_help=True)
@click.argument("file1", metavar="FILE1")
@click.argument("file2", metavar="FILE2")
@pair_options
@click.option(
    "--encoding-errors",
    type=click.Choice(["strict", "replace"]),
    default="strict",
    show_default=True,
    help="Refuse text that is not UTF-8, or replace what is wrong and go on.",
)
@click.option("--no-text", is_flag=True, help="Leave the texts out.")
@json_option
@html_options
@debug_option
def compare(
    file1: str,
    file2: str,
    encoding_errors: str,
    no_text: bool,
    json_: bool,
    html: Path | None,
    overwrite: bool,
    **options: Any,
) -> None:
    """Say what two texts share, and show where they differ.

    Each file is one text, of 64 MiB at most; one of them may be - for standard input. Whether they
    are duplicates is decided as neardup dedup would, with the same options.
    """
    if file1 == file2 == "-":
        raise SpecError("both texts are to come from standard input", "name one file")
    spec = spec_of(options)
    check_html(html, (file1, file2), overwrite)
    import neardup
    from neardup.corpus import read_text
    from neardup.report.explain import view_of_pair

    a, b = (read_text(name, _MOST, encoding_errors) for name in (file1, file2))
    found = neardup.compare(a, b, spec)
    texts = () if no_text else (a, b)
    shown = view_of_pair(found, str(spec.shingle), (file1, file2), texts)
    values = {"files": [file1, file2], "shingle": str(spec.shingle), **found.as_dict()}
    if not no_text:
        values["texts"] = [a, b]
    show(shown, values, json_, html)
