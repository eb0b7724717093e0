"""The members of the records of linkages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from neardup.commands import imported
from neardup.result_record.record_parts import Record, agree
from neardup.result_record.spec_members import Count, RecordPart, members_of

# A type checker can't know the fields.
if TYPE_CHECKING:
    LinkSettings: TypeAlias = Any
    MergeSettings: TypeAlias = Any
else:
    # A record has the value that the default was.
    MergeSettings = members_of(imported("neardup.linkage.merging.merge_spec:MergeSpec"))
    LinkSettings = members_of(imported("neardup.linkage.fields:LinkSpec"), block_at=float)


class BlockMembers(RecordPart):
    name: str
    pairs: Count
    added: Count
    fields: list[Count]


class LinkCounts(RecordPart):
    records: Count
    skipped: Count
    skipped_bad: Count
    sources: Count
    against: Count | None
    possible: Count
    candidates: Count
    candidates_per_record: float
    reduction_ratio: float | None
    compared: Count
    not_compared: Count
    left_out: Count
    each: Count
    copies: Count
    common_shingles: Count
    bands: Count
    rows: Count
    block_at: float
    recall: float
    blocks: list[BlockMembers]
    pairs: Count
    clusters: Count
    largest: Count
    entities: Count


class LinkThreshold(RecordPart):
    value: float
    kind: Literal["index", "valley", "none", "few", "matches"]
    bottom: float | None
    modes: tuple[float, float] | None
    histogram: list[Count]


class PairsFrom(RecordPart):
    score: float
    pairs: Count


class DependenceMembers(RecordPart):
    one: Count
    two: Count
    strength: float
    ratios: Annotated[
        list[Annotated[list[float], Meta(min_length=4, max_length=4)]],
        Meta(min_length=4, max_length=4),
    ]


class ModelView(RecordPart):
    name: str
    m: list[list[float]]
    u: list[list[float]]
    weights: list[list[float]]
    typical: list[list[float | None]]
    tree: list[DependenceMembers]
    prior: float

    def __post_init__(self) -> None:
        classes = [len(column) for column in self.m]
        for name, columns in {"u": self.u, "weights": self.weights}.items():
            agree(name, [len(column) for column in columns] == classes, "m")
        if self.typical:
            agree("typical", [len(column) for column in self.typical] == classes, "m")


class ByLabels(RecordPart):
    factor: float
    shift: float
    fields: list[float]


class LinkModel(RecordPart):
    views: list[ModelView]
    foot: float | None
    swapped: list[tuple[Count, Count]]
    by_labels: ByLabels | None


class LinkRecord(Record):
    spec: LinkSettings
    counts: LinkCounts
    threshold: LinkThreshold
    scores: list[PairsFrom]
    model: LinkModel
    notes: list[str]
    names: list[str]
    sizes: list[Count]
    columns: list[list[str]]
    id: str | None
    placeholders: list[tuple[Count, str]]
    merge: MergeSettings | None
    private_ids: bool
    id_types: list[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        fields, sources = len(self.spec.fields), self.counts.sources
        none = self.counts.reduction_ratio is None
        agree("counts.reduction_ratio", none == (not self.counts.possible), "counts.possible")
        agree("names", len(self.names) == sources, "counts.sources")
        agree("sizes", len(self.sizes) == sources, "counts.sources")
        agree("columns", all(len(of_file) == fields for of_file in self.columns), "spec.fields")
        one = len(self.id_types) == 1
        agree("id_types", one or len(self.id_types) == sources == 2, "counts.sources")
        numbers = [edge.one for view in self.model.views for edge in view.tree]
        numbers += [edge.two for view in self.model.views for edge in view.tree]
        numbers += [number for pair in self.model.swapped for number in pair]
        numbers += [number for block in self.counts.blocks for number in block.fields]
        agree("spec.fields", max(numbers, default=-1) < fields, "the numbers of fields")
        for view in self.model.views:
            agree("model.views", fields <= len(view.m) <= fields + 1, "spec.fields")
        names = ("pairs", "candidates", "clusters", "records")
        tables = dict.fromkeys(names, True) | {"merges": self.merge is not None}
        self.require_tables(tables, "command")
