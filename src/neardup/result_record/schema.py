"""The members that the record of each command has, with their types.

A member without a default is always there; one of another name is refused.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

Count = Annotated[int, Meta(ge=0, le=1 << 62)]
Number = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
#: A file or a folder in the output folder: nothing is reached through it that is elsewhere.
Name = Annotated[str, Meta(pattern=r"^(?!\.{1,2}$)[^/\\\x00]+$")]
Columns = Annotated[list[str], Meta(min_length=1)]
Numbers = Annotated[str, Meta(pattern=r"^(\d{1,18}( \d{1,18})*)?$")]
InputFile = tuple[str, Count | None, Number]


class Part(Struct, kw_only=True, forbid_unknown_fields=True):
    """Base of all members that have members."""


class Header(Struct, kw_only=True):
    """What every record has, of any version."""

    command: str
    files: dict[Name, Count | list[str] | None]


class Shingle(Part):
    unit: str
    n: Count
    stem: str | None
    keep_case: bool
    nfkc: bool
    strip_accents: bool
    raw: bool
    bag: bool
    hash_bytes: Count
    ignore: list[str]
    stop_passages: list[str]


class Settings(Part):
    """`neardup.spec.Spec`."""

    shingle: Shingle
    scheme: str
    seed: Number
    threshold: float
    recall: float
    num_bands: Count | None
    rows: Count | None
    documents: Count | None
    method: str
    pairs: str
    cluster: str
    tree_threshold: float | None
    keep: str
    order_by: str | None
    max_bucket: Count | None


class RecipeMembers(Part):
    shingle: Shingle
    scheme: str
    seed: Number
    num_bands: Count
    rows: Count
    versions: dict[str, str]


class Bands(Part):
    num_bands: Count
    rows: Count
    num_hashes: Count
    predicted_recall: float


class InputSource(Part):
    directory: str
    given: list[str]
    text: Columns
    id: str | None
    input_format: str | None
    encoding_errors: Literal["strict", "replace"]
    delimiter: str | None
    max_document: Count
    skip_large: bool
    partition_bytes: Count
    items: bool
    private_ids: bool
    partition_documents: Numbers
    files: Count
    files_digest: str
    inputs: list[InputFile]


class Frame(Part):
    given: list[str]
    text: Columns
    id: str | None
    encoding_errors: Literal["strict", "replace"]


class SparkFrame(Part):
    text: Columns
    id: str
    input_format: str


class Output(Part):
    clean: bool
    annotate: bool
    tables: Literal["parquet", "csv"]
    format: str | UnsetType | None = UNSET
    compression: str | UnsetType | None = UNSET
    removed: bool | UnsetType = UNSET


class Record(Part):
    """Members of every record."""

    command: str
    files: dict[Name, Count | list[str] | None]
    format: Count
    date: datetime.datetime
    versions: dict[str, str]
    bytes: dict[str, Count]
    peak_memory: Count
    cores: Count
    seconds: dict[str, float]


class OfCorpus(Record):
    """Of commands that read a corpus on one machine."""

    source: InputSource | None
    frame: Frame | None
    secret_ids: bool
    private_ids: bool
    output: Output


class DedupCounts(Part):
    documents: Count
    empty: Count
    short: Count
    tokens: Count
    shingles: Count
    exact_duplicates: Count
    encoding_replaced: Count
    skipped: Count
    candidates: Count
    compared_documents: Count
    pairs_compared: Count
    pairs_ruled_out: Count
    not_compared: Count
    kept: Count
    removed: Count
    clusters: Count
    clusters_of_two_or_more: Count
    largest_cluster: Count
    edges: Count | UnsetType = UNSET


class StoreMembers(Part):
    store: str
    bytes: Count


class DedupRecord(OfCorpus):
    spec: Settings
    recipe: RecipeMembers
    recipe_digest: str
    asked: str
    run: str | None
    texts_digest: str
    id_type: str
    tree_threshold: float | None
    bands: Bands | None
    counts: DedupCounts
    notes: list[str]
    bucket_sizes: dict[str, Count]
    candidates_by_band: list[Count]
    store: StoreMembers
    peak_private_memory: Count
    disk: Count | UnsetType = UNSET


class Again(Part):
    run: str
    used: str


class ReclusterRecord(DedupRecord, kw_only=True):
    recluster: Again


class AgainstCounts(Part):
    kept: Count
    removed: Count
    clusters: Count
    clusters_of_two_or_more: Count
    largest_cluster: Count
    documents: Count
    skipped: Count
    similar_to_old: Count
    old_documents: Count
    similar_within: Count
    matches: Count | UnsetType = UNSET
    old_documents_found: Count | UnsetType = UNSET


class OldCorpus(Part, tag_field="kind", tag="corpus"):
    source: InputSource | None


class OldRun(Part, tag_field="kind", tag="run"):
    path: str | None
    texts_digest: str


class OldIndex(Part, tag_field="kind", tag="index"):
    path: str | None


class AgainstRecord(OfCorpus):
    spec: Settings
    recipe: RecipeMembers
    bands: Bands | None
    old_only: bool
    counts: AgainstCounts
    notes: list[str]
    old: OldCorpus | OldRun | OldIndex


class ContainSettings(Part):
    by: str
    threshold: float | None
    shingle: str
    min_words: Count
    cut: bool
    mask: str | None


class ContainCounts(Part):
    documents: Count
    skipped: Count
    kept: Count
    removed: Count
    contaminated: Count
    only_by_short_items: Count
    test_items: Count
    test_items_found: Count
    test_items_shorter_than_a_shingle: Count
    test_items_too_short: Count
    matches: Count
    cut_words: Count


class TestFile(Part):
    file: str
    test_items: Count
    test_items_found: Count
    documents: Count
    matches: Count


class FrequentItem(Part):
    test_doc: Count
    test_id: int | str | None
    documents: Count
    words: Count
    short: bool


class ContainRecord(OfCorpus):
    settings: ContainSettings
    counts: ContainCounts
    test_files: list[TestFile]
    frequent_items: list[FrequentItem]


class PassageSettings(Part):
    words: Count
    order_by: str | None
    within: str | None
    across: str | None
    source: str
    boilerplate: Count
    bridge: Count
    stem: str | None
    keep_case: bool
    nfkc: bool
    strip_accents: bool
    ignore: list[str]
    stop_passages: list[str]
    by: str | None


class CutSettings(Part):
    copied: bool
    boilerplate: bool
    mask: str | None
    whole: str | None
    drop_above: float | None
    drop_below: Count | None
    keep_sources: bool
    annotate: bool


class PassageCounts(Part):
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
    cut_words: Count
    dropped: Count
    cut_words_left_nowhere: Count | UnsetType = UNSET


class StepBefore(Part):
    folder: str
    command: str
    date: str
    documents: Count
    removed: Count
    kept: Count


class Totals(Part):
    documents: Count
    words: Count
    copied_words: Count
    boilerplate_words: Count
    value: str | UnsetType | None = UNSET
    others: Count | UnsetType = UNSET
    year: str | UnsetType | None = UNSET
    month: str | UnsetType | None = UNSET


class PassageRecord(OfCorpus):
    against: InputSource | None
    step_before: StepBefore | None
    spec: PassageSettings
    cut: CutSettings
    counts: PassageCounts
    notes: list[str]
    temporary_bytes: Count
    asked: str
    peak_private_memory: Count | UnsetType = UNSET
    by_value: list[Totals] | UnsetType = UNSET
    by_year: list[Totals] | UnsetType = UNSET
    by_month: list[Totals] | UnsetType = UNSET


class OfSpark(Record):
    source: None
    frame: SparkFrame
    secret_ids: bool
    private_ids: bool
    output: Output


class SparkCounts(Part):
    documents: Count
    empty: Count
    short: Count
    kept: Count
    removed: Count
    clusters: Count
    clusters_of_two_or_more: Count
    largest_cluster: Count
    similar_to_old: Count | UnsetType = UNSET
    tokens: Count | UnsetType = UNSET
    shingles: Count | UnsetType = UNSET
    edges: Count | UnsetType = UNSET
    old_documents: Count | UnsetType = UNSET


class SparkRecord(OfSpark):
    spec: Settings
    recipe: RecipeMembers
    bands: Bands | None
    counts: SparkCounts


class SparkPassageRecord(OfSpark):
    against: None
    step_before: StepBefore | None
    spec: PassageSettings
    cut: CutSettings
    counts: PassageCounts
    notes: list[str]


class FieldMembers(Part):
    name: str
    compare: str
    weight: float


class LinkSettings(Part):
    fields: list[FieldMembers]
    block_at: float | None
    recall: float
    similarity: str
    decide_at: float
    one_to_one: bool
    cluster: str
    tagged: bool
    seed: Number


class Block(Part):
    name: str
    pairs: Count
    added: Count
    fields: list[Count]


class LinkCounts(Part):
    records: Count
    sources: Count
    against: Count | None
    possible: Count
    candidates: Count
    candidates_per_record: float
    reduction_ratio: float
    compared: Count
    not_compared: Count
    common_shingles: Count
    bands: Count
    rows: Count
    block_at: float
    recall: float
    blocks: list[Block]
    pairs: Count
    clusters: Count
    largest: Count
    entities: Count


class LinkThreshold(Part):
    value: float
    kind: str
    bottom: float | None
    modes: tuple[float, float] | None
    histogram: list[Count]


class Probability(Part):
    probability: float
    pairs: Count


class Dependence(Part):
    one: Count
    two: Count
    strength: float
    ratios: list[list[float]]


class ModelView(Part):
    name: str
    m: list[list[float]]
    u: list[list[float]]
    weights: list[list[float]]
    typical: list[list[float | None]]
    tree: list[Dependence]
    prior: float


class LinkModel(Part):
    views: list[ModelView]
    foot: float | None
    shift: float
    factor: float
    swapped: list[tuple[Count, Count]]
    by_labels: bool


class LinkRecord(Record):
    spec: LinkSettings
    counts: LinkCounts
    threshold: LinkThreshold
    probabilities: list[Probability]
    model: LinkModel
    dependent: list[str]
    notes: list[str]
    names: list[str]
    id: str | None
    private_ids: bool
    id_types: list[str]


#: The record of each command.
RECORDS: dict[str, Any] = {
    "dedup": DedupRecord,
    "recluster": ReclusterRecord,
    "dedup --against": AgainstRecord,
    "decontaminate": ContainRecord,
    "passages": PassageRecord,
    "spark": SparkRecord,
    "spark --passages": SparkPassageRecord,
    "link": LinkRecord,
}
