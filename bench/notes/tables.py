"""Documents and ground truth of any slice of positions, as Arrow tables or lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of
from neardup.errors import SpecError
from neardup.synth.demo_notes import KINDS
from neardup.synth.synthetic_words import I64, Stream, stream_keys, strings

from .lexicon import lexicon
from .ragged import ragged_draws
from .roles import NEAR, ROLES, assign_roles
from .shapes import SynthSpec
from .wording import note_codes

_DATES = [
    f"{y}-{m:02}-{d:02}" for y in range(2008, 2024) for m in range(1, 13) for d in range(1, 29)
]


def batches(spec: SynthSpec, start: int, stop: int | None, size: int) -> Iterator[tuple[int, int]]:
    """Divide [start, stop) into ranges of at most ``size`` positions; at least one."""
    end = spec.documents if stop is None else stop
    if not 0 <= start <= end <= spec.documents:
        raise SpecError(f"positions {start} to {end}; expected a range in 0 to {spec.documents}")
    return ((low, min(low + size, end)) for low in range(start, max(end, start + 1), size))


def batch_size(spec: SynthSpec) -> int:
    """Return how many documents are generated at once, at most 2,048: some 600,000 words."""
    return 1 << max(0, min(11, (1_800_000 // spec.words[1]).bit_length() - 1))


def generate(spec: SynthSpec, start: int = 0, stop: int | None = None) -> pa.Table:
    """Generate the documents at positions [start, stop); ``stop`` None is the end.

    >>> generate(SynthSpec(10), 3, 5)["id"].to_pylist()
    ['note-0000003', 'note-0000004']
    """
    ranges = batches(spec, start, stop, batch_size(spec))
    return pa.Table.from_batches([documents_batch(spec, low, high) for low, high in ranges])


def documents_batch(spec: SynthSpec, start: int, stop: int) -> pa.RecordBatch:
    words = lexicon(spec.vocabulary)
    codes, end = note_codes(spec, assign_roles(spec, start, stop), words)
    # Texts are runs of tokens: one `take`, and no copy after it.
    _, places, data = cast(Any, pc.take(words.tokens, array_of(codes)).buffers())
    bounds = np.frombuffer(places, np.int32)[np.concatenate([[0], end])]
    docs = np.arange(start, stop, dtype=np.int64)
    keys = stream_keys(spec.seed, Stream.COLUMNS, docs)
    draws = ragged_draws(keys, np.full(docs.size, 3)).astype(np.int64).reshape(-1, 3)
    date, kind, quality = (draws * np.array([len(_DATES), len(KINDS), 1001]) >> 32).T
    columns = {
        "id": _ids(spec, docs),
        "text": pa.Array.from_buffers(pa.string(), docs.size, [None, pa.py_buffer(bounds), data]),
        "date": strings(_DATES).take(array_of(date)),
        "kind": strings(list(KINDS)).take(array_of(kind)),
        "quality": array_of(quality / 1000.0),
    }
    return _batch(spec, columns)


def lines(batch: pa.RecordBatch) -> pa.Buffer:
    """Return a batch of documents as lines of JSON; of what it escapes, texts have line breaks."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns["text"] = pc.replace_substring(columns["text"], "\n", "\\n")
    quality: Any = columns["quality"].buffers()[1]
    thousandths = np.rint(np.frombuffer(quality) * 1000).astype(np.int64)
    shown = strings([f"{i // 1000}.{i % 1000:03}" for i in range(1001)])
    columns["quality"] = shown.take(array_of(thousandths))
    names = strings(['{"id":"', '","text":"', '","date":"', '","kind":"', '","quality":'])
    pieces = [piece for pair in zip(names, columns.values(), strict=True) for piece in pair]
    whole: Any = pc.binary_join_element_wise(*pieces, *strings(["}\n", ""]))
    data: pa.Buffer = whole.buffers()[2]
    return data[: pc.sum(pc.binary_length(whole)).as_py() or 0]


def truth(spec: SynthSpec, start: int = 0, stop: int | None = None) -> pa.Table:
    """Return what the documents at positions [start, stop) were derived from, and how."""
    ranges = batches(spec, start, stop, spec.documents)
    return pa.Table.from_batches([truth_batch(spec, low, high) for low, high in ranges])


def truth_batch(spec: SynthSpec, start: int, stop: int) -> pa.RecordBatch:
    """Return the ground truth of a batch.

    ``source`` of a member of a family is the one that stands for it; null for originals and for
    that member. ``changed`` is the share of the source's words; null unless near.
    """
    roles = assign_roles(spec, start, stop)
    derived = roles.source != roles.docs
    rows = array_of(np.arange(derived.size), null=~derived)  # null where there is no source
    columns = {
        "doc": array_of(roles.docs),
        "id": _ids(spec, roles.docs),
        "kind": strings(list(ROLES)).take(array_of(roles.role)),
        "source": array_of(roles.source, null=~derived),
        "source_id": _ids(spec, roles.source).take(rows),
        "family": array_of(roles.family.astype(np.int32), null=roles.family < 0),
        "changed": array_of(roles.edits / roles.words, null=roles.role != NEAR),
    }
    return _batch(spec, columns)


def _batch(spec: SynthSpec, columns: dict[str, pa.Array[Any]]) -> pa.RecordBatch:
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return batch.replace_schema_metadata({"neardup.synth": json.dumps(spec.as_dict())})


def _ids(spec: SynthSpec, docs: I64) -> pa.Array[Any]:
    """Return the ids of positions: numbers of 7 digits, or of as many as the last one needs."""
    width = max(7, len(str(spec.documents - 1)))
    return strings([f"note-{doc:0{width}}" for doc in docs.tolist()])
