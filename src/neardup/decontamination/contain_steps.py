"""Steps of decontamination: memory, matches, and the files made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.copied_passages.cuts.text_cuts import TextCuts
from neardup.corpora.corpus import InputCorpus, naming
from neardup.corpora.removed_documents import form_of_removed
from neardup.decontamination.contained import CorpusMatches, Items, MatchConditions, matches_of
from neardup.decontamination.contained_counts import MatchCounts
from neardup.deduplication.documents.identifiers import take_ids
from neardup.files.scratch import Disk, Scratch
from neardup.frame.command import Command, Each, Made, Means, Steps, TableParts
from neardup.frame.storage import SOURCE
from neardup.memory_plan import plan_decontamination
from neardup.options.how_read import OpenInput
from neardup.options.option_groups import Resources, Writing
from neardup.output.clean import CLEAN, REMOVED, CleanCorpus, Form
from neardup.spec import FORMS
from neardup.threads import Pool
from neardup.values.json_values import JSON

DECONTAMINATE = Command("decontaminate", "compare", ("matches", "cuts"), (CLEAN, REMOVED))
#: Rows that are written at a time.
_ROWS = 1 << 17
#: Items that are named as left out, at most.
_NAMED = 1000
#: How test items were read, in the record: as far as the command has options for it.
_ITEMS_READ = ("given", "text", "id", "input_format", "delimiter")


@dataclass
class ContainSteps(Steps):
    """A training corpus and test items, both open."""

    corpus: InputCorpus
    items: InputCorpus
    asked: MatchConditions
    mask: str | None
    resources: Resources
    writing: Writing
    #: How many items were left out as too frequent, and the first of them, see `MatchCounts`.
    left_out: tuple[int, list[dict[str, Any]]] = field(default_factory=lambda: (0, []))

    @property
    def reads(self) -> Sequence[OpenInput]:
        return [self.corpus, self.items]

    def manifest(self) -> dict[str, JSON]:
        return {
            **self.identity(),
            "decontaminate": self._settings() | {"texts": self.asked.texts},
            "output": self.writing.as_dict(),
        }

    def _settings(self) -> dict[str, Any]:
        asked = self.asked
        return {
            "by": asked.by,
            "threshold": None if asked.by == "passage" else asked.minimum,
            "shingle": str(asked.shingle),
            "min_words": asked.min_words,
            **{name: getattr(asked.shingle, name) for name in FORMS},
            "signs": asked.shingle.signs,
            "cut": asked.cut,
            "mask": self.mask,
            "max_documents": asked.max_documents,
        }

    @contextmanager
    def work(self, means: Means) -> Iterator[Made]:
        corpus, items, asked, clock = self.corpus, self.items, self.asked, means.clock
        threads, allowed = self.resources.threads, self.resources.bytes
        with naming("test_"):
            text = items.workload(1, asked.shingle).text
        plan = plan_decontamination(corpus.workload(threads, asked.shingle), text, allowed)
        if allowed is not None:
            plan.check()
            threads, corpus.check = plan.threads, plan.check_read
        scratch = Scratch(plan.arrays, Disk(means.folder))
        with Pool(threads) as pool:
            size = items.source.total_bytes
            stage = clock.stage("read test items", size, "bytes")
            with naming("test_"), stage as advance:
                prepared = Items(items, asked, pool, advance)
            size = corpus.source.total_bytes
            if asked.max_documents is not None:
                with clock.stage("count", size, "bytes") as advance:
                    self._leave_out(prepared, asked.max_documents, advance)
            with clock.stage("compare", size, "bytes") as advance:
                found = matches_of(corpus, items, prepared, scratch, advance)
            with clock.stage("metadata"):
                corpus.ids(scratch)
                made = self._made(found, prepared, scratch, pool)
            yield made

    def _leave_out(self, prepared: Items, share: float, advance: Callable[[int], None]) -> None:
        """Look no longer for items that a larger share of the documents has, and note them."""
        counting = InputCorpus(self.corpus.source, self.corpus.how, self.corpus.extra)
        counting.reader = self.corpus.reader
        counts = MatchCounts(self.items)
        for part in prepared.matches(counting, advance):
            counts.add(part.pairs)
        many = counts.of_many(share * counting.documents)
        self.left_out = len(many), counts.described(prepared, many[:_NAMED])
        prepared.leave_out(many)

    def _made(self, found: CorpusMatches, prepared: Items, scratch: Scratch, pool: Pool) -> Made:
        corpus, writing = self.corpus, self.writing
        kept = np.ones(corpus.documents, np.bool_) if self.asked.cut else ~found.contaminated
        about = self._about(found, prepared, kept)
        tables = {"matches": TableParts(lambda each: _slices(found.table))}
        corpora: dict[str, CleanCorpus] = {}
        if writing.out is not None:
            ends = found.cut.documents_in(scratch), found.cut.start, found.cut.end
            noted = scratch.empty((len(found.cut.start), 4), np.int64)
            nfkc = self.asked.shingle.nfkc
            cuts = TextCuts(corpus, *ends, kept, noted, self.mask or "", nfkc)
            form = Form(writing.format, changing=cuts.changing() if self.asked.cut else None)
            corpora[CLEAN] = corpus.chosen(kept, form, pool)
            if writing.removed:
                rows = np.flatnonzero(found.contaminated)
                of_removed = form_of_removed(writing.format, found.closest, rows)
                corpora[REMOVED] = corpus.chosen(~kept, of_removed, pool)
            if self.asked.cut:

                def every(each: Each) -> Iterator[pa.Table]:
                    return cuts.tables(take_ids(corpus.ids(), np.arange(len(kept))))

                tables["cuts"] = TableParts(every)
        return Made(tables, lambda: about, pool, corpora, inputs={SOURCE: corpus.input()})

    def _about(self, found: CorpusMatches, prepared: Items, kept: np.ndarray) -> dict[str, Any]:
        corpus, items, writing = self.corpus, self.items, self.writing
        counts = {
            "documents": len(kept),
            **corpus.skipped.counts(),
            "kept": int(kept.sum()),
            "removed": int(len(kept) - kept.sum()),
            "contaminated": found.counts.contaminated,
            "only_by_short_items": found.counts.only_short,
            "test_items": items.documents,
            "test_items_found": found.counts.items_found,
            "test_items_shorter_than_a_shingle": prepared.short,
            "test_items_too_short": prepared.too_short,
            "test_items_left_out": self.left_out[0],
            "matches": found.counts.matches,
            "cut_words": int(found.cut.words.sum()),
        }
        return {
            "settings": self._settings(),
            "counts": counts,
            "test_source": {name: items.how[name] for name in _ITEMS_READ},
            "test_files": found.counts.by_file(),
            "notes": [*corpus.text_notes(), *items.text_notes("test items")],
            "left_out_items": self.left_out[1],
            "frequent_items": found.counts.frequent_items(prepared, len(kept)),
            **corpus.about_outputs(format=writing.format, removed=writing.removed),
        }


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    """Yield a table, some rows at a time: a row group of it takes memory while it is written."""
    for low in range(0, max(1, table.num_rows), _ROWS):
        yield table.slice(low, _ROWS)
