"""``against`` as an index: an index, a run, or a corpus that is sketched first."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.api.finished.runs import Run
from neardup.api.indexes.index_folders import index_of
from neardup.api.indexes.indexing import Index
from neardup.corpora.corpus import InputCorpus, naming
from neardup.corpora.of_run import results_of
from neardup.corpora.old_texts import OldTexts, of_files, of_index, of_run_folder
from neardup.engines.identifiers import take_ids
from neardup.errors import InputError, InputNotFoundError, SpecError
from neardup.files.given_path import GivenPath
from neardup.index.answers import id_values
from neardup.index.bodies import Id
from neardup.index.transactions import Batch
from neardup.io.opening import Reading
from neardup.io.remote import Url, is_remote, local_target, located
from neardup.results.folder_results import FolderResults
from neardup.results.results import Results
from neardup.sketch.texts import as_text
from neardup.spec import ShingleSpec, Spec

_INDEX = "index.sqlite"


@dataclass(frozen=True)
class OldIndex:
    """An old corpus that a batch can be compared with.

    Attributes:
        index: Its documents.
        spec: Settings; ``keep``, ``order_by`` and ``max_bucket`` are for the batch.
        ids: Returns the ids that users know, of those that the index knows.
    """

    index: Index
    spec: Spec
    ids: Callable[[list[Id]], Any]


def is_corpus(against: object) -> bool:
    """Return whether an old corpus is neither an index nor a run, nor a folder of one."""
    if isinstance(against, Index | Run):
        return False
    if not isinstance(against, str | os.PathLike):
        return True
    target = located(against)
    if isinstance(target, Url):
        try:
            FolderResults(target)
        except InputNotFoundError:
            return True
        return False
    return not any((target.path / name).is_file() for name in (_INDEX, "run.json"))


def size_of(old: Index | Results | InputCorpus, shingle: ShingleSpec) -> tuple[int, int]:
    """Return how many documents an index in memory is made of, and about the bytes of their text.

    Raises:
        InputError: The input of an old run can't be read again.
    """
    if isinstance(old, Index):
        return 0, 0
    # Of an old run the kept documents are read: where its input was a frame, from its clean corpus.
    corpus = InputCorpus(old.kept_documents().reader, None) if isinstance(old, Results) else old
    load = corpus.workload(1, shingle)
    documents = old.record["counts"]["kept"] if isinstance(old, Results) else load.documents
    return documents, documents * load.text // max(1, load.documents)


def about_old(against: Any, corpus: InputCorpus | None) -> dict[str, Any]:
    """Return the record of an old corpus, by which its texts can be found again.

    Args:
        against: It, as it was given.
        corpus: Its files or frame, where it was sketched first.
    """
    if corpus is not None:
        return {"kind": "corpus", "source": corpus.record()["source"]}
    path = against.path if isinstance(against, Index | Run) else located(against)
    stored = None if path is None else os.fspath(path)
    if isinstance(against, Index) or (
        isinstance(path, GivenPath) and (path.path / _INDEX).is_file()
    ):
        return {"kind": "index", "path": stored}
    digest = results_of(against).record["texts_digest"]
    return {"kind": "run", "path": stored, "texts_digest": digest}


def old_texts(about: dict[str, Any], opened: ExitStack) -> OldTexts:
    """Return the texts of an old corpus, given its record; closed with ``opened``.

    Raises:
        InputError: It is gone, or has changed, or was in memory.
    """
    if about["kind"] == "corpus":
        if about["source"] is None:
            raise InputError("it was a frame or a pipe")
        return of_files(about["source"])
    if about["path"] is None:
        raise InputError("it was in memory only")
    if about["kind"] == "run":
        return of_run_folder(about["path"], about["texts_digest"])
    return of_index(opened.enter_context(Index.open(about["path"], readonly=True))._core)


def open_corpus(against: object, reading: Reading) -> InputCorpus:
    """Open an old corpus that is sketched first.

    Raises:
        InputError: It can't be used.
    """
    if isinstance(against, bool | int | float | bytes):
        raise SpecError(
            f"`against` is of type {type(against).__name__}; expected an index, a run, or a corpus",
            "name the folder of an index, the output of neardup dedup, or files",
        )
    _refuse_folder_of_indexes(against)
    try:
        with naming("old_"):
            return InputCorpus.open(against, reading.of_another(against))
    except InputNotFoundError as error:
        error.hint = "name the folder of an index, the output of neardup dedup, or files"
        raise


def _refuse_folder_of_indexes(against: object) -> None:
    """Refuse a folder of indexes and runs, whose files are not meant."""
    if not isinstance(against, str | os.PathLike) or is_remote(located(against)):
        return
    given = local_target(against)
    folder = given.path
    for child in sorted(folder.iterdir()) if folder.is_dir() else ():
        if child.is_dir() and not is_corpus(child):
            inner = given / child.name
            raise InputNotFoundError(
                f"{given}: there is neither an index nor a finished run; {inner} is one",
                f"name {inner}",
            )


def index_of_corpus(corpus: InputCorpus, spec: Spec, opened: ExitStack) -> OldIndex:
    """Return an index in memory of all documents of an old corpus, whose numbers are their ids."""
    plain = spec.replace(keep="first", order_by=None, max_bucket=None)
    index = opened.enter_context(Index.create(spec=plain, store_text=False))
    with naming("old_"):
        done = 0
        for _, partition in corpus.reader.partitions():
            documents = corpus.read(partition)
            corpus.enter(*corpus.about(partition, documents))
            numbers: list[Id] = list(range(done, done + len(documents.text)))
            index._insert([Batch(numbers, as_text(documents.text, index._items))], "error")
            done += len(numbers)
        ids = corpus.ids()
    return OldIndex(index, spec, lambda rows: take_ids(ids, np.array(rows, dtype=np.int64)))


def opened_old(against: Any, opened: ExitStack) -> Index | Results:
    """Open an old index or a run, and read nothing of it yet; closed with ``opened``."""
    if isinstance(against, str | os.PathLike) and not is_remote(located(against)):
        folder = local_target(against)
        if (folder.path / _INDEX).is_file():
            return opened.enter_context(Index.open(folder, readonly=True))
    return against if isinstance(against, Index) else results_of(against)


def index_of_old(old: Index | Results, opened: ExitStack) -> OldIndex:
    """Return an old index, or one in memory of the kept documents of a run.

    What this call opens is closed with ``opened``.
    """
    if isinstance(old, Index):
        core = old._core
        return OldIndex(old, old.spec, lambda ids: id_values(ids, core.catalogue.state().ids))
    made = opened.enter_context(index_of(Index, old))
    return OldIndex(made, old.spec, lambda ids: take_ids(old.ids, np.array(ids, dtype=np.int64)))
