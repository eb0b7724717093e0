"""One corpus by every engine: batch, index, stream, and Spark where it is installed.

The batch is compared with the definition in plain Python, the others with the batch.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import neardup
from fuzz import paths  # noqa: F401  (the tests can be imported)
from neardup.cli.commands.of_index.command_stream import stream
from neardup.tuning import TUNING

_FIELDS = ("kept", "duplicate_of", "similarity")
#: Share of the cases that Spark gets too: one takes seconds.
_SPARK = 0.02
#: Holds the session of Spark until the process ends.
_OPEN = contextlib.ExitStack()

Answers = list[tuple[Any, ...]]


def make(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return the seed that a corpus, its settings, and the batches of the index follow from."""
    return "seed", rng.bytes(8)


def check(ending: str, data: bytes, folder: Path) -> None:
    """Let every engine decide what is kept."""
    import test_engine_definition as definition

    from neardup.testing import small_corpora

    del ending
    rng = np.random.default_rng(list(data))
    rows = small_corpora.random_documents(rng, int(rng.integers(1, 70)))
    asked = small_corpora.random_spec(rng)
    spec = asked.replace(
        keep="first", order_by=None, cluster="star", tree_threshold=None, pairs="kept"
    )
    run = neardup.dedup(rows, id="id", spec=spec, threads=1, progress=False)
    definition.check(run, rows, spec)
    columns = (run.clusters.column(name).to_pylist() for name in _FIELDS)
    expected = list(zip(*columns, strict=True))
    small = int(rng.integers(5, 60))
    if spec.within is not None:  # an index has no groups
        return
    with TUNING.replaced(logged_documents=small):
        place = folder / "index" if rng.random() < 0.5 else None
        assert _by_index(rows, spec, run.recipe, place, rng) == expected, "the index differs"
        assert _by_stream(rows, spec, run.recipe, folder / "stream", rng) == expected, (
            "the stream differs"
        )
    if spec.method == "lsh" and rng.random() < _SPARK and _spark() is not None:
        _check_spark(rows, asked.replace(order_by=None))


def _by_index(
    rows: pa.Table,
    spec: neardup.Spec,
    recipe: neardup.Recipe,
    place: Path | None,
    rng: np.random.Generator,
) -> Answers:
    """Add documents in batches of any size to an index that is merged, and opened again."""
    texts, ids = [t or "" for t in rows["text"].to_pylist()], rows["id"].to_pylist()
    store_text = bool(rng.random() < 0.5)
    index = neardup.Index.create(
        place, spec=spec, recipe=recipe, store_text=store_text, durable="process"
    )
    found: Answers = []
    while len(found) < len(ids):
        low = len(found)
        high = low + int(rng.choice([1, 1, 3, 20, 70]))
        if high == low + 1:
            one = index.add_if_new(ids[low], texts[low])
            found.append((one.kept, one.duplicate_of, one.similarity))
        else:
            found += _answers(index.add_if_new(texts[low:high], ids=ids[low:high]).to_pylist())
        if rng.random() < 0.1:
            index.compact(purge=bool(rng.random() < 0.5))
        if place is not None and rng.random() < 0.2:
            index.close()
            index = neardup.Index.open(place, durable="process")
    assert index.check() == [], "the index is damaged"
    kept = [id_ for id_, answer in zip(ids, found, strict=True) if answer[0]]
    assert index.ids().to_pylist() == kept, "the index has other documents than those kept"
    index.close()
    return found


def _by_stream(
    rows: pa.Table,
    spec: neardup.Spec,
    recipe: neardup.Recipe,
    place: Path,
    rng: np.random.Generator,
) -> Answers:
    """Send some lines through the command, then all of them, as after a crash."""
    neardup.Index.create(place, spec=spec, recipe=recipe, durable="process").close()
    lines = [json.dumps({"id": row["id"], "text": row["text"]}) for row in rows.to_pylist()]
    before = _streamed(place, lines[: int(rng.integers(len(lines) + 1))])
    found = _streamed(place, lines)
    assert found[: len(before)] == before, "a line that is sent again is answered in another way"
    return found


def _streamed(place: Path, lines: list[str]) -> Answers:
    given, answered = io.BytesIO("".join(f"{line}\n" for line in lines).encode()), io.BytesIO()
    real = sys.stdin
    sys.stdin, out = io.TextIOWrapper(given), io.TextIOWrapper(answered)
    try:
        with contextlib.redirect_stdout(out):
            stream.main(["--index", str(place), "--durable", "process"], standalone_mode=False)
    finally:
        sys.stdin = real
        out.detach()
    return _answers(map(json.loads, answered.getvalue().splitlines()))


def _answers(rows: Any) -> Answers:
    return [tuple(row[name] for name in _FIELDS) for row in rows]


@functools.cache
def _spark() -> Any:
    """A session for all cases of this process; None where there is no Spark."""
    import spark_parts

    if spark_parts.NO_SPARK:
        return None
    return _OPEN.enter_context(spark_parts.spark_session("local[1]"))


def _check_spark(rows: pa.Table, spec: neardup.Spec) -> None:
    import spark_parts

    from neardup.spark import dedup

    frame = _spark().createDataFrame(rows.to_pylist(), "id string, text string, quality double")
    found = spark_parts.found(dedup(frame, spec=spec))
    assert found == spark_parts.expected(rows, spec), "Spark differs"
