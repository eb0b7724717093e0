"""One chunk of the corpus, from text to band keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from neardup.core.band import band_keys
from neardup.core.shingle import (
    Ragged,
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
from neardup.corpus import Documents
from neardup.errors import InputError
from neardup.kernels.shingles import byte_hashes, sequence_hashes
from neardup.run.facts import ChunkFacts
from neardup.spec import ShingleSpec, Spec

__all__ = ["Recipe", "choose", "given_bands", "require_documents", "sign_chunk"]

#: Documents at the head of the corpus whose similarities decide which bands are cheapest.
SAMPLE = 512
#: Entries of signatures that are made at a time.
_SIGNATURES = 1 << 23
#: Longest document that the sample takes, in characters: the choice is about speed, so it must be
#: quick.
_SAMPLE_CHARACTERS = 1 << 16


@dataclass(frozen=True, slots=True)
class Recipe:
    """What every chunk is to become.

    Attributes:
        shingle: What a document becomes.
        bands: Bands, rows, recall; None for a join without banding.
        signer: Makes the signatures; None without banding.
        stemmer: Shared by all chunks; None without stemming.
        columns: Columns to hold, see `ChunkFacts`.
        measure: Count the characters of each text.
    """

    shingle: ShingleSpec
    bands: Bands | None
    signer: Signer | None
    stemmer: Stemmer | None
    columns: tuple[str, ...] = ()
    measure: bool = False

    @classmethod
    def of(cls, spec: Spec, bands: Bands | None, columns: tuple[str, ...]) -> Recipe:
        """The recipe of a spec whose bands are chosen."""
        stemmer = None
        if spec.shingle.stem is not None:
            stemmer = Stemmer(spec.shingle.stem, spec.shingle.keep_case)
        signer = bands and Signer(bands.num_bands * bands.rows, spec.scheme, spec.seed)
        return cls(spec.shingle, bands, signer, stemmer, columns, spec.keep == "longest")

    @property
    def num_bands(self) -> int:
        return 0 if self.bands is None else self.bands.num_bands


def sign_chunk(size: int, documents: Documents, recipe: Recipe) -> tuple[ChunkFacts, np.ndarray]:
    """Tokenise, shingle and sign the documents of a chunk.

    Args:
        size: Bytes of the source that the chunk stands for.
        documents: Its documents.
        recipe: What they are to become.

    Returns:
        (facts, keys uint64[num_bands, documents]; no rows without banding).
    """
    count = len(documents.text)
    hashes = np.empty((count, 2), dtype=np.uint64)
    of_bytes = np.empty(count, dtype=np.uint64)
    byte_hashes(*text_buffers(documents.text), of_bytes)
    tokens = tokenise(documents.text, recipe.shingle, recipe.stemmer)
    sequence_hashes(tokens.values, tokens.offsets, hashes)
    shingles = shingle(tokens, recipe.shingle.n)
    sizes = np.diff(shingles.offsets).astype(np.int32)
    if recipe.bands is None or recipe.signer is None:
        keys = np.empty((0, count), dtype=np.uint64)
    else:
        if recipe.shingle.bag:
            shingles = to_sets(shingles, True)
        keys = np.empty((recipe.num_bands, count), dtype=np.uint64)
        # Signatures of short documents take more room than their text: some at a time.
        step = max(1, _SIGNATURES // recipe.signer.num_hashes)
        for low in range(0, count, step):
            some = Ragged(shingles.values, shingles.offsets[low : low + step + 1])
            keys[:, low : low + step] = band_keys(
                recipe.signer(some), recipe.bands.num_bands, recipe.bands.rows
            )
    wanted = [name for name in recipe.columns if name in documents.table.column_names]
    characters = np.empty(0, dtype=np.int32)
    if recipe.measure:
        characters = pc.utf8_length(documents.text).to_numpy().astype(np.int32)
    facts = ChunkFacts(
        size=size,
        schema=documents.table.schema,
        columns=documents.table.select(wanted),
        replaced=documents.replaced,
        origin=documents.origin,
        sequence_hashes=hashes,
        byte_hashes=of_bytes,
        tokens=np.diff(tokens.offsets).astype(np.int32),
        shingles=sizes,
        lengths=np.diff(text_buffers(documents.text)[1]).astype(np.int32),
        characters=characters,
    )
    return facts, keys


def choose(spec: Spec, head: list[Documents], pool: Pool) -> Bands | None:
    """Choose the bands, by the first documents of the corpus where the spec leaves it open.

    Args:
        spec: What is asked for.
        head: Chunks that hold the first `SAMPLE` documents at least, if there are as many.
        pool: Threads.
    """
    if spec.method == "allpairs" or spec.num_bands is not None:
        return given_bands(spec)
    texts = [t for d in head for t in d.text.slice(0, SAMPLE).to_pylist()][:SAMPLE]
    texts = [t for t in texts if len(t) <= _SAMPLE_CHARACTERS]
    sets = ShingleSets.of(shingle_sets(as_text(texts), spec.shingle))
    docs = np.flatnonzero(sets.size)
    i, j = np.triu_indices(len(docs), k=1)
    a, b = docs[i].astype(np.int32), docs[j].astype(np.int32)
    similarities = verify(sets, a, b, 0.0, pool)
    size = float(sets.size[docs].mean()) if len(docs) else 1.0
    pairs = expected_pairs(i, j, similarities) if len(docs) > 1 else None
    return choose_bands(spec.edge_threshold, spec.recall, pairs, size)


def given_bands(spec: Spec) -> Bands | None:
    """Return the bands that a spec names, with the recall that they give; None where it does not.

    An exact join has none.
    """
    if spec.method == "allpairs" or spec.num_bands is None or spec.rows is None:
        return None
    found = candidate_probability(spec.edge_threshold, spec.num_bands, spec.rows)
    return Bands(spec.num_bands, spec.rows, found)


def require_documents(count: int, inputs: list[str]) -> None:
    """Raise `InputError` if there are none, or more than positions can number."""
    if count == 0:
        where = f"{inputs[0]}: " if len(inputs) == 1 else ""
        raise InputError(f"{where}the input holds no documents", "is this the right file?")
    if count >= 2**31:
        raise InputError(
            f"the input holds {count:,} documents; at most {2**31 - 1:,} can be compared in one run"
        )
