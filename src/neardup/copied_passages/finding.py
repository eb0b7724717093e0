"""From an input to its passages: two passes over the texts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import numbers
from neardup.copied_passages.building import Counts, Passages, build, by_number
from neardup.copied_passages.passage_spec import PassageSpec
from neardup.copied_passages.repeated.equal_rows import Groups
from neardup.copied_passages.repeated.repeats import Again, Anchors, Finder
from neardup.copied_passages.short_documents import short_notes
from neardup.copied_passages.work import Work
from neardup.corpora.corpus import InputCorpus
from neardup.deduplication.documents.metadata import joined
from neardup.deduplication.documents.order_notes import order_notes
from neardup.deduplication.documents.ordering import document_order, values_of
from neardup.io.source import Partition
from neardup.sketch.document_groups import group_values, note_on_groups
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import Spec
from neardup.values.readable import having

#: Words of a passage within its own document from which on that is named in a note.
_PERIODIC = 100_000


class Inputs(NamedTuple):
    """The corpus, and one that its documents are compared with as well."""

    new: InputCorpus
    old: InputCorpus | None = None

    @property
    def all(self) -> list[InputCorpus]:
        """Both; the documents of the old one come first."""
        return [self.new] if self.old is None else [self.old, self.new]

    @property
    def old_documents(self) -> int:
        return 0 if self.old is None else self.old.documents

    def column(self, name: str) -> Any:
        """Return a column of all documents, in a type that fits all of them."""
        columns: list[Any] = [corpus.column(name) for corpus in self.all]
        return joined([pa.table({name: column}) for column in columns]).column(0)

    def check_unchanged(self) -> None:
        for corpus in self.all:
            corpus.source.check_unchanged()

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Read texts once more; FormatError names a file that has changed meanwhile.

        Other texts than before can make any step fail, with an error that does not say why.
        """
        try:
            yield
        except Exception:
            self.check_unchanged()
            raise
        self.check_unchanged()


class FoundPassages(NamedTuple):
    """Passages of a corpus; numbers of documents are those of keep order, the old ones first."""

    passages: Passages
    counts: Counts
    tokens: np.ndarray  # int32[documents], by number
    positions: np.ndarray  # int64[documents]: position in the input of each number
    numbers: np.ndarray  # int64[documents]: the reverse
    notes: list[str]


def find(inputs: Inputs, spec: PassageSpec, work: Work) -> FoundPassages:
    """Find the passages of a corpus."""
    tokeniser = Tokeniser(spec.shingle, work.arrays.empty)
    finder = Finder(spec.words, tokeniser, work)
    sizes = [corpus.source.total_bytes or 0 for corpus in inputs.all]
    anchors = finder.anchors(sum(sizes))
    stage = work.clock.stage("find anchors", sum(sizes) or None, "bytes")
    with inputs.unchanged(), stage as advance:
        _read_once(inputs, anchors, work, advance)
        entered = anchors.corpus()
        for corpus in inputs.all:
            corpus.ids(work.scratch)
        marked = anchors.marked()
    del anchors  # its arrays are not needed any more
    notes = [] if inputs.old is None else inputs.old.text_notes("old corpus")
    notes += inputs.new.text_notes()
    entered.numbers[:] = _numbers(inputs, spec, notes)
    groups = _groups(inputs, spec, entered.numbers, notes)

    def passages() -> tuple[np.ndarray, ...]:
        with inputs.unchanged():
            repeats = finder.repeats(
                entered,
                marked,
                functools.partial(_again, inputs),
                groups,
                spec.boilerplate,
                inputs.check_unchanged,
            )
        with work.clock.stage("join passages"):
            made = build(repeats, entered, spec, work, inputs.old_documents)
        return (*made[0], *made[1])

    arrays = work.progress.found(passages, work.scratch.empty)
    work.close_rows()
    split = len(Passages._fields)
    tokens = by_number(entered, work.scratch)
    positions = work.scratch.empty(entered.documents, np.int64)
    positions[entered.numbers] = np.arange(entered.documents)
    _note_short(spec, entered.tokens[inputs.old_documents :], entered.short, notes)
    found = Passages(*arrays[:split])
    _note_periodic(found, notes)
    counts = Counts(*arrays[split:])
    return FoundPassages(found, counts, tokens, positions, entered.numbers, notes)


