"""The members of the records of decontaminations."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from neardup.result_record.record_parts import (
    Columns,
    Format,
    KeptCounts,
    OfCorpus,
    OutputOfTwo,
    agree,
)
from neardup.result_record.spec_members import Count, RecordPart


class ContainSettings(RecordPart):
    by: str
    threshold: float | None
    shingle: str
    min_words: Count
    keep_case: bool
    nfkc: bool
    strip_accents: bool
    join_hyphens: bool
    signs: str
    cut: bool
    mask: str | None
    max_documents: float | None


class ContainCounts(KeptCounts):
    skipped: Count
    skipped_bad: Count
    contaminated: Count
    only_by_short_items: Count
    test_items: Count
    test_items_found: Count
    test_items_shorter_than_a_shingle: Count
    test_items_too_short: Count
    test_items_left_out: Count
    matches: Count
    cut_words: Count


class TestFile(RecordPart):
    file: str
    test_items: Count
    test_items_found: Count
    documents: Count
    matches: Count


class TestSource(RecordPart):
    given: list[str]
    text: Columns
    id: str | None
    input_format: Format | None
    delimiter: Annotated[str, Meta(max_length=2)] | None


class FrequentItem(RecordPart):
    test_doc: Count
    test_id: int | str | None
    documents: Count
    words: Count
    short: bool


class ContainRecord(OfCorpus):
    output: OutputOfTwo
    settings: ContainSettings
    counts: ContainCounts
    test_source: TestSource
    test_files: list[TestFile]
    left_out_items: list[FrequentItem]
    frequent_items: list[FrequentItem]
    notes: list[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        passages = self.settings.by == "passage"
        agree("settings.threshold", (self.settings.threshold is None) == passages, "settings.by")
        self.require_corpus("removed", self.output.removed)
        self.require_tables({"matches": True, "cuts": self.settings.cut}, "settings.cut")
