"""One way to open what any command wrote."""

from __future__ import annotations

import os
from typing import Any

from neardup.api.finished.listed_report import ListedReport
from neardup.api.finished.runs import Run
from neardup.errors import SpecError
from neardup.files.given_path import GivenPath
from neardup.frame.arguments import expanded
from neardup.io.remote import Url, located
from neardup.results.any_run import AnyRun
from neardup.results.folder_results import FolderResults


class _AnyFolder(FolderResults):
    """The record of any command; its tables are read by the class for that command."""

    commands = ()


class FromSpark(ListedReport, Run):  # type: ignore[misc]
    """Output of a job on Apache Spark; documents have the order of their ids.

    Its input is not read here: explanations have no texts, and what needs them is refused.
    """

    command = "spark"

    audit, recluster = AnyRun.audit, AnyRun.recluster
    pairs_with_texts = AnyRun.pairs_with_texts


@expanded
def open(folder: str | os.PathLike[str], *, source: object = None) -> Any:
    """Open the output folder of a command, or an index.

    Args:
        folder: The one given to the command with ``-o``, or to a function as ``out``; a folder or
            a URL.
        source: The input of a run of `neardup.dedup`, if it can't find that itself: a frame, or
            files that are elsewhere now. It is compared with a digest of the texts, and by its ids.

    Returns:
        By the command that made the folder: a `neardup.Run` (``dedup``, ``recluster``), the same
        without texts (``spark``), `neardup.api.against.AgainstRun` (``dedup --against``),
        `neardup.api.decontaminating.Decontamination`, `neardup.PassageRun` or `neardup.LinkRun`;
        a `neardup.Index` or `neardup.RecordIndex` that is only read, where it is one.

    Raises:
        InputNotFoundError: There is no finished run in it.
        InputError: It was made by another version, or is damaged; or ``source`` is another input.
        SpecError: ``source`` is given for something else.
    """
    target = located(folder)
    found = _index(target)
    if found is None:
        found = _run(target)
    if source is not None:
        if not (type(found) is Run and isinstance(found._results, FolderResults)):
            raise SpecError(
                f"`source` is for runs of neardup dedup, and {folder} is none", "leave it out"
            )
        found._results.give(source)
        return Run(found._results)
    return found


def _index(target: Url | GivenPath) -> Any:
    """Return an index in a local folder; None where there is none."""
    if isinstance(target, Url):
        return None
    if (target.path / "index.sqlite").is_file():
        from neardup.api.indexes.indexing import Index

        return Index.open(target, readonly=True)
    if (target.path / "records.sqlite").is_file():
        from neardup.records.incremental.record_index import RecordIndex

        return RecordIndex.open(target, readonly=True)
    return None


def _run(folder: Url | GivenPath) -> Any:
    record = _AnyFolder(folder).record
    match record["command"]:
        case "dedup --against":
            from neardup.api.against import AgainstRun
            from neardup.results.other_folders import AgainstFolder

            return AgainstRun(AgainstFolder(folder))
        case "decontaminate":
            from neardup.api.decontaminating import Decontamination

            return Decontamination.open(folder)
        case "passages":
            from neardup.api.copying import PassageRun

            return PassageRun.open(folder)
        case "link":
            from neardup.records.outputs.link_runs import LinkRun

            return LinkRun.open(folder)
        case "spark":
            from neardup.results.other_folders import SparkFolder

            return FromSpark(SparkFolder(folder))
        case "spark --passages":
            from neardup.api.copying import PassageRun
            from neardup.copies.passage_results import SparkPassages

            return PassageRun(SparkPassages(folder))
        case _:
            return Run(FolderResults(folder))
