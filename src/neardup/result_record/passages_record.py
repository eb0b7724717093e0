"""The members of the records of copied passages, of one machine and of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET, UnsetType

from neardup.commands import imported
from neardup.result_record.record_parts import InputSource, OfCorpus, OfSpark, Output, agree
from neardup.result_record.spec_members import Count, RecordPart, members_of

_SPECS = "neardup.copied_passages.passage_spec"
# A type checker can't know the fields.
if TYPE_CHECKING:
    PassageSettings: TypeAlias = Any
    CutSettings: TypeAlias = Any
else:
    PassageSettings = members_of(imported(f"{_SPECS}:PassageSpec"), by=list[str])
    CutSettings = members_of(imported(f"{_SPECS}:CutSpec"))


class PassageCounts(RecordPart):
    documents: Count
    documents_with_copies: Count
    words: Count
    novel_words: Count
    copied_words: Count
    boilerplate_words: Count
    passages: Count
    passages_within: Count
    kept: Count
    old_documents: Count
    skipped: Count
    skipped_bad: Count
    cut_words: Count
    dropped: Count
    cut_words_left_nowhere: Count | UnsetType = UNSET


class StepBefore(RecordPart):
    folder: str
    command: str
    date: str
    documents: Count
    removed: Count
    kept: Count


class Totals(RecordPart, kw_only=True):
    documents: Count
    words: Count
    copied_words: Count
    boilerplate_words: Count | UnsetType = UNSET


class TotalsOfValue(Totals, kw_only=True):
    values: list[str | None] | UnsetType = UNSET
    others: Count | UnsetType = UNSET

    def __post_init__(self) -> None:
        agree("values", (self.values is UNSET) != (self.others is UNSET), "others")


class TotalsOfYear(Totals, kw_only=True):
    year: str | None


class TotalsOfMonth(Totals, kw_only=True):
    month: str | None


class PassageRecord(OfCorpus):
    output: Output
    against: InputSource | None
    step_before: StepBefore | None
    spec: PassageSettings
    cut: CutSettings
    counts: PassageCounts
    notes: list[str]
    temporary_bytes: Count
    by_value: list[TotalsOfValue] | UnsetType = UNSET
    by_year: list[TotalsOfYear] | UnsetType = UNSET
    by_month: list[TotalsOfMonth] | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.against is not None:
            self.against.require_documents("against", self.counts.old_documents)
        by, cut = self.spec.by, self.cut.cut or self.cut.cut_boilerplate
        agree("by_value", (self.by_value is not UNSET) == bool(by), "spec.by")
        agree("by_year", (self.by_year is UNSET) == (self.by_month is UNSET), "by_month")
        dated = self.by_year is not UNSET
        agree("by_year", not dated or self.spec.order_by is not None, "spec.order_by")
        drops = (self.cut.drop_above, self.cut.drop_below) != (None, None)
        lost = self.counts.cut_words_left_nowhere is not UNSET
        agree("counts.cut_words_left_nowhere", lost == (cut and drops), "cut.drop_above")
        self.require_tables({"passages": True, "documents": True, "cuts": cut}, "cut")
        self.require_tables({"boilerplate": self.spec.boilerplate > 0}, "spec.boilerplate")
        self.require_tables({"by_value": bool(by)}, "spec.by")
        self.require_tables({"by_year": dated, "by_month": dated}, "by_month")


class SparkPassageRecord(OfSpark):
    against: None
    step_before: StepBefore | None
    spec: PassageSettings
    cut: CutSettings
    counts: PassageCounts
    notes: list[str]
