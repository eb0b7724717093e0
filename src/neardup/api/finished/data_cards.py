"""Data cards of corpora, as text and as files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from neardup.errors import InputError, SpecError, spelled
from neardup.frame.run import Run
from neardup.options.arguments import expanded
from neardup.output.outfile import check_file, write_file

if TYPE_CHECKING:
    from neardup.api.against import AgainstRun
    from neardup.api.copying import PassagesRun
    from neardup.api.decontaminating import DecontaminateRun
    from neardup.api.finished.runs import DedupRun

FORMATS = ("markdown", "json")


@expanded
def data_card(
    *runs: DedupRun | AgainstRun | PassagesRun | DecontaminateRun,
    path: str | os.PathLike[str] | None = None,
    format: str = "markdown",
    by: str | None = None,
    title: str | None = None,
    overwrite: bool = False,
) -> str:
    """Return the data card of a corpus that went through some steps, and write it to a file.

    It has documents, words and bytes before and after, by source if asked; exact and near
    duplicates, words that were cut, documents that have a test item; recall, settings, versions
    and commands; and a paragraph on the methods, with its references. The input of the first step
    and the clean corpus of the last one are read again. Of Markdown, the head is that of a dataset
    card of Hugging Face.

    Args:
        runs: Results of texts in the order of the steps, such as a `neardup.DedupRun`, then a
            `neardup.PassagesRun`: each has read the clean corpus of the one before.
        path: File to write; only its owner can read it.
        format: ``"markdown"`` or ``"json"``.
        by: A column, such as a source: numbers of each of its values.
        title: Heading; the name of the last folder without it.
        overwrite: Replace the file if it exists.

    Returns:
        The card.

    Raises:
        InputError: The runs are no steps of one corpus, or an input is gone or has changed.
        OutputError: The file exists, or can't be written.
        SpecError: There is no such format.

    Examples:
        >>> import neardup
        >>> card = data_card(neardup.dedup(["one text", "one text"]), title="Two")
        >>> "| all | 2 | 1 | 4 | 2 | 16 | 8 |" in card
        True
    """
    from neardup.views.text import data_card as cards

    if format not in FORMATS:
        raise SpecError(f"`format` is {spelled(format)}; expected {' or '.join(FORMATS)}")
    if not runs:
        raise SpecError("there is no run to make a data card of", "give one, or several in order")
    for run in runs:
        if not isinstance(run, Run):
            kind = type(run).__name__
            raise InputError(f"a data card is of runs, and one is of type {kind}")
        cards.require_texts(run)
    of = [str(name) for run in runs for name in run._storage.inputs]
    target = None if path is None else check_file(path, of, overwrite)
    card = cards.card_of(runs, by)
    name = title or ("A corpus" if runs[-1].path is None else cards.name_of(runs[-1]))
    text = cards.markdown(card, name) if format == "markdown" else json.dumps(card, indent=2) + "\n"
    if target is not None:
        write_file(target, text.encode())
    return text
