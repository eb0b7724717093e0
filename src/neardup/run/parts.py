"""One chunk of the corpus, from text to band keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from neardup.core.band import band_keys
from neardup.core.shingle import (
    Stemmer,
    as_text,
    shingle,
    shingle_sets,
    text_buffers,
    to_sets,
    tokenise,
)
from neardup.core.sign import Signer
from neardup.core.threads import Pool
from neardup.core.tune import Bands, candidate_probability, choose_bands, expected_pairs
from neardup.core.verify import ShingleSets, verify
from neardup.corpus import Chunk, Documents
from neardup.errors import InputError
from neardup.kernels.shingles import byte_hashes, sequence_hashes
from neardup.spec import ShingleSpec, Spec

__all__ = ["Part", "Plan", "make_part", "make_plan"]

#: Documents at the head of the corpus whose similarities decide which bands are cheapest.
SAMPLE = 512
#: Longest document that the sample takes, in characters: the choice is about speed, so it must be
#: quick.
_SAMPLE_CHARACTERS = 1 << 16


@dataclass(frozen=True, slots=True)
class Plan:
    """What every chunk is to become.

    Attributes:
        shingle: What a document becomes.
        bands: Bands, rows, recall; None for a join without banding.
        signer: Makes the signatures; None without banding.
        stemmer: Shared by all chunks; None without stemming.
        columns: Columns to hold, see `Part`.
        measure: Count the characters of each text.
    """

    shingle: ShingleSpec
    bands: Bands | None
    signer: Signer | None
    stemmer: Stemmer | None
    columns: tuple[str, ...] = ()
    measure: bool = False


@dataclass(slots=True)
class Part:
    """What is kept of a chunk.

    Attributes:
        size: Bytes of the source that it stands for.
        chunk: Where its documents are read again.
        held: The documents themselves, if there was room to hold them; see `again`.
        schema: Of its columns.
        columns: Those columns that the run itself needs: ids, and what is kept by.
        lengths: int32[documents], bytes of text.
        characters: int32[documents], characters of text; None unless the longest is kept.
        replaced: Documents whose text was not UTF-8 and was repaired.
        origin: The file, for messages; empty where there is none.
        keys: uint64[num_bands, documents]; no rows without banding.
        sequence_hashes: uint64[documents, 2], of the tokens.
        byte_hashes: uint64[documents], of the text as it was.
        tokens: int32[documents], number of tokens.
        shingles: int32[documents], number of shingles, repetitions included.
    """

    size: int
    chunk: Chunk
    held: Documents | None
    schema: Any
    columns: Any
    lengths: np.ndarray
    characters: np.ndarray | None
    replaced: int
    origin: str
    keys: np.ndarray
    sequence_hashes: np.ndarray
    byte_hashes: np.ndarray
    tokens: np.ndarray
    shingles: np.ndarray

    def again(self, rows: np.ndarray) -> Documents:
        """Return some of the documents once more.

        Args:
            rows: int64[], ascending.

        Raises:
            InputError: The source is no longer what it was.
        """
        if self.held is None:
            return self.chunk.read_again(rows)
        if len(rows) == len(self.tokens):
            return self.held
        table, text = self.held.table.take(rows), self.held.text.take(rows)
        return Documents(table, text, self.held.replaced, self.held.origin)


def make_part(chunk: Chunk, documents: Documents, plan: Plan) -> Part:
    """Tokenise, shingle and sign the documents of a chunk."""
    count = len(documents.text)
    hashes = np.empty((count, 2), dtype=np.uint64)
    of_bytes = np.empty(count, dtype=np.uint64)
    byte_hashes(*text_buffers(documents.text), of_bytes)
    tokens = tokenise(documents.text, plan.shingle, plan.stemmer)
    sequence_hashes(tokens.values, tokens.offsets, hashes)
    shingles = shingle(tokens, plan.shingle.n)
    sizes = np.diff(shingles.offsets).astype(np.int32)
    if plan.bands is None or plan.signer is None:
        keys = np.empty((0, count), dtype=np.uint64)
    else:
        if plan.shingle.bag:
            shingles = to_sets(shingles, True)
        keys = band_keys(plan.signer(shingles), plan.bands.num_bands, plan.bands.rows)
    wanted = [name for name in plan.columns if name in documents.table.column_names]
    characters = None
    if plan.measure:
        characters = pc.utf8_length(documents.text).to_numpy().astype(np.int32)
    return Part(
        size=chunk.size,
        chunk=chunk,
        held=documents,
        schema=documents.table.schema,
        columns=documents.table.select(wanted),
        lengths=np.diff(text_buffers(documents.text)[1]).astype(np.int32),
        characters=characters,
        replaced=documents.replaced,
        origin=documents.origin,
        keys=keys,
        sequence_hashes=hashes,
        byte_hashes=of_bytes,
        tokens=np.diff(tokens.offsets).astype(np.int32),
        shingles=sizes,
    )


def make_plan(
    spec: Spec, head: list[Documents], stemmer: Stemmer | None, columns: tuple[str, ...], pool: Pool
) -> Plan:
    """Choose the bands, by the first documents of the corpus where the spec leaves it open.

    Args:
        spec: What is asked for.
        head: Chunks that hold the first `SAMPLE` documents at least, if there are as many.
        stemmer: Shared stemmer.
        columns: Columns to hold.
        pool: Threads.
    """
    measure = spec.keep == "longest"
    if spec.method == "allpairs":
        return Plan(spec.shingle, None, None, stemmer, columns, measure)
    if spec.num_bands is not None and spec.rows is not None:
        found = candidate_probability(spec.edge_threshold, spec.num_bands, spec.rows)
        bands = Bands(spec.num_bands, spec.rows, found)
    else:
        texts = [t for d in head for t in d.text.slice(0, SAMPLE).to_pylist()][:SAMPLE]
        texts = [t for t in texts if len(t) <= _SAMPLE_CHARACTERS]
        sets = ShingleSets.of(shingle_sets(as_text(texts), spec.shingle, stemmer))
        docs = np.flatnonzero(sets.size)
        i, j = np.triu_indices(len(docs), k=1)
        a, b = docs[i].astype(np.int32), docs[j].astype(np.int32)
        similarities = verify(sets, a, b, 0.0, pool)
        size = float(sets.size[docs].mean()) if len(docs) else 1.0
        pairs = expected_pairs(i, j, similarities) if len(docs) > 1 else None
        bands = choose_bands(spec.edge_threshold, spec.recall, pairs, size)
    signer = Signer(bands.num_bands * bands.rows, spec.scheme, spec.seed)
    return Plan(spec.shingle, bands, signer, stemmer, columns, measure)


def require_documents(count: int, inputs: list[str]) -> None:
    """Raise `InputError` if there are none, or more than positions can number."""
    if count == 0:
        where = f"{inputs[0]}: " if len(inputs) == 1 else ""
        raise InputError(f"{where}the input holds no documents", "is this the right file?")
    if count >= 2**31:
        raise InputError(
            f"the input holds {count:,} documents; at most {2**31 - 1:,} can be compared in one run"
        )
