"""Stored form of a document in an index: its text, or its shingles; with a checksum."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.kernels.bits import TOKEN_MULTIPLIER
from neardup.kernels.text.tokens import hash_tokens
from neardup.sketch.texts import Ragged, text_buffers
from neardup.sketch.tokenising import leading, of_leading

#: Ids are texts or integers.
Id: TypeAlias = int | str

_LONGEST = 2**63
_OF_IDS, _HALF = np.uint64(0xD1B54A32D192ED03), np.uint64(32)
_SIZE = 4  # bytes of the length of a text, which come first
#: Texts of fewer bytes are not compressed: it takes 18 us for each, half the time of inserting it,
#: and gains a third.
_COMPRESSED = 512


class DocumentRow(NamedTuple):
    """A row of the table of documents."""

    doc: int
    id: Id
    body: bytes
    checksum: int


def is_integer_id(value: int) -> bool:
    """Return whether an integer has 64 bits."""
    return -_LONGEST <= value < _LONGEST


def identity_of(doc: int, id_: Id) -> int:
    """Return the CRC-32 of the number and the id of a document."""
    return zlib.crc32(f"{doc}\0{id_!r}".encode(errors="replace"))


def checksum_of(doc: int, id_: Id, body: bytes) -> int:
    """Return the CRC-32 of a row."""
    return zlib.crc32(body, identity_of(doc, id_))


def is_intact(row: DocumentRow) -> bool:
    """Return whether a row is as it was written."""
    kinds = type(row.id) in (int, str) and type(row.body) is bytes
    return kinds and row.checksum == checksum_of(row.doc, row.id, row.body)


def id_keys(ids: Sequence[Id]) -> np.ndarray:
    """Return keys of ids, uint64[n], under which documents are found as under names of buckets."""
    kinds = set(map(type, ids))
    if len(kinds) > 1:
        return np.concatenate([id_keys([id_]) for id_ in ids])
    keys = np.empty(len(ids), np.uint64)
    if kinds == {int}:
        keys[:] = np.array(ids, np.int64).view(np.uint64) * TOKEN_MULTIPLIER
    elif kinds:
        texts = [str(id_).encode(errors="replace") for id_ in ids]
        data = np.frombuffer(bytearray().join(texts), np.uint8)
        hash_tokens(data, np.array([0, *accumulate(map(len, texts))], np.int64), keys)
    # Else 0 were the name of the bucket of all documents.
    return (keys ^ keys >> _HALF) ^ _OF_IDS


@functools.cache
def _codec() -> pa.Codec:
    return pa.Codec("zstd", 1)


def pack_texts(texts: pa.LargeStringArray) -> list[bytes]:
    """Return the body of each text."""
    data, offsets = text_buffers(texts)
    view, codec = memoryview(data.data), _codec()
    ends = offsets.tolist()
    packed = []
    for low, high in pairwise(ends):
        body: Any = view[low:high]
        if high - low >= _COMPRESSED:
            body = codec.compress(body, asbytes=True)
        packed.append((high - low).to_bytes(_SIZE, "little") + body)
    return packed


def unpack_text(body: bytes) -> bytes:
    """Return the text of a body, UTF-8."""
    size = int.from_bytes(body[:_SIZE], "little")
    if size < _COMPRESSED:
        return body[_SIZE:]
    found: Any = _codec().decompress(memoryview(body)[_SIZE:], size, asbytes=True)
    return bytes(found)


def pack_sets(sets: Ragged, hash_bytes: int = 8) -> list[bytes]:
    """Return the body of each set of shingles, of so many bytes each."""
    first, last = int(sets.offsets[0]), int(sets.offsets[-1])
    values = sets.values[first:last]
    values = values if hash_bytes == 8 else leading(values)
    data = np.ascontiguousarray(values, dtype=f"<u{hash_bytes}").tobytes()
    ends = ((sets.offsets - first) * hash_bytes).tolist()
    return [data[low:high] for low, high in pairwise(ends)]


def unpack_sets(bodies: Sequence[bytes], hash_bytes: int = 8) -> Ragged:
    """Return the sets of shingles of some bodies."""
    offsets = np.array([0, *accumulate(map(len, bodies))], dtype=np.int64) // hash_bytes
    # Kernels are compiled for arrays that can be written to.
    values = np.frombuffer(bytearray().join(bodies), dtype=f"<u{hash_bytes}")
    return Ragged(values if hash_bytes == 8 else of_leading(values), offsets)
