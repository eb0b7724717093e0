"""The members that the record of each command has, with their types.

A member without a default is always there; one of another name is refused.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from neardup.commands import imported
from neardup.file_formats import FORMATS
from neardup.result_record.spec_members import Count, RecordPart, members_of
from neardup.spec import BOUNDED, WITHOUT_EDGES, ShingleSpec, Spec

Number = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
#: A file or a folder in the output folder: nothing is reached through it that is elsewhere.
Name = Annotated[str, Meta(pattern=r"^(?!\.{1,2}$)[^/\\\x00]+$")]
#: A file in such a folder, relative to it.
Inner = Annotated[str, Meta(pattern=r"(?s)^(?!/)(?!(.*/)?\.{1,2}(/|$))[^\x00]+$")]
Files = dict[Name, Count | list[Inner] | None]
Format = Annotated[str, Meta(pattern=f"^({'|'.join(FORMATS)})$")]
Columns = Annotated[list[str], Meta(min_length=1)]
Numbers = Annotated[str, Meta(pattern=r"^(\d{1,18}( \d{1,18})*)?$")]
InputFile = tuple[str, Count | None, Number]


# A type checker can't know the fields.
if TYPE_CHECKING:
    Shingle: TypeAlias = Any
    SpecMembers: TypeAlias = Any
    PassageSettings: TypeAlias = Any
    CutSettings: TypeAlias = Any
    LinkSettings: TypeAlias = Any
    MergeSettings: TypeAlias = Any
else:
    _PASSAGES = "neardup.copied_passages.passage_spec"
    Shingle, SpecMembers = members_of(ShingleSpec), members_of(Spec)
    PassageSettings = members_of(imported(f"{_PASSAGES}:PassageSpec"), by=list[str])
    CutSettings = members_of(imported(f"{_PASSAGES}:CutSpec"))
    # A record has the value that the default was.
    MergeSettings = members_of(imported("neardup.linkage.merging.merge_spec:MergeSpec"))
    LinkSettings = members_of(imported("neardup.linkage.fields:LinkSpec"), block_at=float)


def agree(key: str, agrees: bool, others: str) -> None:
    """Refuse a member that contradicts others."""
    if not agrees:
        raise ValueError(f"{key} does not agree with {others}")


class RecordHeader(Struct, kw_only=True):
    """Members of every record, of any version."""

    command: str
    files: Files
    format: Count | UnsetType = UNSET


class RecipeVersions(RecordPart):
    tokens: str
    snowball: str | UnsetType = UNSET


class RecipeMembers(RecordPart):
    shingle: Shingle
    scheme: str
    seed: Number
    num_bands: Count
    rows: Count
    within: str | None
    versions: RecipeVersions

    def __post_init__(self) -> None:
        agree("rows", (self.rows == 0) == (self.num_bands == 0), "num_bands")


class BandMembers(RecordPart):
    num_bands: Count
    rows: Count
    num_hashes: Count
    predicted_recall: float


class InputSource(RecordPart):
    directory: str
    given: Columns
    text: Columns
    id: str | None
    input_format: Format | None
    encoding_errors: Literal["strict", "replace"]
    delimiter: Annotated[str, Meta(max_length=2)] | None
    escape: Annotated[str, Meta(max_length=1)] | None
    sheet: str | None
    header_row: Count | None
    encoding: str | None
    max_document: Count
    skip_large: bool
    skip_bad: bool
    partition_bytes: Count
    items: bool
    private_ids: bool
    partition_documents: Numbers
    files: Count
    files_digest: str
    inputs: list[InputFile]

    def __post_init__(self) -> None:
        agree("inputs", len(self.inputs) in (0, self.files), "files")

    def require_documents(self, key: str, count: int) -> None:
        """Refuse a source, a member of this key, that has other documents than were counted."""
        total = sum(map(int, self.partition_documents.split()))
        agree(f"{key}.partition_documents", total == count, "the number of documents")


class Frame(RecordPart):
    given: list[str]
    text: Columns
    id: str | None
    encoding_errors: Literal["strict", "replace"]


class SparkFrame(RecordPart):
    text: Columns
    id: str
    input_format: str


class Output(RecordPart):
    clean: bool
    annotate: bool
    tables: Literal["parquet", "csv"]


class OutputOfTwo(Output):
    """Kept and removed documents."""

    format: Format | None
    removed: bool


class DedupOutput(OutputOfTwo):
    compression: str | None


class SparkOutput(Output):
    format: str


class Versions(RecordPart):
    neardup: str
    python: str
    numpy: str
    numba: str
    pyarrow: str


class Record(RecordPart):
    """Members of every record."""

    command: str
    files: Files
    format: Count
    date: datetime.datetime
    versions: Versions
    bytes: dict[str, Count]
    peak_memory: Count
    cores: Count
    seconds: dict[str, float]
    asked: str
    peak_private_memory: Count

    def __post_init__(self) -> None:
        agree("files.run.json", "run.json" in self.files, "the name of the record")

    def require_corpus(self, name: str, written: bool) -> None:
        """Refuse a record that has a folder of documents, or has none, against its settings."""
        there = self.files.get(name) is not None
        agree(f"files.{name}", there == written, f"output.{name}")

    def require_tables(self, written: dict[str, bool], others: str) -> None:
        """Refuse a record whose tables are not those of its settings."""
        for name, expected in written.items():
            file = f"{name}.parquet"
            agree(f"files.{file}", (file in self.files) == expected, others)


class OfCorpus(Record):
    """Of commands that read a corpus on one machine."""

    source: InputSource | None
    frame: Frame | None
    secret_ids: bool
    private_ids: bool
    output: Any
    counts: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        agree("source", (self.source is None) != (self.frame is None), "frame")
        if self.source is not None:
            self.source.require_documents("source", self.counts.documents)
        self.require_corpus("clean", self.output.clean)


class KeptCounts(RecordPart, kw_only=True):
    documents: Count
    kept: Count
    removed: Count

    def __post_init__(self) -> None:
        agree("documents", self.kept + self.removed == self.documents, "kept and removed")


class DedupCounts(KeptCounts):
    empty: Count
    short: Count
    tokens: Count
    shingles: Count
    equal_tokens: Count
    same: Count
    equal_words: Count
    encoding_replaced: Count
    skipped: Count
    skipped_bad: Count
    candidates: Count
    compared_documents: Count
    pairs_compared: Count
    pairs_ruled_out: Count
    not_compared: Count
    clusters: Count
    clusters_of_two_or_more: Count
    largest_cluster: Count
    without_group: Count | UnsetType = UNSET
    edges: Count | UnsetType = UNSET
    pairs: Count | UnsetType = UNSET
    pairs_in_clusters: Count | UnsetType = UNSET
    candidate_pairs: Count | UnsetType = UNSET
    set_pairs_compared: Count | UnsetType = UNSET
    #: Fewer than none where roots were compared that share no bucket.
    set_pairs_saved: Number | UnsetType = UNSET


#: Counts of disjoint sets only.
SET_COUNTS = ("candidate_pairs", "set_pairs_compared", "set_pairs_saved")


class StoreMembers(RecordPart):
    store: str
    bytes: Count


class DedupRecord(OfCorpus):
    output: DedupOutput
    spec: SpecMembers
    recipe: RecipeMembers
    recipe_digest: str
    run: str | None
    texts_digest: str
    id_type: str
    tree_threshold: float | None
    bands: BandMembers | None
    counts: DedupCounts
    notes: list[str]
    bucket_sizes: dict[str, Count]
    candidates_by_band: list[Count]
    pairs_by_similarity: dict[str, Count]
    store: StoreMembers
    disk: Count | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        spec, bands = self.spec, self.recipe.num_bands
        agree("bands", (self.bands is None) == (bands == 0), "recipe.num_bands")
        bounded = spec.cluster in BOUNDED
        agree("tree_threshold", (self.tree_threshold is not None) == bounded, "spec.cluster")
        listed = spec.pairs == "all" or spec.cluster not in WITHOUT_EDGES
        agree("counts.edges", (self.counts.edges is not UNSET) == listed, "spec.pairs")
        sets = spec.cluster == "disjoint-sets"
        for name in SET_COUNTS:
            agree(
                f"counts.{name}", (getattr(self.counts, name) is not UNSET) == sets, "spec.cluster"
            )
        counted = spec.pairs == "count"
        agree("counts.pairs", (self.counts.pairs is not UNSET) == counted, "spec.pairs")
        agree("pairs_by_similarity", bool(self.pairs_by_similarity) == counted, "spec.pairs")
        grouped = spec.within is not None
        has = self.counts.without_group is not UNSET
        agree("counts.without_group", has == grouped, "spec.within")
        agree("candidates_by_band", len(self.candidates_by_band) in (0, bands), "recipe.num_bands")
        self.require_corpus("removed", self.output.removed)
        ordered = spec.order_by is not None
        written = {"clusters": True, "edges": listed, "pair_counts": counted}
        self.require_tables(written, "spec.pairs")
        self.require_tables({"order": ordered}, "spec.order_by")
        if self.command == "dedup":
            looked_for = spec.boilerplate > 0
            self.require_tables({"boilerplate": looked_for}, "spec.boilerplate")


class AgainMembers(RecordPart):
    run: str
    used: str


class ReclusterRecord(DedupRecord, kw_only=True):
    recluster: AgainMembers


class AgainstCounts(KeptCounts):
    clusters: Count
    clusters_of_two_or_more: Count
    largest_cluster: Count
    skipped: Count
    skipped_bad: Count
    similar_to_old: Count
    old_documents: Count
    similar_within: Count
    same: Count
    equal_words: Count
    matches: Count | UnsetType = UNSET
    old_documents_found: Count | UnsetType = UNSET


class OldCorpusMembers(RecordPart, tag_field="kind", tag="corpus"):
    source: InputSource | None


class OldRunMembers(RecordPart, tag_field="kind", tag="run"):
    path: str | None
    texts_digest: str


class OldIndexMembers(RecordPart, tag_field="kind", tag="index"):
    path: str | None


class AgainstRecord(OfCorpus):
    output: OutputOfTwo
    spec: SpecMembers
    recipe: RecipeMembers
    bands: BandMembers | None
    old_only: bool
    counts: AgainstCounts
    notes: list[str]
    old: OldCorpusMembers | OldRunMembers | OldIndexMembers

    def __post_init__(self) -> None:
        super().__post_init__()
        bands, counts = self.recipe.num_bands, self.counts
        agree("bands", (self.bands is None) == (bands == 0), "recipe.num_bands")
        agree("counts.matches", (counts.matches is not UNSET) == self.old_only, "old_only")
        found = counts.old_documents_found is not UNSET
        agree("counts.old_documents_found", found == self.old_only, "old_only")
        if isinstance(self.old, OldCorpusMembers) and self.old.source is not None:
            self.old.source.require_documents("old.source", counts.old_documents)
        self.require_corpus("removed", self.output.removed)
        self.require_tables({"clusters": True, "matches": self.old_only}, "old_only")


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


class OfSpark(Record):
    engine: Literal["spark"]
    source: None
    frame: SparkFrame
    secret_ids: bool
    private_ids: bool
    output: SparkOutput

    def __post_init__(self) -> None:
        super().__post_init__()
        # A folder, or one file.
        clean = any(name.partition(".")[0] == "clean" for name in self.files)
        agree("files.clean", clean == self.output.clean, "output.clean")


class SparkCounts(KeptCounts):
    same: Count
    equal_words: Count
    empty: Count
    short: Count
    clusters: Count
    clusters_of_two_or_more: Count
    largest_cluster: Count
    tokens: Count
    shingles: Count
    without_group: Count | UnsetType = UNSET
    edges: Count | UnsetType = UNSET


class SparkRecord(OfSpark):
    spec: SpecMembers
    recipe: RecipeMembers
    bands: BandMembers | None
    counts: SparkCounts

    def __post_init__(self) -> None:
        super().__post_init__()
        agree("spec.order_by", self.spec.order_by is None, "command")


class SparkPassageRecord(OfSpark):
    against: None
    step_before: StepBefore | None
    spec: PassageSettings
    cut: CutSettings
    counts: PassageCounts
    notes: list[str]


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
