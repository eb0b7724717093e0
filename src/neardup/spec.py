"""Specs: frozen, validated settings of all that the result depends on besides the input.

Threads, memory, stores and output formats are not in it, because they must not change the result.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, cast

from neardup.errors import ArgumentError, SpecError, spelled

T = TypeVar("T")

#: Names of signature schemes as users write them, and the current version of each. A
#: version is never redefined: a change of arithmetic gets a new one.
SCHEMES = {"affine32": "affine32/1", "oph32": "oph32/1"}

#: Snowball stemmers (PyStemmer); listed here to check a spec without importing it.
_LANGUAGES = """
    arabic armenian basque catalan danish dutch english esperanto estonian finnish french german
    greek hindi hungarian indonesian irish italian lithuanian nepali norwegian polish porter
    portuguese romanian russian serbian spanish swedish tamil turkish yiddish
"""
STEMMERS = tuple(_LANGUAGES.split())

#: Options of shingles that say which characters are the same.
FORMS = ("keep_case", "nfkc", "strip_accents", "join_hyphens")
METHODS = ("lsh", "allpairs")
SIGNS = ("short", "all", "none")
PAIRS = ("kept", "count", "all")
CLUSTERINGS = ("star", "bounded", "disjoint-sets", "components", "louvain")
#: Those that have a tree threshold, and those that need no list of edges.
BOUNDED, WITHOUT_EDGES = ("bounded", "disjoint-sets"), ("star", "disjoint-sets")
_KEEP = "first|longest|(max|min):.+"
_EXAMPLE = "for example word:5"
_SHINGLE = re.compile("(word|char)(?::([0-9]+))?|item")
#: Default of the minimum similarity within a cluster, where the threshold is not lower.
_TREE_THRESHOLD = 0.4


def _check(condition: bool, message: str, hint: str = "") -> None:
    if not condition:
        raise SpecError(message, hint)


def check_probability(name: str, value: float, *, low_open: bool, high_open: bool) -> None:
    left, right = "(" if low_open else "[", ")" if high_open else "]"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    excluded = [0] * low_open + [1] * high_open
    valid = number and 0 <= value <= 1 and value not in excluded
    _check(valid, f"{name} is {spelled(value)}; expected a number in {left}0, 1{right}")


def _known(what: str, value: object, known: Iterable[str]) -> None:
    names = list(known)
    if not (isinstance(value, str) and value in names):
        raise SpecError(f"no {what} {spelled(value)}", nearest(str(value), names))


def check_integer(name: str, value: int, low: int, high: int) -> None:
    _check(
        isinstance(value, int) and not isinstance(value, bool) and low <= value <= high,
        f"{name} is {spelled(value)}; expected an integer from {low} to {high}",
    )


def check_boilerplate(documents: int) -> None:
    """Refuse a number of documents from which on runs of words are boilerplate."""
    valid = isinstance(documents, int) and not isinstance(documents, bool) and documents >= 0
    _check(
        valid and documents != 1,
        f"`boilerplate` is {spelled(documents)}; expected 2 documents or more, or 0 for none",
    )


def option(default: Any, word: str = "") -> Any:
    """Return a field; ``word`` is that of its value on the command line, or its choices."""
    return field(default=default, metadata={"word": word})


def one_of(names: Iterable[str]) -> str:
    """Return the word of a choice.

    >>> one_of(["star", "bounded"])
    '[star|bounded]'
    """
    return f"[{'|'.join(names)}]"


def keywords_checked(cls: type[T]) -> type[T]:
    """Have a dataclass raise ArgumentError, with the nearest field, for an unknown keyword."""
    made, known = cls.__init__, [f.name for f in dataclasses.fields(cast(Any, cls))]

    @functools.wraps(made)
    def init(self: T, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in known:
                what = f"{cls.__name__}() has no argument {name!r}"
                raise ArgumentError(what, nearest(name, known))
        made(self, *args, **kwargs)

    cls.__init__ = init  # type: ignore[assignment]
    return cls


@keywords_checked
@dataclass(frozen=True, slots=True)
class ShingleSpec:
    """How a text becomes a set of shingles: normalising, unit and length.

    Attributes:
        unit: ``"word"`` (tokens are runs of letters, marks, digits and ``_``) or ``"char"``; or
            ``"item"``: documents are lists of items, which are compared as they are. ``"word:5"``
            and ``"char:3"`` give ``n`` too, and this form does for a spec wherever one is taken.
        n: Number of consecutive tokens or characters in a shingle, 1 to 64; None for 5. An item is
            a shingle by itself.
        stem: Compare word stems: the name of a Snowball stemmer, such as ``"english"``.
        keep_case: Distinguish upper and lower case; else everything becomes lower case.
        nfkc: Unicode compatibility composition before anything else.
        strip_accents: Remove nonspacing marks, after canonical decomposition.
        join_hyphens: Join a word that was cut at a line end: a letter, a hyphen, the line end and a
            small letter. For scanned and typeset texts; ``well-known`` cut there is joined too.
        raw: Of characters: compare code points as they are, white space and all; else texts are
            compared in one canonical form, runs of white space become one space and ends go.
        alphanumeric: Of characters: compare letters, marks and digits only, as if white space and
            signs were not there.
        bag: Count repeated shingles: the i-th occurrence is a shingle of its own, and Jaccard
            becomes multiset Jaccard.
        hash_bytes: Bytes of the hash of a shingle: 8, or 4, of which some collide from 100,000 on.
            `neardup.shingle_sets`, and an index without texts, store so many.
        ignore: Regular expressions in the syntax of RE2, such as ``"[0-9]{2}:[0-9]{2}"``. Texts are
            compared as if their matches were spaces, each as if the others were not there.
        stop_passages: Texts, such as letterheads. Where a document has the words of one of them,
            in a row, these become spaces, after the matches of ``ignore`` in both.
        signs: Of words: where signs such as ``#``, ``$``, ``+`` and ``<`` are tokens too.
            ``"short"``: in texts of fewer words than a shingle, which are compared for equality;
            ``"all"``: in every text; ``"none"``: nowhere.

    Raises:
        SpecError: A field is out of range, or two contradict each other.

    Examples:
        >>> ShingleSpec("char:3") == ShingleSpec("char", 3)
        True
    """

    unit: str = "word"
    n: int = None  # type: ignore[assignment]
    stem: str | None = option(None, "LANGUAGE")
    keep_case: bool = option(False)
    nfkc: bool = option(False)
    strip_accents: bool = option(False)
    join_hyphens: bool = option(False)
    raw: bool = option(False)
    alphanumeric: bool = option(False)
    bag: bool = option(False)
    hash_bytes: int = option(8, "[4|8]")
    ignore: tuple[str, ...] = option((), "REGEX")
    stop_passages: tuple[str, ...] = option((), "FILE")
    signs: str = option("short", one_of(SIGNS))

    def __post_init__(self) -> None:
        self._read_short()
        items = self.unit == "item"
        if self.n is None:
            object.__setattr__(self, "n", 1 if items else 5)
        _check(
            self.hash_bytes in (4, 8) and not isinstance(self.hash_bytes, bool),
            f"`hash_bytes` is {spelled(self.hash_bytes)}; expected 4 or 8",
        )
        check_integer("shingle length", self.n, 1, 64)
        for name in (*FORMS, "raw", "alphanumeric", "bag"):
            value = getattr(self, name)
            _check(isinstance(value, bool), f"`{name}` is {spelled(value)}; expected True or False")
        words = self.unit == "word"
        if self.stem is not None:
            _known("stemmer", self.stem, STEMMERS)
            _check(words, f"stem requires words as shingles, and they are {self.unit_name}s")
        for name in ("raw", "alphanumeric"):
            what = f"{name} requires characters as shingles, and they are words"
            _check(not (getattr(self, name) and words), what)
        _known("value of signs", self.signs, SIGNS)
        _check(
            words or self.signs == "short",
            f"`signs` is for words as shingles, and they are {self.unit_name}s, signs included",
            "leave it out",
        )
        if items:
            _check(self.n == 1, f"an item is a shingle by itself, and n is {self.n}", "give item")
            for name in (*FORMS, "raw", "alphanumeric"):
                _check(not getattr(self, name), f"items are compared as they are, not by `{name}`")
        for name in ("join_hyphens", "alphanumeric"):
            what = f"`{name}` changes texts, and `raw` compares code points as they are"
            _check(not (self.raw and getattr(self, name)), what, "leave one out")
        for name in ("ignore", "stop_passages"):
            self._check_texts(name)
        for pattern in self.ignore:
            check_pattern(pattern)

    @property
    def ignores(self) -> bool:
        """Whether parts of texts are not compared."""
        return bool(self.ignore or self.stop_passages)

    @property
    def of_words(self) -> bool:
        """Whether tokens are words, and nothing else."""
        return self.unit == "word" and self.signs != "all"

    def _check_texts(self, name: str) -> None:
        value = getattr(self, name)
        many = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        _check(
            many and all(isinstance(text, str) for text in value),
            f"`{name}` is of type {type(value).__name__}; expected a sequence of strings",
        )
        object.__setattr__(self, name, tuple(value))  # a list, where it was read from JSON
        _check(
            all(text.strip() for text in value), f"an entry of `{name}` is empty", "leave it out"
        )
        if value:
            _check(self.unit != "item", f"items are compared as they are, not by `{name}`")
            _check(not self.raw, f"`{name}` leaves spaces, and `raw` keeps them", "leave one out")

    def _read_short(self) -> None:
        """Take the unit and the length apart where they are given together."""
        found = _SHINGLE.fullmatch(self.unit) if isinstance(self.unit, str) else None
        if found is None:
            what = f"shingle is {spelled(self.unit)}; expected word:N, char:N or item"
            raise SpecError(what, _EXAMPLE)
        if found[2] is not None:
            _check(self.n is None, f"`n` is given, and {self.unit} has it too", "leave one out")
            object.__setattr__(self, "unit", found[1])
            object.__setattr__(self, "n", int(found[2]))

    def __str__(self) -> str:
        return "item" if self.unit == "item" else f"{self.unit}:{self.n}"

    @property
    def unit_name(self) -> str:
        """Name of a token in messages: word, character or item."""
        return "character" if self.unit == "char" else self.unit


def plain_values(settings: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, and of those in it, as JSON gives them back."""

    def made(items: list[tuple[str, Any]]) -> dict[str, Any]:
        return {k: list(value) if isinstance(value, tuple) else value for k, value in items}

    return dataclasses.asdict(settings, dict_factory=made)


