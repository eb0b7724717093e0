"""Texts for a page: lengths, beginnings, columns, shared words."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import ColumnError, SpecError
from neardup.io.columns import missing_column
from neardup.io.formats.column_paths import type_at
from neardup.io.source import Partition
from neardup.kernels.text.tokens import hash_tokens
from neardup.results.results import Results
from neardup.sketch.texts import text_buffers
from neardup.values.json_values import plain_id
from neardup.views.differences import WordSequence, segments
from neardup.views.view import PageOptions

#: Characters of a text that are in a page, at most; and of a value of another column.
CHARACTERS, _VALUE = 20_000, 200
#: Values of a slot that are listed, and characters of each.
_SLOT, _LONGEST = 6, 160
_Work = Callable[[Any], dict[str, Any]]  # from some texts to columns by their names


def shown_columns(results: Results, options: PageOptions) -> list[str]:
    """Return the columns that are shown next to ids.

    Raises:
        SpecError: They have texts, or ids, which are not to be shown.
    """
    given = options.show
    show = list(dict.fromkeys([given] if isinstance(given, str) else given))
    columns = [*show, *([] if options.by is None else [options.by])]
    if columns and not options.texts:
        raise SpecError("`show` and `by` need texts=True", "leave them out, or show the texts")
    if results.private_ids and results.id_column in columns:
        raise SpecError(
            f"column {results.id_column!r} has the ids, which are private", "leave it out"
        )
    return show


def values_of(results: Results, docs: np.ndarray, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return for each document its value of each column, in a list."""
    if not columns or not len(docs):
        return [{} for _ in docs]
    check_columns(results, columns)
    rows = _gathered(results, docs, lambda text: {}, columns, None).to_pylist()
    return [{name: ["" if it is None else it] for name, it in row.items()} for row in rows]


def check_columns(results: Results, names: Sequence[str]) -> None:
    """Refuse columns that the input does not have, as far as that is known before it is read."""
    schema = results.source.schema() if names else None
    for name in names:
        if schema is not None and type_at(schema, name) is None:
            hint = "choose other columns for `show` and `by`"
            raise missing_column("the input", name, schema.names, hint=hint)


def measure(
    results: Results, docs: np.ndarray, columns: Sequence[str], threads: int | None = None
) -> pa.Table:
    """Go through the texts of some documents.

    Returns a row for each: ``size`` in bytes of UTF-8, ``characters``, ``content``, a number that
    is equal for equal texts, and the columns as strings.
    """

    def work(text: Any) -> dict[str, Any]:
        contents = np.empty(len(text), dtype=np.uint64)
        hash_tokens(*text_buffers(text), contents)
        return {
            "size": pc.binary_length(text),
            "characters": pc.utf8_length(text),
            "content": contents.view(np.int64),
        }

    table = _gathered(results, docs, work, columns, threads)
    for name in columns:
        if table.column(name).null_count == len(docs):
            raise ColumnError(f"no document of a cluster has a column {name!r}")
    return table


def beginnings(results: Results, docs: np.ndarray, threads: int | None = None) -> list[str]:
    """Return texts, each cut after `CHARACTERS`; at most one partition is in memory uncut."""
    cut: Any = pc.utf8_slice_codeunits
    table = _gathered(results, docs, lambda text: {"text": cut(text, 0, CHARACTERS)}, (), threads)
    texts: Any = table.column("text").to_pylist()
    return list(texts)


def _gathered(
    results: Results, docs: np.ndarray, work: _Work, columns: Sequence[str], threads: int | None
) -> pa.Table:
    """Return what ``work`` gives for the texts of some documents, with columns, in their order."""

    def read(partition: Partition, rows: np.ndarray, count: int) -> pa.Table:
        if not columns:
            return pa.table(work(partition.texts(rows, count)))
        documents = partition.read(tuple(columns))
        if len(documents.text) != count:
            raise results.changed()
        taken: Any = pa.array(rows)
        values: Any = documents.columns.take(taken)
        strings = {name: _strings(values.column(name)) for name in columns}
        return pa.table({**work(documents.text.take(taken)), **strings})

    positions = docs if results.positions_of is None else results.positions_of[docs]
    order = np.argsort(positions, kind="stable")
    found = pa.concat_tables(results.at(positions[order]).visit(read, threads))
    if len(found) != len(docs):
        raise results.changed()
    rows: Any = np.argsort(order)
    return found.take(rows)


def _strings(column: Any) -> Any:
    try:
        strings: Any = column.cast(pa.large_string())
    except pa.ArrowException:
        values = [None if value is None else str(plain_id(value)) for value in column.to_pylist()]
        strings = pa.array(values, pa.large_string())
    return pc.utf8_slice_codeunits(strings, 0, _VALUE)


def _units(text: str) -> int:
    """Return the length of a text as browsers count, in units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def walk(base: WordSequence, text: WordSequence) -> list[Any]:
    """Return a text as a walk along another one.

    It is made of numbers for so many units that both share, and of ``[skipped, text]`` for a
    difference: units of the other one, and what stands there; ``[skipped, text, 0]`` where only
    white space, punctuation or case differ.
    """
    parts: list[Any] = []
    for segment in segments([base, text]):
        (i, j), (k, m) = segment.spans
        before, after = base.text[i:j], text.text[k:m]
        if before == after:
            parts.append(_units(before))
        else:
            parts.append([_units(before), after, 0][: 3 if segment.equal else 2])
    return parts


def template(texts: Sequence[WordSequence]) -> list[Any]:
    """Return what some texts share, as a walk along the first of them.

    Slots that vary are ``[skipped, distinct, [[value, count], ...]]``, with the units that they
    take of the first text, and the commonest values.
    """
    parts: list[Any] = []
    for segment in segments(texts):
        spans = list(zip(texts, segment.spans, strict=True))
        values = [c.text[low:high] for c, (low, high) in spans]
        if segment.equal:
            parts.append(_units(values[0]))
            continue
        # By their words: characters between these are no difference.
        words = [tuple(c.words[slice(*(bisect_left(c.begins, at) for at in s))]) for c, s in spans]
        seen = dict(zip(reversed(words), reversed(values), strict=True))
        counts = Counter(words)
        most = [(seen[key], count) for key, count in counts.most_common(_SLOT)]
        listed = [[v if len(v) <= _LONGEST else v[:_LONGEST] + "…", count] for v, count in most]
        parts.append([_units(values[0]), len(counts), listed])
    return parts
