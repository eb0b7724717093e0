"""Old corpora as they are given: an index, a run, or files or a frame."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

from neardup.api.finished.documents_run import DocumentsRun
from neardup.api.indexes.indexing import Index
from neardup.corpora.corpus import InputCorpus, naming
from neardup.corpora.of_run import results_of
from neardup.corpora.old_texts import OldTexts, of_files, of_index, of_run_folder
from neardup.errors import InputError, InputNotFoundError, SpecError
from neardup.files.given_path import GivenPath
from neardup.io.remote import Url, is_remote, local_target, located
from neardup.options.how_read import how_read
from neardup.options.option_groups import Reading
from neardup.result_record import INDEX, RECORD, RECORD_INDEX
from neardup.results.results import Results, open_results
from neardup.state.run_state import RunState


def is_corpus(old: object) -> bool:
    """Return whether an old corpus is neither an index nor a run, nor a folder of one."""
    if isinstance(old, Index | DocumentsRun):
        return False
    if not isinstance(old, str | os.PathLike):
        return True
    target = located(old)
    if isinstance(target, Url):
        try:
            open_results(target)
        except InputNotFoundError:
            return True
        return False
    return not any((target.path / name).is_file() for name in (INDEX, RECORD_INDEX, RECORD))


def about_old(old: Any, corpus: InputCorpus | None) -> dict[str, Any]:
    """Return the record of an old corpus, by which its texts can be found again.

    Args:
        old: It, as it was given.
        corpus: Its files or frame, where it was sketched first.
    """
    if corpus is not None:
        return {"kind": "corpus", "source": corpus.record(corpus.ends)["source"]}
    path = old.path if isinstance(old, Index | DocumentsRun) else located(old)
    stored = None if path is None else os.fspath(path)
    if isinstance(old, Index) or (isinstance(path, GivenPath) and (path.path / INDEX).is_file()):
        return {"kind": "index", "path": stored}
    digest = results_of(old).record["texts_digest"]
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


def open_corpus(
    old: object, reading: Reading, within: str | None, state: RunState | None
) -> InputCorpus:
    """Open an old corpus that is sketched first; pipes are copied into the state of a run.

    ``within`` is the column of its groups.

    Raises:
        InputError: It can't be used.
    """
    if isinstance(old, bool | int | float | bytes):
        raise SpecError(
            f"`old` is of type {type(old).__name__}; expected an index, a run, or a corpus",
            "name the folder of an index, the output of neardup dedup, or files",
        )
    _refuse_folder_of_indexes(old)
    try:
        with naming("old_"):
            how = how_read(reading).of_another(old)
            columns = () if within is None else (within,)
            return InputCorpus.open(old, how, columns, state, "old-inputs")
    except InputNotFoundError as error:
        error.hint = "name the folder of an index, the output of neardup dedup, or files"
        raise


def _refuse_folder_of_indexes(old: object) -> None:
    """Refuse a folder of indexes and runs, whose files are not meant."""
    if not isinstance(old, str | os.PathLike) or is_remote(located(old)):
        return
    given = local_target(old)
    folder = given.path
    for child in sorted(folder.iterdir()) if folder.is_dir() else ():
        if child.is_dir() and not is_corpus(child):
            inner = given / child.name
            raise InputNotFoundError(
                f"{given}: there is neither an index nor a finished run; {inner} is one",
                f"name {inner}",
            )


def opened_old(old: Any, opened: ExitStack) -> Index | Results:
    """Open an old index or a run, and read nothing of it yet; closed with ``opened``."""
    if isinstance(old, str | os.PathLike) and not is_remote(located(old)):
        folder = local_target(old)
        if any((folder.path / name).is_file() for name in (INDEX, RECORD_INDEX)):
            return opened.enter_context(Index.open(folder, readonly=True))
    return old if isinstance(old, Index) else results_of(old)
