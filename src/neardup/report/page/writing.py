"""A finished run as one page that opens in any browser, without network or server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neardup.core.threads import check_threads
from neardup.errors import InputError, SpecError
from neardup.report.outfile import check_file, write_file
from neardup.report.page.clusters import Entries, entries
from neardup.report.page.drawn import figures
from neardup.report.page.members import Bounds, Listed, listed
from neardup.report.page.names import Names
from neardup.report.page.reading import Excerpts, Lengths, excerpts, lengths
from neardup.report.page.rendering import render
from neardup.report.page.sentences import (
    listed_words,
    remarks,
    shares_words,
    source_words,
    verdict,
)
from neardup.report.page.survey import Survey, chosen, survey
from neardup.report.page.words import facts, name_of, steps
from neardup.run.auditing import stored_audit
from neardup.run.events import Event, Listener, Stages
from neardup.run.finished import FinishedRun

__all__ = ["MAX_CLUSTERS", "write_report"]

#: Clusters that a page lists unless it is told otherwise: 5 MB.
MAX_CLUSTERS = 1000


def write_report(
    run: str | Path,
    path: str | Path,
    *,
    texts: bool = True,
    max_clusters: int = MAX_CLUSTERS,
    overwrite: bool = False,
    threads: int | None = None,
    on_event: Listener | None = None,
) -> dict[str, int]:
    """Write what a run found as one HTML file.

    It holds its figures, its script and its data, loads nothing, and forbids the browser to. Texts
    are read from the input of the run again.

    Args:
        run: Output folder of `neardup.dedup_files`.
        path: File to make; it appears as a whole.
        texts: Whether texts of documents may be in it. Without, the input may be gone.
        max_clusters: Clusters listed at most, which bounds the file: about 4 kB for each, and a
            megabyte for the rest. One half are the largest, the others the most suspicious.
        overwrite: Replace the file if it is there.
        threads: Threads that read.
        on_event: Called with what a person should know.

    Returns:
        ``bytes`` of the file, ``clusters`` listed, ``of_clusters``, ``texts`` in it.

    Raises:
        InputNotFoundError: There is no run in the folder.
        InputError: A file of it is damaged; or its input is gone and texts are wanted.
        OutputError: The file exists, or can't be written.
        SpecError: ``max_clusters`` is negative, or ``threads`` is not at least 1.
    """
    if max_clusters < 0:
        raise SpecError(f"max_clusters is {max_clusters}; expected 0 or more")
    check_threads(threads)
    finished = FinishedRun(run)
    path = check_file(path, finished.inputs, overwrite)
    audit = stored_audit(finished)
    measured = _measure(finished, texts, threads, Stages(on_event))
    found = survey(finished, measured)
    picked = chosen(found, max_clusters)
    names = Names(finished, texts)
    bounds, members = listed(found, picked, max_clusters, names.size)
    read = None
    if measured is not None and members:
        wanted = np.unique(np.concatenate([one.compared for one in members]))
        read = excerpts(finished, wanted, bounds.characters, threads)
    data = _entries(found, members, names, read, bounds, texts)
    page = render(
        finished,
        {
            "name": name_of(finished),
            "texts": texts,
            "measured": measured is not None,
            "verdict": verdict(finished, _removed(found)),
            "shares_say": shares_words(finished),
            "remarks": remarks(finished, audit),
            "clusters_say": listed_words(data, len(found.label), texts, bounds.characters),
            "source_says": source_words(finished, measured is not None, texts),
        },
        facts(finished, _removed(found), audit),
        steps(finished),
        list(figures(finished, found, audit)),
        {
            "settings": {
                "threshold": finished.spec.edge_threshold,
                "texts": texts and read is not None,
                "characters": bounds.characters,
            },
            "clusters": data.clusters,
            "texts": data.texts,
        },
    ).encode()
    write_file(path, page)
    return {
        "bytes": len(page),
        "clusters": len(members),
        "of_clusters": len(found.label),
        "texts": len(data.texts),
    }


def _measure(run: FinishedRun, texts: bool, threads: int | None, stages: Stages) -> Lengths | None:
    """Lengths of all texts; None where the input is gone and nothing of it is needed."""
    try:
        found = lengths(run, threads)
    except InputError as error:
        if texts:
            also = "or make the page without texts (--no-text)"
            error.hint = f"{error.hint}, {also}" if error.hint else also[3:]
            raise
        stages.emit(Event("report", note=f"{error}; lengths are not measured"))
        return None
    stages.emit(Event("report", note=f"read again from the input: {name_of(run)}"))
    return found


def _entries(
    found: Survey,
    members: Sequence[Listed],
    names: Names,
    read: Excerpts | None,
    bounds: Bounds,
    texts: bool,
) -> Entries:
    docs = [one.docs for one in members] or [np.zeros(0, dtype=np.int64)]
    ids, kept_by = names.of(np.concatenate(docs))
    return entries(found, members, ids, read, kept_by, bounds, texts)


def _removed(found: Survey) -> tuple[int, int] | None:
    """Bytes of the removed texts, and of all."""
    if found.lengths is None:
        return None
    size = found.lengths.size
    return int(size[~found.kept].sum()), int(size.sum())
