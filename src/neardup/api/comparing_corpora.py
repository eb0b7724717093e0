"""One corpus against another: what is new in a batch, and what contains a test item."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.api.arguments import checked
from neardup.api.indexing import Index
from neardup.api.runs import Run
from neardup.errors import InputError, InputNotFoundError, SpecError
from neardup.index.incoming import Reading
from neardup.index.whole.against import decide
from neardup.index.whole.corpora import (
    Corpus,
    check_formats,
    new_folder,
    write_record,
    write_table,
)
from neardup.index.whole.decontaminating import Asked, matches_of
from neardup.spec import ShingleSpec
from neardup.threads import Pool, check_threads

_BY = ("containment", "similarity")


@dataclass(frozen=True)
class Against:
    """What `neardup.dedup_against` found.

    Attributes:
        table: A row for each document of the batch: ``doc``, its position; ``doc_id``; ``kept``;
            ``duplicate_of``, id of the document that it is a duplicate of; ``similarity``, exact,
            of the two; ``in_old``, whether that one is of the old corpus.
        keep_mask: bool[n]: which documents are kept.
        summary: Settings and counts.
    """

    table: pa.Table
    keep_mask: np.ndarray
    summary: dict[str, Any]


@dataclass(frozen=True)
class Decontamination:
    """What `neardup.decontaminate` found.

    Attributes:
        matches: A row for each training document and test item that match: ``train_doc``, its
            position, and ``train_id``; ``test_doc``, ``test_id``; ``containment``, the exact share
            of the item's shingles that the document has; ``passage``, the number of words of the
            longest run that both have; ``passage_in_train`` and ``passage_in_test``, the number of
            words before it.
        keep_mask: bool[n]: training documents that match nothing.
        summary: Settings and counts.
    """

    matches: pa.Table
    keep_mask: np.ndarray
    summary: dict[str, Any]


@checked
def dedup_against(
    source: object,
    against: str | os.PathLike[str] | Index | Run,
    *,
    text: str | Sequence[str] = "text",
    id: str | None = None,
    out: str | os.PathLike[str] | None = None,
    format: str | None = None,
    overwrite: bool = False,
    input_format: str | None = None,
    encoding_errors: str = "strict",
    delimiter: str | None = None,
    max_document: int | str = "256MB",
    skip_large: bool = False,
) -> Against:
    """Find what is new in a batch: similar to nothing in an old corpus, and once in the batch.

    The settings are those of the old corpus. Documents are decided in the order of the input; of
    those that are similar to nothing old, the first one is kept, as `neardup.dedup` with
    ``keep="first"`` does. The old corpus is only read.

    Args:
        source: The batch, as for `neardup.dedup`.
        against: An index or its folder; or a run or its output folder, of which the kept documents
            count and whose input is read again.
        text: As for `neardup.dedup`, as are ``id``, ``input_format``, ``encoding_errors``,
            ``delimiter``, ``max_document`` and ``skip_large``.
        out: Folder to write to: ``clean`` (the kept documents), ``duplicates.parquet`` and
            ``against.json``. Without it the result is in memory only.
        format: As for `neardup.dedup`.
        overwrite: Replace what an earlier call left there.

    Returns:
        What was found.

    Raises:
        InputError: The batch or the old corpus can't be used.
        OutputError: The output folder exists, or can't be written.

    Examples:
        >>> old = Index.create()
        >>> old.add(["one two three four five six"], ids=["a"])
        1
        >>> batch = ["one two three four five six", "x y z", "x, y, z"]
        >>> dedup_against(batch, old).keep_mask.tolist()
        [False, True, False]
    """
    limits = (max_document, skip_large)
    reading = Reading(_names(text), id, input_format, encoding_errors, delimiter, *limits)
    corpus = Corpus.open(source, reading)
    check_formats(corpus, format)
    index, mine = _old(against)
    try:
        fresh = Index.create(spec=index.spec, recipe=index.recipe, store_text=False)
        table, kept = decide(corpus, index._core, fresh._core)
    finally:
        if mine:
            index.close()
    in_old = int(np.count_nonzero(table.column("in_old").to_numpy()))
    summary = {
        "documents": len(kept),
        "skipped": corpus.skipped,
        "kept": int(kept.sum()),
        "similar_to_old": in_old,
        "similar_within": len(kept) - int(kept.sum()) - in_old,
        "threshold": index.spec.threshold,
        "recipe": index.recipe.as_dict(),
    }
    if out is not None:
        with new_folder(Path(out), overwrite, "against.json") as folder:
            write_table(folder / "duplicates.parquet", table)
            (folder / "clean").mkdir(mode=0o700)
            corpus.write(kept, folder / "clean", format)
            write_record(folder / "against.json", summary)
    return Against(table, kept, summary)


@checked
def decontaminate(
    train: object,
    against: object,
    *,
    by: str = "containment",
    threshold: float = 0.8,
    passage: int | None = None,
    shingle: str | ShingleSpec = "word:5",
    text: str | Sequence[str] = "text",
    id: str | None = None,
    test_text: str | Sequence[str] | None = None,
    test_id: str | None = None,
    out: str | os.PathLike[str] | None = None,
    format: str | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    input_format: str | None = None,
    encoding_errors: str = "strict",
    delimiter: str | None = None,
    max_document: int | str = "256MB",
    skip_large: bool = False,
) -> Decontamination:
    """Find the training documents that contain a test item, exactly.

    The test items are held in memory; the training corpus is read once, and again to write the
    clean one. Line breaks never matter: texts are compared word by word.

    Args:
        train: The training corpus, as ``source`` for `neardup.dedup`.
        against: The test items, likewise.
        by: ``"containment"``: the share of the item's shingles that a document has; or
            ``"similarity"``: their Jaccard similarity.
        threshold: Lowest share or similarity of a match, in (0, 1].
        passage: Instead: so many consecutive words that both have are a match.
        shingle: What is compared, such as ``"word:5"``.
        text: Column with the text of the training documents, or several.
        id: Column with their ids; positions without it.
        test_text: The same of the test items; as for the training documents by default.
        test_id: Column with the ids of the test items; positions without it.
        out: Folder to write to: ``clean`` (training documents without a match),
            ``matches.parquet`` and ``decontamination.json``.
        format: As for `neardup.dedup`, as are ``input_format``, ``encoding_errors``,
            ``delimiter``, ``max_document`` and ``skip_large``.
        overwrite: Replace what an earlier call left there.
        threads: Number of threads; all cores by default.

    Returns:
        What was found.

    Raises:
        InputError: An input can't be used.
        OutputError: The output folder exists, or can't be written.
        SpecError: A setting is out of range.

    Examples:
        >>> train = ["some words before one two three four five six and after", "else"]
        >>> found = decontaminate(train, ["One two three\\nfour five six"])
        >>> found.keep_mask.tolist(), found.matches.column("passage").to_pylist()
        ([False, True], [6])
    """
    asked = _asked(by, threshold, passage, shingle)
    check_threads(threads)
    limits = (max_document, skip_large)
    reading = Reading(_names(text), id, input_format, encoding_errors, delimiter, *limits)
    corpus = Corpus.open(train, reading)
    check_formats(corpus, format)
    own = reading._replace(
        text=_names(test_text or text),
        id=test_id,
        input_format=None,
        delimiter=None,
        skip_large=False,
    )
    items = Corpus.open(against, own)
    with Pool(threads) as pool:
        table, searched = matches_of(corpus, items, asked, pool)
    if not items.documents:
        raise InputError("the input holds no test items", "is this the right file?")
    kept = np.ones(corpus.documents, dtype=np.bool_)
    kept[table.column("train_doc").to_numpy()] = False
    summary = {
        "documents": len(kept),
        "skipped": corpus.skipped,
        "kept": int(kept.sum()),
        "removed": int(len(kept) - kept.sum()),
        "test_items": items.documents,
        "test_items_found": len(np.unique(table.column("test_doc").to_numpy())),
        "test_items_shorter_than_a_shingle": searched.short,
        "matches": table.num_rows,
        "by": asked.by,
        "threshold": None if passage else threshold,
        "shingle": str(asked.shingle),
    }
    if out is not None:
        with new_folder(Path(out), overwrite, "decontamination.json") as folder:
            write_table(folder / "matches.parquet", table)
            (folder / "clean").mkdir(mode=0o700)
            corpus.write(kept, folder / "clean", format)
            write_record(folder / "decontamination.json", summary)
    return Decontamination(table, kept, summary)


def _asked(by: str, threshold: float, passage: int | None, shingle: str | ShingleSpec) -> Asked:
    if by not in _BY:
        raise SpecError(f"`by` is {by!r}; expected containment or similarity")
    if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise SpecError(f"threshold is {threshold!r}; expected a number in (0, 1]")
    made = ShingleSpec.parse(shingle) if isinstance(shingle, str) else shingle
    if passage is None:
        return Asked(by, float(threshold), made)
    return Asked("passage", 0.0, ShingleSpec(n=passage))


def _names(text: str | Sequence[str]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)


def _old(against: str | os.PathLike[str] | Index | Run) -> tuple[Index, bool]:
    """Return the index of an old corpus, and whether it is this call's."""
    if isinstance(against, Index):
        return against, False
    if isinstance(against, Run):
        return Index.from_run(against, store_text=False), True
    folder = Path(against)
    if (folder / "index.sqlite").is_file():
        return Index.open(folder, readonly=True), True
    if not (folder / "run.json").is_file():
        raise InputNotFoundError(
            f"{folder}: there is neither an index nor a finished run",
            "name the folder of neardup index create, or the output of neardup dedup",
        )
    return Index.from_run(folder, store_text=False), True
