"""Settings of a search for passages: which runs are compared, and how copied words are treated."""

from __future__ import annotations

from dataclasses import dataclass

from neardup.copies.cuts.cutting import UNITS
from neardup.errors import SpecError
from neardup.spec import ShingleSpec

#: Which source a passage has, in the order of `neardup.kernels.passages.growing.grow`.
SOURCES = ("longest", "latest", "first")
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
        order_by: Column that gives the order of the documents; None for that of the input.
        within: Column; only documents with equal values are compared. Those without a value, or
            with empty text there, are compared with none.
        across: Column; only documents with different values are compared; likewise.
        source: ``"longest"``, ``"latest"`` or ``"first"``: which earlier occurrence is named.
        boilerplate: A run in so many documents or more is boilerplate, and not copied; 0 for none.
        bridge: Most changed words between two passages that are joined.
        stem: As in `neardup.ShingleSpec`, as are ``keep_case``, ``nfkc``, ``strip_accents``,
            ``ignore`` and ``stop_passages``. Ignored text has no words, and is not counted.

    Raises:
        SpecError: A field is out of range, or two contradict each other.
    """

    words: int = 25
    order_by: str | None = None
    within: str | None = None
    across: str | None = None
    source: str = "longest"
    boilerplate: int = 0
    bridge: int = 0
    stem: str | None = None
    keep_case: bool = False
    nfkc: bool = False
    strip_accents: bool = False
    ignore: tuple[str, ...] = ()
    stop_passages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _SHORTEST <= self.words <= _LONGEST:
            raise SpecError(
                f"`words` is {self.words}; expected {_SHORTEST} to {_LONGEST:,}",
                "10 to measure clinical notes, 25 to cut, 50 for web pages",
            )
        if self.source not in SOURCES:
            raise SpecError(f"`name_source` is {self.source!r}; expected {', '.join(SOURCES)}")
        if self.within is not None and self.across is not None:
            raise SpecError("`within` and `across` exclude each other", "leave one out")
        if self.boilerplate < 0 or self.boilerplate == 1:
            raise SpecError(
                f"`boilerplate` is {self.boilerplate}; expected 2 documents or more, or 0 for none"
            )
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
            ignore=self.ignore,
            stop_passages=self.stop_passages,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read besides text and id."""
        named = (self.order_by, self.within, self.across)
        return tuple(dict.fromkeys(name for name in named if name))


@dataclass(frozen=True)
class CutSpec:
    """Treatment of the copied words; by default they stay.

    Attributes:
        copied: Cut the copied words; so do ``mask`` and ``whole`` without ``boilerplate``.
        boilerplate: Cut the words in boilerplate, but for their first occurrence.
        mask: Put this in place of each stretch that is cut; None for nothing.
        whole: ``"line"``, ``"sentence"`` or ``"paragraph"``: cut only complete ones of which all
            words would be cut.
        drop_above: Leave out documents of which a larger share is copied.
        drop_below: Leave out documents with fewer words left.
        keep_sources: Leave no document out that has the only occurrence of words that were cut.
        annotate: Add columns to each document: words, copied_share and copied_from.

    Raises:
        SpecError: A field is out of range, or two contradict each other.
    """

    copied: bool = False
    boilerplate: bool = False
    mask: str | None = None
    whole: str | None = None
    drop_above: float | None = None
    drop_below: int | None = None
    keep_sources: bool = False
    annotate: bool = False

    def __post_init__(self) -> None:
        if self.whole is not None and self.whole not in UNITS:
            raise SpecError(f"`whole` is {self.whole!r}; expected {', '.join(UNITS)}")
        if not self.cuts and (self.mask is not None or self.whole is not None):
            object.__setattr__(self, "copied", True)  # who says how to cut wants to
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
        return self.copied or self.boilerplate

    @property
    def drops(self) -> bool:
        """Whether any documents go."""
        return self.drop_above is not None or self.drop_below is not None

    @property
    def writes(self) -> bool:
        """Whether the corpus is written again."""
        return self.cuts or self.drops or self.annotate
