"""The members of the records of deduplications: new, again, against others, and on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET, UnsetType

from neardup.result_record.record_parts import (
    InputSource,
    KeptCounts,
    Number,
    OfCorpus,
    OfSpark,
    OutputOfTwo,
    agree,
)
from neardup.result_record.spec_members import Count, RecordPart, members_of
from neardup.spec import BOUNDED, WITHOUT_EDGES, ShingleSpec, Spec

# A type checker can't know the fields.
if TYPE_CHECKING:
    SpecMembers: TypeAlias = Any
    Shingle: TypeAlias = Any
else:
    Shingle, SpecMembers = members_of(ShingleSpec), members_of(Spec)


class ClusterCounts(KeptCounts):
    same: Count
    equal_words: Count
    clusters: Count
    clusters_of_two_or_more: Count
    largest_cluster: Count


class DedupCounts(ClusterCounts):
    empty: Count
    short: Count
    tokens: Count
    shingles: Count
    equal_tokens: Count
    encoding_replaced: Count
    skipped: Count
    skipped_bad: Count
    candidates: Count
    compared_documents: Count
    pairs_compared: Count
    pairs_ruled_out: Count
    not_compared: Count
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


class DedupOutput(OutputOfTwo):
    compression: str | None


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


class AgainstCounts(ClusterCounts):
    skipped: Count
    skipped_bad: Count
    similar_to_old: Count
    old_documents: Count
    similar_within: Count
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


class SparkCounts(ClusterCounts):
    empty: Count
    short: Count
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