def check_pattern(pattern: str) -> None:
    """Refuse a regular expression that RE2 does not take.

    >>> check_pattern(r"[0-9]+")
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(pa.array([""], pa.large_string()), pattern)
    except pa.ArrowInvalid as error:
        reason = str(error).partition("expression: ")[2] or str(error)
        raise SpecError(
            f"`ignore` has '{pattern}', which is no regular expression of RE2: {reason}",
            "RE2 has no look-around and no back-references; "
            "see https://github.com/google/re2/wiki/Syntax",
        ) from error


def with_shingle(values: Mapping[str, Any], *others: str) -> dict[str, Any]:
    """Return plain values with their shingle spec made; it and others must be mappings."""
    for name in ("shingle", *others):
        valid = isinstance(values, Mapping) and isinstance(values.get(name), Mapping)
        _check(valid, f"no mapping `{name}` is among the values", "give a result of as_dict()")
    return {**values, "shingle": ShingleSpec(**values["shingle"])}


def without_effect(name: str) -> tuple[str, str]:
    """Return message and hint about a setting that only similar documents need."""
    return f"`{name}` has no effect with `only_same`, which compares bytes", "leave one of them out"


def check_similarity(spec: Spec, what: str) -> None:
    """Refuse settings of a run of dedup: to compare bytes only, and to look for boilerplate."""
    message = f"`only_same` is for a run of dedup, and {what} searches for similar documents"
    _check(not spec.only_same, message, "leave it out")
    message = f"`boilerplate` is for a run of dedup, and {what} looks for none"
    remedy = "give boilerplate.parquet of `neardup passages` as `stop_passages`"
    _check(not spec.boilerplate, message, remedy)


def shingle_spec(given: object) -> ShingleSpec:
    """Return a spec of shingles, which may be given in short, such as ``"word:5"``."""
    return given if isinstance(given, ShingleSpec) else ShingleSpec(cast(str, given))


#: The length of the text in characters, among the columns of a document.
LENGTH = "neardup.length"
#: Values of `Spec.order_by`, for the command line.
ORDERS = "COLUMN|-COLUMN|length|-length"


class Order(NamedTuple):
    """The values that give documents an order.

    ``length`` is that of the text, the shortest first, ``-length`` the longest first. Columns whose
    names are ``length``, or begin with ``-``, are ``column:length`` and ``column:-NAME``, and in
    reverse ``-column:length`` and ``-column:-NAME``.

    Attributes:
        column: Its values are compared; `LENGTH` for the length.
        descending: Whether the largest comes first.
    """

    column: str
    descending: bool = False

    @classmethod
    def of(cls, text: str) -> Order:
        """Take it from a text.

        >>> Order.of("-date"), Order.of("column:-date").column
        (Order(column='date', descending=True), '-date')
        """
        name = text.removeprefix("-")
        column = LENGTH if name == "length" else name.removeprefix("column:")
        return cls(column, name != text)


def check_order(order_by: str | None) -> None:
    """Raise SpecError for an order that names no column."""
    valid = order_by is None or (isinstance(order_by, str) and bool(Order.of(order_by).column))
    _check(valid, f"`order_by` is {spelled(order_by)}; expected the name of a column")


@keywords_checked
@dataclass(frozen=True, slots=True)
class Spec:
    """Everything that the result of a run depends on, besides the input.

    Attributes:
        shingle: How a text becomes a set of shingles, the units that are compared.
        scheme: Signature scheme, ``"affine32"`` or ``"oph32"``; stored with its version.
        seed: Seed of the hash functions, 0 to 2**63 - 1.
        threshold: Jaccard similarity from which on two documents are near-duplicates, in (0, 1].
        recall: Probability that a pair at the threshold is found, in (0, 1); bands and rows are
            chosen for it.
        num_bands: Number of bands; with ``rows``, instead of a recall.
        rows: Signature entries in a band; with ``num_bands``.
        documents: Number of documents that the bands are chosen for; five million by default,
            however large the input is.
        method: ``"lsh"`` for bands, or ``"allpairs"`` for an exact search without them.
        pairs: ``"kept"`` compares only what decides which documents are kept; ``"all"`` compares
            all pairs that share a bucket, and lists these that reach the threshold; ``"count"``
            counts them by similarity, in all and in each cluster, without a list.
        cluster: How documents are grouped: ``"star"`` (a kept document and its duplicates),
            ``"bounded"``, ``"disjoint-sets"``, ``"components"`` or ``"louvain"``, which needs
            ``neardup[graph]``. It does not change which documents are kept.
        tree_threshold: Minimum similarity of any two documents of a cluster of ``"bounded"`` or
            ``"disjoint-sets"``, in [0, threshold]; by default 0.4, or the threshold if that is
            lower.
        keep: Which of the documents that are similar is kept: ``"first"``, ``"longest"``,
            ``"max:COLUMN"`` or ``"min:COLUMN"``. Ties are decided by the order of the documents.
        order_by: Column that gives the order of the documents, ``"-COLUMN"`` for the largest value
            first, or ``"length"``, of the text; the order of the input by default. See `Order`.
        within: Column, such as a patient or a language; only documents with equal values are
            compared, exact copies included. Those without a value, or with empty text there, are
            compared with none.
        boilerplate: Look for runs of 25 words in so many documents or more first, such as
            letterheads and menus, and ignore them as ``stop_passages``; 0 for none.
        max_bucket: Compare with so many kept documents of a bucket only, the first ones; with all
            of them by default.
        only_same: Remove only texts that are equal byte for byte. Shingles, threshold and recall
            have no effect then, and nothing is compared.

    Raises:
        SpecError: A field is out of range, or two contradict each other.
    """

    shingle: ShingleSpec = option(ShingleSpec(), "word:N|char:N|item")
    scheme: str = option("affine32", one_of(SCHEMES))
    seed: int = option(0, "N")
    threshold: float = option(0.7, "T")
    recall: float = option(0.99, "P")
    num_bands: int | None = option(None, "B")
    rows: int | None = option(None, "R")
    documents: int | None = option(None, "N")
    method: str = option("lsh", one_of(METHODS))
    pairs: str = option("kept", one_of(PAIRS))
    cluster: str = option("star", one_of(CLUSTERINGS))
    tree_threshold: float | None = option(None, "T")
    keep: str = option("first", "first|longest|max:COLUMN|min:COLUMN")
    order_by: str | None = option(None, ORDERS)
    within: str | None = option(None, "COLUMN")
    boilerplate: int = option(0, "N")
    max_bucket: int | None = option(None, "N")
    only_same: bool = option(False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shingle", shingle_spec(self.shingle))
        _known("signature scheme", self.scheme, [*SCHEMES, *SCHEMES.values()])
        object.__setattr__(self, "scheme", SCHEMES[self.scheme.partition("/")[0]])
        check_integer("seed", self.seed, 0, 2**63 - 1)
        check_probability("threshold", self.threshold, low_open=True, high_open=False)
        check_probability("recall", self.recall, low_open=True, high_open=True)
        self._check_bands()
        _known("method", self.method, METHODS)
        _known("kind of pairs", self.pairs, PAIRS)
        _known("clustering", self.cluster, CLUSTERINGS)
        self._check_tree_threshold()
        _check(
            self.cluster != "disjoint-sets" or self.method == "lsh",
            "disjoint sets are made from buckets, which method 'allpairs' does not have",
            "leave out the method, or choose the clustering bounded",
        )
        _check(
            self.pairs != "count" or self.method == "lsh",
            "pairs are counted that share a bucket, and method 'allpairs' has no buckets",
            "leave out the method, or list them with pairs 'all'",
        )
        valid = isinstance(self.keep, str) and re.fullmatch(_KEEP, self.keep, re.DOTALL) is not None
        known = "first, longest, max:COLUMN or min:COLUMN"
        _check(valid, f"keep is {spelled(self.keep)}; expected {known}")
        check_order(self.order_by)
        valid = self.within is None or (isinstance(self.within, str) and self.within != "")
        _check(valid, f"`within` is {spelled(self.within)}; expected the name of a column")
        check_boilerplate(self.boilerplate)
        if self.boilerplate:
            shingle = self.shingle
            _check(shingle.unit != "item", "items are compared as they are, not by `boilerplate`")
            _check(
                not shingle.raw,
                "`boilerplate` leaves spaces, and `raw` keeps them",
                "leave one out",
            )
        if self.max_bucket is not None:
            check_integer("`max_bucket`", self.max_bucket, 1, 2**31 - 1)
        valid = isinstance(self.only_same, bool)
        _check(valid, f"`only_same` is {spelled(self.only_same)}; expected True or False")
        for name in ("method", "pairs", "cluster", "num_bands", "max_bucket"):
            default = type(self).__dataclass_fields__[name].default
            _check(not self.only_same or getattr(self, name) == default, *without_effect(name))

    def _check_bands(self) -> None:
        _check(
            (self.num_bands is None) == (self.rows is None),
            "bands and rows must be given together",
            "give both, or neither and a recall",
        )
        if self.documents is not None:
            check_integer("documents", self.documents, 1, 2**62)
        if self.num_bands is not None and self.rows is not None:
            check_integer("bands", self.num_bands, 1, 4096)
            check_integer("rows", self.rows, 1, 64)
            hashes = self.num_bands * self.rows
            needed = f"{self.num_bands} bands of {self.rows} rows need {hashes} hashes"
            _check(hashes <= 8192, f"{needed}; at most 8192 are allowed")

    def _check_tree_threshold(self) -> None:
        if self.tree_threshold is None:
            return
        check_probability("tree threshold", self.tree_threshold, low_open=False, high_open=False)
        _check(
            self.cluster in BOUNDED,
            f"a tree threshold is for {' and '.join(BOUNDED)}, not for clustering {self.cluster}",
            "leave it out, or choose one of these clusterings",
        )
        _check(
            self.tree_threshold <= self.threshold,
            f"tree threshold {self.tree_threshold} is above the threshold {self.threshold}",
            "a pair that reaches the threshold must be allowed into one cluster",
        )

    def replace(self, **changes: object) -> Spec:
        """Return a copy with some fields changed; fields of the shingle spec go by their names.

        Args:
            changes: Fields of `Spec` and of `ShingleSpec`; ``shingle`` may be a text such as
                ``"word:5"``, which leaves its options as they are, but for a stemmer where
                characters are compared.

        Raises:
            SpecError: There is no such field, or it is out of range.

        >>> preset("clinical").replace(n=4, recall=0.999).shingle.n
        4
        """
        names = {f.name for f in dataclasses.fields(ShingleSpec)}
        known = names | {f.name for f in dataclasses.fields(Spec)}
        for name in changes:
            _check(name in known, f"no setting {name!r}", nearest(name, known))
        shingle: Any = changes.pop("shingle", self.shingle)
        if isinstance(shingle, str):
            parsed = ShingleSpec(shingle)
            stem = self.shingle.stem if parsed.unit == "word" else None
            shingle = dataclasses.replace(self.shingle, unit=parsed.unit, n=parsed.n, stem=stem)
        inner = {key: changes.pop(key) for key in names & set(changes)}
        if inner:
            shingle = dataclasses.replace(shingle, **cast(Any, inner))
        return dataclasses.replace(self, shingle=shingle, **cast(Any, changes))

    @property
    def keep_column(self) -> str:
        """Column that decides which documents are kept; empty for ``"first"`` and ``"longest"``."""
        return self.keep.partition(":")[2]

    @property
    def order(self) -> Order | None:
        """The values that give the order of the documents; None for the order of the input."""
        return None if self.order_by is None else Order.of(self.order_by)

    @property
    def enumerates(self) -> bool:
        """Whether all pairs that share a bucket are compared and listed."""
        return self.pairs == "all" or self.cluster not in WITHOUT_EDGES

    @property
    def minimum_in_cluster(self) -> float:
        """Minimum similarity of any two documents of a cluster of `BOUNDED`."""
        default = min(_TREE_THRESHOLD, self.threshold)
        return default if self.tree_threshold is None else self.tree_threshold

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as they are written to ``run.json``."""
        return plain_values(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Spec:
        """Make a spec from a result of `as_dict`.

        >>> Spec.from_dict(preset("clinical").as_dict()) == preset("clinical")
        True
        """
        return cls(**with_shingle(values))


#: Settings by name. ``clinical`` is the choice of Shenoy et al. (2017), sections 5 and 10.
PRESETS = {
    "clinical": Spec(shingle=ShingleSpec(n=8, stem="english"), threshold=0.75, cluster="bounded"),
    "web": Spec(),
    "records": Spec(shingle=ShingleSpec(unit="char", n=3), threshold=0.5),
}


def preset(name: str) -> Spec:
    """Return the settings of that name.

    ``web`` is for texts of all kinds, ``clinical`` for long notes with much boilerplate,
    ``records`` for names, addresses and titles with typing errors.

    Raises:
        SpecError: There is no such preset.
    """
    _known("preset", name, PRESETS)
    return PRESETS[name]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the name that a user may have meant, or all known names.

    >>> nearest("treshold", ["threshold", "recall"])
    'did you mean threshold?'
    """
    # Below this share of equal letters, names have little in common: merge and serve.
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f"did you mean {found[0]}?" if found else "known are " + ", ".join(sorted(known))
