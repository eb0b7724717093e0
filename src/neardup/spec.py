"""Specs: frozen, validated settings, and the digest that is stored with whatever they made.

A spec says everything that the result depends on besides the input. Threads, batch sizes, stores
and output formats are not in it, because they must not change the result.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from neardup.errors import SpecError

__all__ = ["CLUSTERINGS", "PRESETS", "SCHEMES", "STEMMERS", "ShingleSpec", "Spec", "preset"]

Unit = Literal["word", "char"]

#: Names of signature schemes as users write them, and the version that each stands for today. A
#: version is never redefined: a change of arithmetic gets a new one.
SCHEMES = {"affine32": "affine32/1", "oph32": "oph32/1"}

#: Snowball stemmers (PyStemmer); listed here so that a spec is checked without importing it.
_LANGUAGES = """
    arabic armenian basque catalan danish dutch english esperanto estonian finnish french german
    greek hindi hungarian indonesian irish italian lithuanian nepali norwegian polish porter
    portuguese romanian russian serbian spanish swedish tamil turkish yiddish
"""
STEMMERS = frozenset(_LANGUAGES.split())

METHODS = ("lsh", "allpairs")
PAIRS = ("collapsed", "all")
CLUSTERINGS = ("bounded", "bounded-mst", "star", "components", "louvain")
#: Clusterings whose clusters are bounded by the tree threshold.
BOUNDED = ("bounded", "bounded-mst")
#: Clusterings that are made of all edges at once, whatever ``pairs`` says.
_OF_ALL_EDGES = ("bounded-mst", "louvain")


def _check(condition: bool, message: str, hint: str = "") -> None:
    if not condition:
        raise SpecError(message, hint)


def _probability(name: str, value: float, *, low_open: bool, high_open: bool) -> None:
    low = value > 0 if low_open else value >= 0
    high = value < 1 if high_open else value <= 1
    left, right = "(" if low_open else "[", ")" if high_open else "]"
    _check(
        isinstance(value, int | float) and math.isfinite(value) and low and high,
        f"{name} is {value!r}; expected a number in {left}0, 1{right}",
    )


@dataclass(frozen=True, slots=True)
class ShingleSpec:
    """What a document becomes: normalising, unit and length of its shingles.

    Attributes:
        unit: ``"word"`` (tokens are runs of letters, marks, digits and ``_``) or ``"char"``.
        n: Number of consecutive tokens or characters in a shingle, 1 to 64.
        stem: Name of a Snowball stemmer applied to every token, or None. Unit word only.
        keep_case: Leave case as it is; else everything becomes lower case.
        nfkc: Unicode compatibility composition before anything else.
        strip_accents: Canonical decomposition and removal of combining marks.
        raw: Unit char only: keep white space as it is; else runs become one blank and ends go.
        bag: The i-th occurrence of a shingle is a shingle of its own, so that Jaccard becomes
            multiset Jaccard.

    Raises:
        SpecError: A field is out of range, or two contradict each other.
    """

    unit: Unit = "word"
    n: int = 5
    stem: str | None = None
    keep_case: bool = False
    nfkc: bool = False
    strip_accents: bool = False
    raw: bool = False
    bag: bool = False

    def __post_init__(self) -> None:
        _check(self.unit in ("word", "char"), f"unit is {self.unit!r}; expected 'word' or 'char'")
        _check(
            isinstance(self.n, int) and 1 <= self.n <= 64,
            f"shingle length is {self.n!r}; expected a whole number from 1 to 64",
        )
        if self.stem is not None:
            _check(
                self.stem in STEMMERS,
                f"no stemmer for {self.stem!r}",
                "known are " + ", ".join(sorted(STEMMERS)),
            )
            _check(self.unit == "word", "stem needs the unit word, and the unit is char")
        _check(not (self.raw and self.unit == "word"), "raw needs the unit char")

    @classmethod
    def parse(cls, shingle: str, **options: Any) -> ShingleSpec:
        """Make a spec from ``"word:5"`` or ``"char:3"``.

        >>> ShingleSpec.parse("char:3").n
        3
        """
        unit, colon, n = shingle.partition(":")
        _check(
            bool(colon) and unit in ("word", "char") and n.isascii() and n.isdigit(),
            f"shingle is {shingle!r}; expected word:N or char:N",
            "for example word:5",
        )
        return cls(unit=cast(Unit, unit), n=int(n), **options)

    def __str__(self) -> str:
        return f"{self.unit}:{self.n}"


@dataclass(frozen=True, slots=True)
class Spec:
    """Everything that the result of a run depends on, besides the input.

    Attributes:
        shingle: What a document becomes.
        scheme: Signature scheme, ``"affine32"`` or ``"oph32"``; stored with its version.
        seed: Seed of the hash functions, 0 to 2**63 - 1.
        edge_threshold: Least Jaccard similarity of an edge, in (0, 1].
        tree_threshold: Least similarity that any two documents of a bounded cluster are
            guaranteed to reach, in [0, edge_threshold].
        recall: Probability that a pair at the edge threshold becomes a candidate, in (0, 1);
            bands and rows are chosen for it.
        num_bands, rows: Set both to choose them yourself; recall is then what they give.
        method: ``"lsh"``, or ``"allpairs"`` for the exact join without banding.
        pairs: ``"collapsed"`` verifies what the clustering needs, ``"all"`` every candidate.
        cluster: ``"bounded"``, ``"bounded-mst"``, ``"star"``, ``"components"`` or ``"louvain"``.
        second_round: Merge bounded clusters that an edge joins, where all their documents reach
            the tree threshold with each other.
        keep: Which document of those that repeat each other is kept: ``"first"``,
            ``"longest"``, ``"max:COLUMN"`` or ``"min:COLUMN"``.

    Raises:
        SpecError: A field is out of range, or two contradict each other.
    """

    shingle: ShingleSpec = field(default_factory=ShingleSpec)
    scheme: str = "affine32"
    seed: int = 0
    edge_threshold: float = 0.7
    tree_threshold: float = 0.4
    recall: float = 0.99
    num_bands: int | None = None
    rows: int | None = None
    method: str = "lsh"
    pairs: str = "collapsed"
    cluster: str = "bounded"
    keep: str = "first"
    second_round: bool = False

    def __post_init__(self) -> None:
        name = self.scheme.partition("/")[0]
        _check(
            self.scheme in SCHEMES or self.scheme in SCHEMES.values(),
            f"no signature scheme {self.scheme!r}",
            "known are " + ", ".join(SCHEMES),
        )
        object.__setattr__(self, "scheme", SCHEMES[name])
        _check(
            isinstance(self.seed, int) and 0 <= self.seed < 2**63,
            f"seed is {self.seed!r}; expected a whole number from 0 to 2**63 - 1",
        )
        _probability("edge threshold", self.edge_threshold, low_open=True, high_open=False)
        _probability("tree threshold", self.tree_threshold, low_open=False, high_open=False)
        _check(
            self.tree_threshold <= self.edge_threshold,
            f"tree threshold {self.tree_threshold} is above the edge threshold "
            f"{self.edge_threshold}",
            "a pair that reaches the edge threshold must be allowed into one cluster",
        )
        _probability("recall", self.recall, low_open=True, high_open=True)
        _check(
            (self.num_bands is None) == (self.rows is None),
            "bands and rows must be given together",
            "give both, or neither and a recall",
        )
        if self.num_bands is not None and self.rows is not None:
            _check(1 <= self.num_bands <= 4096, f"bands is {self.num_bands}; expected 1 to 4096")
            _check(1 <= self.rows <= 64, f"rows is {self.rows}; expected 1 to 64")
            _check(
                self.num_bands * self.rows <= 8192,
                f"{self.num_bands} bands of {self.rows} rows need {self.num_bands * self.rows} "
                "hashes; at most 8192 are allowed",
            )
        _check(self.method in METHODS, f"no method {self.method!r}; known are lsh, allpairs")
        _check(self.pairs in PAIRS, f"pairs is {self.pairs!r}; expected collapsed or all")
        _check(
            self.cluster in CLUSTERINGS,
            f"no clustering {self.cluster!r}; known are {', '.join(CLUSTERINGS)}",
        )
        _check(
            isinstance(self.second_round, bool),
            f"second round is {self.second_round!r}; expected True or False",
        )
        _check(
            not self.second_round or self.cluster in BOUNDED,
            f"the second round needs a bounded clustering, and the clustering is {self.cluster}",
            f"take one of {', '.join(BOUNDED)}, or leave the second round out",
        )
        how, _, column = self.keep.partition(":")
        _check(
            self.keep in ("first", "longest") or (how in ("max", "min") and column != ""),
            f"keep is {self.keep!r}; expected first, longest, max:COLUMN or min:COLUMN",
        )

    def replace(self, **changes: Any) -> Spec:
        """Return a copy with some fields changed; fields of the shingle spec go by their names.

        >>> preset("clinical").replace(n=4, recall=0.999).shingle.n
        4
        """
        names = {f.name for f in dataclasses.fields(ShingleSpec)}
        inner = {key: value for key, value in changes.items() if key in names}
        outer = {key: value for key, value in changes.items() if key not in names}
        if inner:
            outer["shingle"] = dataclasses.replace(self.shingle, **inner)
        return dataclasses.replace(self, **outer)

    @property
    def every_pair(self) -> bool:
        """Whether every pair that banding finds is verified, also within one cluster."""
        return self.pairs == "all" or self.cluster in _OF_ALL_EDGES

    @property
    def of_edges(self) -> bool:
        """Whether clusters are made of the edges in the end, not while bands go by."""
        return self.cluster == "star" or self.cluster in _OF_ALL_EDGES

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as they are written to ``run.json`` and digested."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Spec:
        """Make a spec from what `as_dict` returned, today or before the last fields were there.

        >>> Spec.from_dict(preset("clinical").as_dict()) == preset("clinical")
        True
        """
        return cls(**{**values, "shingle": ShingleSpec(**values["shingle"])})

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the canonical JSON of all fields; equal specs, equal digests."""
        values = self.as_dict()
        # A setting that came later has no part in it unless it is used: specs that were stored
        # before keep their digests.
        if not self.second_round:
            del values["second_round"]
        text = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(b"neardup spec 1\0" + text.encode()).hexdigest()


#: Settings by name. ``clinical`` is the choice of Shenoy et al. (2017), sections 5 and 10.
PRESETS = {
    "clinical": Spec(
        shingle=ShingleSpec(n=8, stem="english"), edge_threshold=0.75, tree_threshold=0.40
    ),
    "web": Spec(),
    "records": Spec(shingle=ShingleSpec(unit="char", n=3), edge_threshold=0.5, tree_threshold=0.2),
}


def preset(name: str) -> Spec:
    """Return the settings of that name: ``clinical``, ``web`` or ``records``.

    Raises:
        SpecError: There is no such preset.
    """
    if name not in PRESETS:
        raise SpecError(f"no preset {name!r}", "known are " + ", ".join(PRESETS))
    return PRESETS[name]
