"""Documents and truth of any slice of positions, as Arrow tables."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.errors import SpecError
from neardup.kernels.synth import FAMILY, NEAR, plan_range, write_columns, write_texts
from neardup.synth.plan import chunk_documents, document_bytes, first_members, setting, tables
from neardup.synth.spec import SynthSpec
from neardup.synth.vocabulary import KINDS

__all__ = ["document_schema", "documents_batch", "generate", "slices", "truth", "truth_schema"]

_ROLES = ("original", "near", "exact", "family")


def _metadata(spec: SynthSpec) -> dict[str, str]:
    return {"neardup.synth": json.dumps(spec.as_dict()), "neardup.synth.digest": spec.digest}


def document_schema(spec: SynthSpec) -> pa.Schema:
    """Return the columns of the documents, with the spec in the metadata."""
    fields = [
        ("id", pa.string()),
        ("text", pa.string()),
        ("date", pa.string()),
        ("kind", pa.string()),
        ("quality", pa.float64()),
    ]
    return pa.schema(fields, metadata=_metadata(spec))


def truth_schema(spec: SynthSpec) -> pa.Schema:
    """Return the columns of the truth, with the spec in the metadata."""
    fields = [
        ("doc", pa.int64()),
        ("id", pa.string()),
        ("kind", pa.string()),
        ("source", pa.int64()),
        ("source_id", pa.string()),
        ("family", pa.int32()),
        ("changed", pa.float64()),
    ]
    return pa.schema(fields, metadata=_metadata(spec))


def slices(spec: SynthSpec, start: int, stop: int | None, size: int) -> Iterator[tuple[int, int]]:
    """Cut [start, stop) into ranges of ``size`` positions, the last one shorter.

    Raises:
        SpecError: The range is not within the documents.
    """
    end = spec.documents if stop is None else stop
    if not 0 <= start <= end <= spec.documents:
        raise SpecError(f"positions {start} to {end}; expected a range in 0 to {spec.documents}")
    return ((low, min(low + size, end)) for low in range(start, end, size))


def generate(spec: SynthSpec, start: int = 0, stop: int | None = None) -> pa.Table:
    """Make the documents at positions [start, stop).

    Args:
        spec: What the corpus depends on.
        start, stop: Positions; ``stop`` None means to the end.

    Returns:
        Columns ``id``, ``text``, ``date`` (ISO), ``kind`` (all string) and ``quality`` (float64 in
        [0, 1]); all in memory, about 2.3 kB for each document of the default length.

    Raises:
        SpecError: The range is not within the documents.

    >>> generate(SynthSpec(10), 3, 5)["id"].to_pylist()
    ['note-0000003', 'note-0000004']
    """
    ranges = slices(spec, start, stop, chunk_documents(spec))
    batches = [documents_batch(spec, low, high) for low, high in ranges]
    return pa.Table.from_batches(batches, schema=document_schema(spec))


def documents_batch(spec: SynthSpec, start: int, stop: int) -> pa.RecordBatch:
    """Make a chunk of documents; the buffers that the kernels fill are those of the columns."""
    count = stop - start
    plain, arrays = setting(spec), tables(spec)
    text = np.empty(count * document_bytes(spec), np.uint8)  # touched only as far as text goes
    offsets = np.empty(count + 1, np.int32)
    write_texts(start, stop, plain, arrays, text, offsets)
    ids = np.empty(count * (5 + plain.id_width), np.uint8)
    dates = np.empty(count * 10, np.uint8)
    kinds = np.empty(count, np.int8)
    quality = np.empty(count, np.float64)
    write_columns(start, stop, plain, arrays, ids, dates, kinds, quality)
    columns = [
        _fixed_strings(ids, count),
        _strings(text[: offsets[-1]], offsets),
        _fixed_strings(dates, count),
        pa.array(KINDS).take(pa.array(kinds)),
        pa.array(quality),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=document_schema(spec))


def truth(spec: SynthSpec, start: int = 0, stop: int | None = None) -> pa.Table:
    """Say what the documents at positions [start, stop) were made from, and how.

    Args:
        spec: What the corpus depends on.
        start, stop: Positions; ``stop`` None means to the end.

    Returns:
        Columns ``doc`` (int64 position), ``id``, ``kind`` (``original``, ``near``, ``exact`` or
        ``family``), ``source`` (int64 position of the original, or of the family's first member;
        null for originals and for that first member), ``source_id``, ``family`` (int32, null
        outside families) and ``changed`` (float64: words replaced, deleted or put in, over the
        words of the source; null unless near).

    Raises:
        SpecError: The range is not within the documents.
    """
    batches = [_truth_batch(spec, low, high) for low, high in slices(spec, start, stop, 1 << 18)]
    return pa.Table.from_batches(batches, schema=truth_schema(spec))


def _truth_batch(spec: SynthSpec, start: int, stop: int) -> pa.RecordBatch:
    count = stop - start
    roles, sources = np.empty(count, np.int8), np.empty(count, np.int64)
    families, changed = np.empty(count, np.int32), np.empty(count, np.float64)
    plain = setting(spec)
    plan_range(start, stop, plain, tables(spec), roles, sources, families, changed)
    docs = np.arange(start, stop, dtype=np.int64)
    members = roles == FAMILY
    firsts = first_members(spec)[families[members]]
    sources[members] = np.where(firsts == docs[members], -1, firsts)
    orphans = sources < 0
    columns = [
        pa.array(docs),
        _ids(docs, plain.id_width),
        pa.array(_ROLES).take(pa.array(roles)),
        pa.array(sources, mask=orphans),
        _ids(sources, plain.id_width, orphans),
        pa.array(families, mask=~members),
        pa.array(changed, mask=roles != NEAR),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=truth_schema(spec))


def _ids(
    docs: npt.NDArray[np.int64], width: int, missing: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    """The ids of some positions, null where ``missing``."""
    present = docs if missing is None else docs[~missing]
    cells = np.empty((present.size, 5 + width), np.uint8)
    cells[:, :5] = np.frombuffer(b"note-", np.uint8)
    rest = present.copy()
    for place in range(4 + width, 4, -1):
        rest, digit = np.divmod(rest, 10)
        cells[:, place] = digit + 48
    strings = _fixed_strings(cells.reshape(-1), present.size)
    if missing is None:
        return strings
    return strings.take(pa.array(np.cumsum(~missing) - 1, mask=missing))


def _strings(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32]) -> pa.Array:
    """UTF-8 bytes and int32 (count + 1,) offsets as a string array, without copying."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), offsets.size - 1, buffers)


def _fixed_strings(data: npt.NDArray[np.uint8], count: int) -> pa.Array:
    """Strings of equal length, one after another in ``data``."""
    width = data.size // count if count else 0
    return _strings(data, np.arange(count + 1, dtype=np.int32) * np.int32(width))
