"""Settings of a search for passages, and for test items: what counts, and which words are cut."""

from __future__ import annotations

from dataclasses import dataclass, replace

from neardup.errors import SpecError
from neardup.spec import (
    ORDERS,
    Order,
    ShingleSpec,
    check_boilerplate,
    check_integer,
    check_order,
    one_of,
    option,
)

#: Which source a passage has, in the order of `neardup.kernels.passages.growing.grow`.
SOURCES = ("longest", "latest", "first")
#: How a document and a test item match, unless by a passage.
SHARES = ("containment", "similarity")
#: Parts of a text that are cut only if all of their words are.
UNITS = ("line", "sentence", "paragraph")
#: Words of the shortest run, by preset.
WORDS = {"web": 50, "clinical": 10}
#: Shortest and longest run; hashes of a run are made of its grams, of at most 64 words each.
_SHORTEST, _LONGEST = 2, 10_000


def words_of(words: int | None, preset: str | None) -> int:
    """Return the words of the shortest run, by the preset where they are not given.

    SpecError if there is no such preset.
    """
    if preset is not None and preset not in WORDS:
        raise SpecError(f"preset is {preset!r}; expected {' or '.join(WORDS)}")
    if words is not None:
        return words
    return WORDS[preset] if preset else 25


@dataclass(frozen=True)
class PassageSpec:
    """Definition of a copied run of words.

    Attributes:
        words: Words of the shortest run that counts.
        order_by: Column that gives the order of the documents, ``"-COLUMN"`` for the largest value
            first, or ``"length"``, of the text; the order of the input by default. Documents
            without a value come last. See `neardup.spec.Order`.
        within: Column, such as a patient; only documents with equal values are compared. Those
            without a value, or with empty text there, are compared with none.
        across: Column, such as a site; only documents with different values are compared; likewise.
        name_source: Which earlier occurrence of a passage is named: ``"longest"``, the one that it
            has the most words from; or the ``"latest"`` or ``"first"`` of its first run.
        boilerplate: A run in so many documents or more is boilerplate, and not copied; 0 for none.
        bridge: Most changed words between two passages from one source that are joined.

    All others are those of `neardup.ShingleSpec`. Ignored text has no words, and is not counted.

    Raises:
        SpecError: A field is out of range, or two contradict each other.
    """

    words: int = option(25, "L")
    order_by: str | None = option(None, ORDERS)
    within: str | None = option(None, "COLUMN")
    across: str | None = option(None, "COLUMN")
    name_source: str = option("longest", one_of(SOURCES))
    boilerplate: int = option(0, "N")
    bridge: int = option(0, "G")
    stem: str | None = option(None, "LANGUAGE")
    keep_case: bool = option(False)
    nfkc: bool = option(False)
    strip_accents: bool = option(False)
    join_hyphens: bool = option(False)
    ignore: tuple[str, ...] = option((), "REGEX")
    stop_passages: tuple[str, ...] = option((), "FILE")

    def __post_init__(self) -> None:
        if not _SHORTEST <= self.words <= _LONGEST:
            raise SpecError(
                f"`words` is {self.words}; expected {_SHORTEST} to {_LONGEST:,}",
                "10 to measure clinical notes, 25 to cut, 50 for web pages",
            )
        check_order(self.order_by)
        if self.name_source not in SOURCES:
            raise SpecError(f"`name_source` is {self.name_source!r}; expected {', '.join(SOURCES)}")
        if self.within is not None and self.across is not None:
            raise SpecError("`within` and `across` exclude each other", "leave one out")
        check_boilerplate(self.boilerplate)
        if self.bridge < 0:
            raise SpecError(f"`bridge` is {self.bridge}; expected 0 words or more")
        _ = self.shingle

    @property
    def shingle(self) -> ShingleSpec:
        """How texts become tokens."""
        return ShingleSpec(
            n=1,
            stem=self.stem,
            keep_case=self.keep_case,
            nfkc=self.nfkc,
            strip_accents=self.strip_accents,
            join_hyphens=self.join_hyphens,
            ignore=self.ignore,
            stop_passages=self.stop_passages,
        )

    @property
    def order(self) -> Order | None:
        """The values that give the order of the documents; None for the order of the input."""
        return None if self.order_by is None else Order.of(self.order_by)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read besides text and id."""
        named = (self.order and self.order.column, self.within, self.across)
        return tuple(dict.fromkeys(name for name in named if name))


@dataclass(frozen=True)
class CutSpec:
    """Treatment of the copied words; by default they stay.

    Attributes:
        cut: Cut the copied words, and what stands between them: ignored text too, though it may
            stand nowhere else. A character that ``nfkc`` makes several words of is cut only if all
            of them are.
        cut_boilerplate: Cut boilerplate, but for its first occurrence; with ``mask`` or ``whole``
            nothing else, unless ``cut`` is given.
        mask: Put this text in place of each stretch that is cut; asks for ``cut``.
        whole: Cut only complete lines, sentences or paragraphs that would be cut completely; asks
            for ``cut``.
        drop_above: Leave out documents of which a larger share of the words is copied.
        drop_below: Leave out documents with fewer words left.
        keep_sources: Leave no document out that has the only occurrence of words that were cut.
        annotate: Add words, copied_share and copied_from to each document of the corpus.

    Raises:
        SpecError: A field is out of range, or two contradict each other.
    """

    cut: bool = option(False)
    cut_boilerplate: bool = option(False)
    mask: str | None = option(None, "TEXT")
    whole: str | None = option(None, one_of(UNITS))
    drop_above: float | None = option(None, "SHARE")
    drop_below: int | None = option(None, "WORDS")
    keep_sources: bool = option(False)
    annotate: bool = option(False)

    def __post_init__(self) -> None:
        if self.whole is not None and self.whole not in UNITS:
            raise SpecError(f"`whole` is {self.whole!r}; expected {', '.join(UNITS)}")
        if not self.cuts and (self.mask is not None or self.whole is not None):
            object.__setattr__(self, "cut", True)  # who says how to cut wants to
        if self.mask is not None and not self.mask.strip():
            raise SpecError("`mask` is empty", "leave it out to cut without a mask")
        if self.drop_above is not None and not 0 <= self.drop_above <= 1:
            raise SpecError(f"`drop_above` is {self.drop_above}; expected a share from 0 to 1")
        if self.drop_below is not None and self.drop_below < 1:
            raise SpecError(f"`drop_below` is {self.drop_below}; expected 1 word or more")
        if self.keep_sources and not (self.drops and self.cuts):
            raise SpecError(
                "`keep_sources` needs documents that are cut, and others that are left out",
                "add `cut`, and `drop_above` or `drop_below`",
            )

    @property
    def cuts(self) -> bool:
        """Whether any words go."""
        return self.cut or self.cut_boilerplate

    @property
    def drops(self) -> bool:
        """Whether any documents go."""
        return self.drop_above is not None or self.drop_below is not None

    @property
    def writes(self) -> bool:
        """Whether the corpus is written again."""
        return self.cuts or self.drops or self.annotate


@dataclass(frozen=True)
class ContainSpec:
    """Definition of a test item in a training document, and treatment of the words that match.

    Attributes:
        by: ``"containment"``, the share of the item's shingles that a document has, or
            ``"similarity"``, the Jaccard similarity of the two.
        threshold: Lowest share or similarity of a match, in (0, 1].
        passage: Instead: so many consecutive words that both have are a match, 1 to 64.
        shingle: Units that are compared: N consecutive words or characters.
        min_words: An item shorter than a shingle, or than ``passage``, is looked for as it is, word
            by word, if it has so many words; at least 1.
        cut: Keep all documents, and cut the words that match: those that are in a shingle of an
            item that matches, or in an item shorter than one.
        mask: Put this text in place of each stretch that is cut.
        max_documents: Leave out items that more than this share of the training documents has, in
            (0, 1), such as a phrase of everybody; they are named. The corpus is compared twice.

    Raises:
        SpecError: A field is out of range, or two contradict each other.
    """

    by: str = option("containment", one_of(SHARES))
    threshold: float = option(0.8, "T")
    passage: int | None = option(None, "N")
    shingle: ShingleSpec = option(ShingleSpec(), "word:N|char:N")
    min_words: int = option(2, "N")
    cut: bool = option(False)
    mask: str | None = option(None, "TEXT")
    max_documents: float | None = option(None, "SHARE")

    def __post_init__(self) -> None:
        if self.max_documents is not None and not 0 < self.max_documents < 1:
            what = f"`max_documents` is {self.max_documents}; expected a share between 0 and 1"
            raise SpecError(what, "0.01 leaves out items that more than 1 % of the documents has")
        if self.by not in SHARES:
            raise SpecError(f"`by` is {self.by!r}; expected {' or '.join(SHARES)}")
        if not isinstance(self.threshold, int | float) or not 0 < self.threshold <= 1:
            raise SpecError(f"threshold is {self.threshold!r}; expected a number in (0, 1]")
        if self.passage is not None:
            check_integer("`passage`", self.passage, 1, 64)
        if self.shingle.unit == "item":
            raise SpecError("decontamination compares texts, and the shingle is item")
        if self.min_words < 1:
            raise SpecError(f"`min_words` is {self.min_words}; expected 1 word or more")
        if self.cut and self.unit.unit != "word":
            raise SpecError("`cut` cuts words, and the shingle is of characters", "give word:N")
        if self.mask is not None and not self.cut:
            raise SpecError("`mask` says how to cut, and nothing is cut", "add `cut`")
        if self.mask is not None and not self.mask.strip():
            raise SpecError("`mask` is empty", "leave it out to cut without a mask")

    @property
    def kind(self) -> str:
        """How a document and an item match: ``by``, or ``"passage"``."""
        return self.by if self.passage is None else "passage"

    @property
    def minimum(self) -> float:
        """Lowest share or similarity."""
        return float(self.threshold) if self.passage is None else 0.0

    @property
    def unit(self) -> ShingleSpec:
        """The unit that is compared; for passages, their shortest length in words."""
        if self.passage is None:
            return self.shingle
        return replace(self.shingle, unit="word", n=self.passage, raw=False, signs="none")
