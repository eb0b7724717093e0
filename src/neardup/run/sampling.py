"""A sample of a corpus: blocks from all over it, turned into keys as the run itself would."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.core.expect import About, Drawn, documents
from neardup.core.shingle import shingle_sets
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.corpus import Chunk, Corpus, Documents
from neardup.errors import NeardupError
from neardup.run.facts import ChunkFacts
from neardup.run.parts import Recipe, sign_chunk

__all__ = ["Effort", "Headed", "Sample", "draw_sample", "shortened"]

#: Blocks that are read, whatever time it takes.
_LEAST_BLOCKS = 4
#: Smallest block, in bytes of the source: below, most of the time goes into getting at it.
_LEAST_BYTES = 4096
_SEED = 20170117
#: Blocks that the first documents are cut into where nothing else is read.
_HEAD_BLOCKS = 8
#: Characters of a text that are looked at: of one of 100 MB, its first MB tells as much.
_LONGEST = 1 << 20


@dataclass(frozen=True)
class Effort:
    """How much of a corpus is looked at.

    Attributes:
        documents: Documents of the sample, at most, about.
        text: Bytes of their texts, at most, about.
        blocks: Places from which they come.
        seconds: After which no more is read.
        strict: Whether what can't be read is an error; else it is left out, and said by the run.
    """

    documents: int
    text: int
    blocks: int
    seconds: float
    strict: bool


@dataclass(frozen=True)
class Headed:
    """The first documents of a corpus, which are read in any case.

    Attributes:
        documents: Chunks of them.
        size: Bytes of the source that they stand for.
        whole: Whether that is all.
    """

    documents: Sequence[Documents]
    size: int
    whole: bool

    @property
    def count(self) -> int:
        return sum(len(d.text) for d in self.documents)

    @property
    def text(self) -> int:
        """Bytes of text."""
        return sum(d.text.nbytes for d in self.documents)


@dataclass
class Sample:
    """Documents of a sample, one block after the other.

    Attributes:
        drawn: How they were drawn.
        documents: How many the corpus has.
        exact: Whether that is known.
        size: Bytes of the source that they stand for.
        tokens, shingles, lengths: int64[documents]: lengths are bytes of text. Of very long texts
            in proportion to what was looked at.
        hashes: uint64[documents, 2]: of the tokens.
        keys: uint64[num_bands, documents].
        texts: Arrow arrays, one for each block; very long texts are cut, see `shortened`.
        table_bytes: Of all columns, as an uncompressed table.
        column_bytes: Of those columns that the run holds.
        cold: Thread seconds that it took to sign them, tokens being seen for the first time.
        learned: Tokens stemmed so far: when the first half was signed, and at the end.
        skipped: Blocks that could not be read.
    """

    drawn: Drawn
    documents: About
    exact: bool
    size: int
    tokens: np.ndarray
    shingles: np.ndarray
    lengths: np.ndarray
    hashes: np.ndarray
    keys: np.ndarray
    texts: list[Any]
    table_bytes: int
    column_bytes: int
    cold: float
    learned: tuple[int, int]
    skipped: int

    @property
    def count(self) -> int:
        """Documents of the sample."""
        return len(self.tokens)

    @property
    def looked_at(self) -> int:
        """Bytes of text that were signed."""
        return sum(_bytes_of(text) for text in self.texts)

    def text_of(self, docs: np.ndarray) -> Any:
        """Return the texts of some documents, as one Arrow array.

        Args:
            docs: int[], ascending.
        """
        ends = np.cumsum([0, *map(len, self.texts)])
        bounds = np.searchsorted(docs, ends)
        parts = [
            text.take(pa.array(docs[low:high] - first))
            for text, first, low, high in zip(
                self.texts, ends, bounds[:-1], bounds[1:], strict=False
            )
            if high > low
        ]
        return pa.concat_arrays([pa.array([], pa.large_string()), *parts])

    def sets_of(self, docs: np.ndarray, recipe: Recipe, pool: Pool) -> ShingleSets:
        """Return the shingle sets of some documents, in their order.

        Args:
            docs: int[], ascending.
            recipe: What documents become.
            pool: Threads.
        """

        def work(first: int, last: int) -> Any:
            return shingle_sets(self.text_of(docs[first:last]), recipe.shingle, recipe.stemmer)

        parts = pool.ranges(work, len(docs), step=512)
        offsets = np.concatenate([np.zeros(1, np.int64), *(np.diff(p.offsets) for p in parts)])
        values = np.concatenate([np.zeros(0, np.uint64), *(p.values for p in parts)])
        whole = type(parts[0])(values, np.cumsum(offsets)) if parts else None
        return ShingleSets.of(whole or shingle_sets([], recipe.shingle))


@dataclass
class _Signed:
    text: Any
    table_bytes: int
    column_bytes: int
    facts: ChunkFacts
    #: float64[documents]: for how many bytes each that was looked at stands.
    stretch: np.ndarray
    keys: np.ndarray
    seconds: float


@dataclass
class _Gathered:
    """Blocks by number, as they come."""

    signed: dict[int, _Signed] = field(default_factory=dict)
    skipped: int = 0
    half: int = 0


def draw_sample(corpus: Corpus, head: Headed, recipe: Recipe, effort: Effort, pool: Pool) -> Sample:
    """Read and sign blocks of documents from all over a corpus.

    Args:
        corpus: Where they are drawn from.
        head: Its first documents, which say how large a block is to be, and stand for all where
            nothing else can be read.
        recipe: What documents become.
        effort: How many.
        pool: Threads.

    Raises:
        InputError: A block can't be read, and the effort is strict about it.
    """
    blocks, whole, everywhere, known = _blocks(corpus, head, effort)
    gathered = _Gathered()
    end = time.perf_counter() + effort.seconds
    text = 0

    def work(item: Chunk | Documents) -> _Signed | None:
        try:
            documents = item.read() if isinstance(item, Chunk) else item
        except NeardupError:
            if effort.strict:
                raise
            return None
        size = item.size if isinstance(item, Chunk) else documents.text.nbytes
        text, stretch = shortened(documents.text)
        begin = time.perf_counter()
        facts, keys = sign_chunk(size, Documents(documents.table, text, 0), recipe)
        seconds = time.perf_counter() - begin
        held = documents.table.select(facts.columns.column_names).nbytes
        return _Signed(text, documents.table.nbytes, held, facts, stretch, keys, seconds)

    # In any order, so that the first ones are a sample where time does not suffice for all.
    order = np.random.default_rng(_SEED).permutation(len(blocks)).tolist()
    every = pool.ordered(work, (blocks[k] for k in order))
    for done, (number, found) in enumerate(zip(order, every, strict=False), 1):
        if found is None:
            gathered.skipped += 1
        else:
            gathered.signed[number] = found
            text += int(found.facts.lengths @ found.stretch)
        if recipe.stemmer is not None and done <= (len(blocks) + 1) // 2:
            gathered.half = recipe.stemmer.learned
        late = time.perf_counter() > end or text > 2 * effort.text
        if late and done >= _LEAST_BLOCKS:
            break
    whole = whole and len(gathered.signed) == len(blocks)
    return _sample(gathered, corpus.total_bytes, recipe, (whole, everywhere, known))


def _blocks(
    corpus: Corpus, head: Headed, effort: Effort
) -> tuple[Sequence[Chunk | Documents], bool, bool, int | None]:
    """Return (blocks, whether they are all, whether they are from everywhere, documents)."""
    if head.whole:
        return list(_cut(head)), True, True, head.count
    count = max(1, head.count)
    wanted = max(64, min(effort.documents, int(effort.text * count / max(1, head.text))))
    size = max(1, head.size * wanted // count)
    fits = corpus.total_bytes is not None and corpus.total_bytes <= 1.25 * size
    block_bytes = max(_LEAST_BYTES, -(-size // effort.blocks))
    spread = corpus.spread(2**62 if fits else effort.blocks, block_bytes)
    if spread is not None and spread.chunks:
        return spread.chunks, spread.whole, spread.everywhere, spread.documents
    known = None if spread is None else spread.documents
    return list(_cut(head)), False, False, known


def _cut(head: Headed) -> Iterator[Documents]:
    """The first documents in blocks."""
    rows = max(1, -(-head.count // _HEAD_BLOCKS))
    for chunk in head.documents:
        for first in range(0, len(chunk.text), rows):
            part = slice(first, first + rows)
            yield Documents(chunk.table[part], chunk.text[part], 0)


def shortened(text: Any) -> tuple[Any, np.ndarray]:
    """Cut very long texts, so that they do not take longer than all the others together.

    Args:
        text: Arrow large_string array without nulls.

    Returns:
        (texts, float64[documents]: bytes of each for one that is left of it).
    """
    whole = pc.binary_length(text).to_numpy()
    long = whole > _LONGEST
    if not long.any():
        return text, np.ones(len(text))
    places = np.flatnonzero(long)
    cut = pc.utf8_slice_codeunits(text.take(pa.array(places)), 0, _LONGEST)
    text = pc.replace_with_mask(text, pa.array(long), cut)
    return text, whole / np.maximum(1, pc.binary_length(text).to_numpy())


def _bytes_of(text: Any) -> int:
    return int(pc.sum(pc.binary_length(text)).as_py() or 0)


def _sample(
    gathered: _Gathered,
    total_bytes: int | None,
    recipe: Recipe,
    how: tuple[bool, bool, int | None],
) -> Sample:
    whole, everywhere, known = how
    signed = [gathered.signed[number] for number in sorted(gathered.signed)]
    facts = [s.facts for s in signed]
    counts = np.array([f.documents for f in facts], dtype=np.float64)
    sizes = np.array([f.size for f in facts], dtype=np.float64)
    total = int(counts.sum())
    if whole or known is not None:
        value = float(total if whole else known or total)
        about = About(value, value, value)
    elif total_bytes is None:  # nothing tells how many come after the first ones
        about = About(total, total, total)
    else:
        about = documents(sizes, counts, total_bytes)
    ratio = max(1.0, about.value / max(1, total))
    block = np.repeat(np.arange(len(facts), dtype=np.int32), counts.astype(np.int64))
    learned = 0 if recipe.stemmer is None else recipe.stemmer.learned

    def joined(name: str) -> np.ndarray:
        parts = [np.rint(getattr(s.facts, name) * s.stretch).astype(np.int64) for s in signed]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    return Sample(
        drawn=Drawn(block, max(1, len(facts)), 1.0 if whole else ratio, everywhere),
        documents=about,
        exact=whole or known is not None,
        size=int(sizes.sum()),
        tokens=joined("tokens"),
        shingles=joined("shingles"),
        lengths=joined("lengths"),
        hashes=np.concatenate([np.zeros((0, 2), np.uint64), *(f.sequence_hashes for f in facts)]),
        keys=np.concatenate(
            [np.zeros((recipe.num_bands, 0), np.uint64), *(s.keys for s in signed)], axis=1
        ),
        texts=[s.text for s in signed],
        table_bytes=sum(s.table_bytes for s in signed),
        column_bytes=sum(s.column_bytes for s in signed),
        cold=sum(s.seconds for s in signed),
        learned=(gathered.half, learned),
        skipped=gathered.skipped,
    )