def _read_once(
    inputs: Inputs, anchors: Anchors, work: Work, advance: Callable[[int], None]
) -> None:
    """Find the anchors of the partitions that were not read before an interruption."""
    for entered in work.progress.entered():
        inputs.all[entered.corpus].enter(entered.about, entered.table)
        anchors.enter(entered)
    if work.progress.is_marked:
        return
    for number_of_corpus, corpus in enumerate(inputs.all):
        done = len(corpus.counts)

        def read(partition: Partition, corpus: InputCorpus = corpus) -> Any:
            documents = corpus.read(partition)
            return partition.size, corpus.about(partition, documents), anchors.of(documents.text)

        def every(corpus: InputCorpus = corpus, done: int = done) -> Iterator[Partition]:
            for number, partition in corpus.reader.partitions():
                if number < done:
                    advance(partition.size)
                else:
                    work.check(partition)
                    partition.ask()
                    yield partition

        for size, about, found in work.pool.ordered(read, every(), work.begun):
            corpus.enter(*about)
            anchors.add(found, number_of_corpus, *about)
            advance(size)


def _again(inputs: Inputs, begin: int, advance: Callable[[int], None]) -> Iterator[Again]:
    first = 0
    for corpus in inputs.all:
        for number, partition in corpus.reader.partitions():
            count = corpus.counts[number]

            def texts(
                rows: np.ndarray, partition: Partition = partition, count: int = count
            ) -> pa.LargeStringArray:
                return partition.texts(rows, count)

            if first + number >= begin:
                partition.ask()
                yield Again(first + number, partition, texts)
            advance(count)
        first += len(corpus.counts)


def _numbers(inputs: Inputs, spec: PassageSpec, notes: list[str]) -> np.ndarray:
    """Return int64[documents]: the number in keep order of each document."""
    old, new = inputs.old_documents, inputs.new.documents
    found = np.arange(old + new)
    if spec.order is not None:
        column: Any = inputs.new.column(spec.order.column)
        table = pa.table({spec.order.column: column})
        order = document_order(table, Spec(order_by=spec.order_by))
        assert order is not None
        found[old + order] = np.arange(old, old + new)
        notes += order_notes(table, Spec(order_by=spec.order_by))
        if none := values_of(column).null_count:
            notes.append(
                f"{having(none, 'document')} no {spec.order.column}; those without come last"
            )
    return found


def _groups(
    inputs: Inputs, spec: PassageSpec, positions: np.ndarray, notes: list[str]
) -> Groups | None:
    name = spec.within or spec.across
    if name is None:
        return None
    values = group_values(inputs.column(name), name)
    codes: Any = pc.dictionary_encode(values)
    if isinstance(codes, pa.ChunkedArray):
        codes = codes.combine_chunks()
    if isinstance(codes, pa.ChunkedArray):
        codes = codes.chunk(0) if codes.num_chunks else pa.array([], pa.int32()).dictionary_encode()
    of = numbers(codes.indices.fill_null(-1), np.int32)
    notes += note_on_groups(int(np.count_nonzero(of[inputs.old_documents :] < 0)), name)
    by_number = np.empty_like(of)
    by_number[positions] = of
    return Groups(by_number, spec.across is not None)


def _note_short(
    spec: PassageSpec, tokens: np.ndarray, hashes: np.ndarray, notes: list[str]
) -> None:
    """Note documents that can't have passages.

    Args:
        spec: Has the words of a run.
        tokens: int32[documents], of the new ones.
        hashes: uint64[] of the short ones among them, see `short_texts`.
        notes: Gets the note.
    """
    longest = int(tokens.max()) if len(tokens) else None
    short = int(np.count_nonzero(tokens < spec.words))
    equal = len(hashes) - len(np.unique(hashes))
    notes += short_notes(spec.words, longest, short, equal)


def _note_periodic(passages: Passages, notes: list[str]) -> None:
    """Name documents that repeat themselves over and over: they take most time and disk."""
    long = np.flatnonzero(passages.words >= _PERIODIC)
    of = passages.position[long] >> np.uint64(32)
    long, of = (values[of == passages.source[long] >> np.uint64(32)] for values in (long, of))
    if len(long):
        most = int(passages.words[long].max())
        notes.append(
            f"{len(np.unique(of)):,} documents repeat themselves over {_PERIODIC:,} words or more, "
            f"such as a row of zeros, the longest over {most:,}; each of these words takes some "
            "110 bytes of temporary disk"
        )
