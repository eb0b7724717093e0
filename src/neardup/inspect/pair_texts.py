"""The pairs of a run next to each other, for a person who goes through them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import ArrowArray, array_of
from neardup.results.results import Results

#: Pairs that are in memory at once; and bytes of their texts, about, but not fewer than some pairs:
#: each time, the input is read again.
_ROWS, _TEXT, _FEWEST = 20_000, 64 << 20, 1000
NAMES = ("id_a", "id_b", "similarity")


def pairs(results: Results, texts: bool, rows: int | None = None) -> Iterator[pa.Table]:
    """Yield the pairs of a run, some rows at a time, in the order of the input.

    They are the edges if pairs were listed; else each removed document and its ``duplicate_of``.

    Args:
        results: The run.
        texts: Add both texts, which are read from the input again.
        rows: Of a table; fewer of long texts without it.

    Yields:
        ``id_a``, ``id_b``, ``similarity`` float64 and, with ``texts``, ``text_a`` and ``text_b``.
    """
    edges = results.edges(["doc_a", "doc_b", "similarity"])
    if edges is None:
        b = np.flatnonzero(results.duplicate_of >= 0)
        a, similarity = results.duplicate_of[b], results.array("similarity")[b]
    else:
        a, b, similarity = (np.asarray(column.to_numpy()) for column in edges.columns)
    ids: Any = results.public_ids.combine_chunks()
    rows = rows or rows_at_once(results, texts)
    for first in range(0, max(1, len(a)), rows):
        batch = slice(first, first + rows)
        columns = [
            *(ids.take(array_of(docs[batch])) for docs in (a, b)),
            array_of(similarity[batch]),
        ]
        names: Sequence[str] = NAMES
        if texts:
            docs, both = np.unique(np.append(a[batch], b[batch]), return_inverse=True)
            found: Any = pa.array(results.texts(docs), pa.large_string())
            half = len(both) // 2
            columns += [found.take(array_of(rows)) for rows in (both[:half], both[half:])]
            names = (*NAMES, "text_a", "text_b")
        yield pa.table(dict(zip(names, columns, strict=True)))


def rows_at_once(results: Results, texts: bool) -> int:
    """Return how many pairs are in memory at once."""
    if not texts:
        return _ROWS
    documents = results.documents + results.record["counts"].get("old_documents", 0)
    size = int(results.record.get("bytes", {}).get("text", 0)) / max(1, documents)
    return max(_FEWEST, min(_ROWS, int(_TEXT / max(1, 2 * size))))


def pairs_of_batch(
    results: Results,
    texts: bool,
    old_texts: Callable[[Any], list[str | None]] | None = None,
    rows: int | None = None,
) -> Iterator[pa.Table]:
    """Yield the pairs of a batch that was compared with an old corpus, some rows at a time.

    They are the matches if these were listed; else each removed document and its ``duplicate_of``.

    Args:
        results: The batch.
        texts: Add both texts.
        old_texts: Returns the texts of documents of the old corpus by their ids; None where they
            can't be read again.
        rows: Of a table; fewer of long texts without it.

    Yields:
        ``id_a``, of the old corpus or of the batch; ``id_b``, of the batch; ``similarity`` float64;
        ``in_old``, whether ``id_a`` is of the old corpus; and, with ``texts``, ``text_a``, null
        where it can't be read, and ``text_b``.
    """
    if results.record["old_only"]:
        found = results.table("matches").rename_columns(["doc", "doc_id", "id_a", "similarity"])
        docs, of = found.column("doc").to_numpy(), np.full(found.num_rows, -1)
    else:
        table = results.clusters(["doc", "kept", "duplicate_of", "similarity"])
        found = table.filter(pc.invert(table.column("kept")))
        found = found.rename_columns(["doc", "kept", "id_a", "similarity"])
        docs = found.column("doc").to_numpy()
        of = results.duplicate_of[docs]
    shown: Any = results.public_ids.combine_chunks()
    names: Any = found.column("id_a").combine_chunks()
    shown_a = _private(names, of, shown) if results.private_ids else names
    rows = rows or rows_at_once(results, texts)
    for first in range(0, max(1, len(docs)), rows):
        batch = slice(first, first + rows)
        columns: dict[str, Any] = {
            "id_a": shown_a[batch],
            "id_b": shown.take(array_of(docs[batch])),
            "similarity": found.column("similarity")[batch],
            "in_old": array_of(of[batch] < 0),
        }
        table = pa.table(columns)
        if texts:
            both = _texts_of_batch(results, docs[batch], of[batch], names[batch], old_texts)
            for name, column in zip(("text_a", "text_b"), both, strict=True):
                table = table.append_column(name, column)
        yield table


def pairs_of_matches(results: Results, texts: bool) -> Iterator[pa.Table]:
    """Yield documents that match a test item, next to it, some rows at a time.

    Args:
        results: Of a search for test items.
        texts: Add the passage, which is read from the input again.

    Yields:
        ``test_id`` and ``train_id``, as rows where ids are private; ``by``, how they match;
        ``containment`` float64; ``passage``, words in a row that both have; and, with ``texts``,
        ``passage_text``, null where a match has none.
    """
    matches = results.table("matches")
    names = ["test_id", "train_id", "by", "containment", "passage"]
    if results.private_ids:
        for side in ("test", "train"):
            docs: Any = matches.column(f"{side}_doc").cast(pa.large_string())
            prefix, none = (pa.scalar(text, pa.large_string()) for text in ("row ", ""))
            shown: Any = pc.binary_join_element_wise(prefix, docs, none)
            at = matches.column_names.index(f"{side}_id")
            matches = matches.set_column(at, f"{side}_id", shown)
    rows = rows_at_once(results, texts)
    for first in range(0, max(1, matches.num_rows), rows):
        table = matches.slice(first, rows)
        shown = table.select(names)
        if texts:
            read = results.texts(np.asarray(table.column("train_doc").to_numpy()))
            spans = table.select(["train_start", "train_end"]).to_pylist()
            passages = [
                None if None in span.values() else text[span["train_start"] : span["train_end"]]
                for text, span in zip(read, spans, strict=True)
            ]
            shown = shown.append_column("passage_text", pa.array(passages, pa.large_string()))
        yield shown


def _texts_of_batch(
    results: Results,
    docs: np.ndarray,
    of: np.ndarray,
    names: Any,
    old_texts: Callable[[Any], list[str | None]] | None,
) -> list[pa.LargeStringArray]:
    docs_read = np.unique(np.append(docs, of[of >= 0]))
    known = dict(zip(docs_read.tolist(), results.texts(docs_read), strict=True))
    text_a = [known.get(doc) for doc in of.tolist()]
    rows = np.flatnonzero(of < 0)
    if old_texts is not None and len(rows):
        found = old_texts(names.take(array_of(rows)))
        for row, text in zip(rows.tolist(), found, strict=True):
            text_a[row] = text
    text_b = [known[doc] for doc in docs.tolist()]
    return [pa.array(texts, pa.large_string()) for texts in (text_a, text_b)]


def _private(names: ArrowArray, of: np.ndarray, rows: ArrowArray) -> ArrowArray:
    """Return names of documents that have no ids: of the batch by row, of the old one by number."""
    unknown: Any = pc.if_else(array_of(of < 0), names, pa.scalar(None, names.type))
    numbers = pc.dictionary_encode(unknown).indices
    prefix, none = (pa.scalar(text, pa.large_string()) for text in ("old document ", ""))
    olds = pc.binary_join_element_wise(prefix, numbers.cast(pa.large_string()), none)
    made: ArrowArray = pc.coalesce(olds, rows.take(array_of(of, null=of < 0)))
    return made
