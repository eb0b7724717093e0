"""The texts of documents of an old corpus that a batch was compared with, read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of
from neardup.corpora.corpus import InputCorpus
from neardup.errors import InputError, UnknownIdError
from neardup.files.given_path import current_directory
from neardup.frame.inputs import RecordedInput, Selection
from neardup.index.answers import stored_text
from neardup.index.storing.transactions import Core
from neardup.result_record.decoding import again
from neardup.results.results import Results, open_results

#: Returns the texts of documents by their ids; None where there is no such document any more.
OldTexts = Callable[[Any], list[str | None]]


@dataclass(frozen=True)
class OldDocuments:
    """Documents of an input, with their ids.

    Attributes:
        ids: Theirs; None where positions are the ids.
        selection: Where they are, in the same order.
    """

    ids: pa.ChunkedArray[Any] | None
    selection: Selection

    def __call__(self, ids: Any) -> list[str | None]:
        rows = np.asarray(pc.fill_null(self._rows(ids), -1).to_numpy(), dtype=np.int64)
        there, selection = rows >= 0, self.selection
        texts = iter(selection.input.texts(selection.positions[rows[there]]))
        return [next(texts) if is_there else None for is_there in there.tolist()]

    def _rows(self, ids: Any) -> Any:
        if self.ids is None:
            return pc.index_in(
                _cast(ids, pa.int64()), value_set=array_of(np.arange(len(self.selection.positions)))
            )
        return pc.index_in(_cast(ids, self.ids.type), value_set=self.ids)


def _cast(ids: Any, kind: pa.DataType) -> Any:
    """Return ids as the old corpus has them; those of a batch may have made them text or bytes."""
    if pa.types.is_integer(kind) and pa.types.is_large_binary(ids.type):
        ids = ids.cast(pa.large_string())
    return ids.cast(kind)


def of_corpus(corpus: InputCorpus) -> OldTexts:
    """Return the texts of a corpus that was read."""
    return OldDocuments(corpus.ids(), corpus.input().every())


def of_files(source: dict[str, Any]) -> OldTexts:
    """Return the texts of files, given the record about them.

    Raises:
        InputError: They are gone, or have changed.
    """
    here = current_directory()
    files = RecordedInput(source, "the old corpus", again("dedup --against"), here).open()
    return OldDocuments(files.ids(), files.every())


def of_run(results: Results) -> OldTexts:
    """Return the texts of the kept documents of a run.

    Raises:
        InputError: Its input is gone, or has changed.
    """
    selection = results.kept_documents()
    kept = np.flatnonzero(results.array("kept"))
    positions = kept if results.positions_of is None else results.positions_of[kept]
    return OldDocuments(results.ids.take(array_of(kept[np.argsort(positions)])), selection)


def of_run_folder(path: Path | str, digest: str) -> OldTexts:
    """Return the texts of the kept documents of a run in a folder.

    Raises:
        InputError: The run is gone, is another one now, or its input can't be read again.
    """
    results = open_results(path)
    if results.record["texts_digest"] != digest:
        raise InputError(f"{path} is the output of another run now")
    return of_run(results)


def of_index(core: Core) -> OldTexts:
    """Return the texts of documents of an index, as it has them now.

    Raises:
        InputError: It has no texts.
    """
    if not core.stores_texts:
        raise InputError("the index has no texts", "make one that stores them")
    with core.reading() as state:
        is_int = state.ids == "int"

    def texts(ids: Any) -> list[str | None]:
        found: list[str | None] = []
        for name in _cast(ids, pa.int64() if is_int else pa.large_string()).to_pylist():
            try:
                text = stored_text(core, name)
                found.append(None if text is None else text[core.key :])
            except UnknownIdError:
                found.append(None)
        return found

    return texts
