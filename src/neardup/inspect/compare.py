"""Two texts compared exactly."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from neardup.errors import ShortTextWarning, SpecError
from neardup.options.arguments import expanded
from neardup.sketch.baskets import Basket, is_basket
from neardup.sketch.texts import Ragged, as_text
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec, Spec, shingle_spec
from neardup.values.shown import Shown

#: A text, or a list of items.
Text: TypeAlias = str | Basket


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Shown):
    """Shingles and tokens that two texts share: numbers of shingles and tokens, and shares of them.

    Attributes:
        similarity: Exact Jaccard similarity of their shingle sets; 0.0 where either is empty.
        containment_a: Share of the first one's shingles that the second has; 0.0 without any.
        containment_b: Share of the second one's shingles that the first has.
        equal: ``"bytes"`` if the texts are the same, ``"tokens"`` if their tokens are; else None.
        n: Tokens in a shingle.
        other_group: Whether they are of different groups, whose documents are not compared.
    """

    shown_as = "compare", "texts"
    similarity: float
    containment_a: float
    containment_b: float
    shared: int
    only_a: int
    only_b: int
    tokens_a: int
    tokens_b: int
    equal: Literal["bytes", "tokens"] | None
    threshold: float
    n: int
    other_group: bool = False

    @property
    def duplicates(self) -> bool:
        """Whether the similarity reaches the threshold; a text without tokens has none."""
        return self.similarity >= self.threshold and not self.other_group

    @property
    def note(self) -> str:
        """The reason of the similarity in short; empty where there is none to give."""
        if self.other_group:
            return "not compared: their groups differ, or one has none"
        few, many = sorted((self.tokens_a, self.tokens_b))
        if not few:
            which = "one text is" if many else "both texts are"
            return f"{which} empty, and empty texts are never duplicates"
        if self.equal is not None:
            same = self.equal == "bytes"
            return "the texts are equal, byte for byte" if same else "the texts have equal words"
        if few < self.n:
            which = "both texts are" if many < self.n else "one text is"
            what = "one shingle: only equal tokens make a duplicate"
            return f"{which} shorter than a shingle of {self.n}: such a text is {what}"
        return ""

    def __str__(self) -> str:
        verdict = "duplicates" if self.duplicates else "not duplicates"
        why = f": {self.note}" if self.note else ""
        return f"similarity {self.similarity:.4f}, {verdict} at {self.threshold:g}{why}"

    def __repr__(self) -> str:
        return f"<Comparison: {self}>"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**asdict(self), "duplicates": self.duplicates, "note": self.note}


class Forms(NamedTuple):
    """Some texts, the hashes of the tokens of each, in order, and their shingle sets."""

    texts: list[str]
    tokens: list[np.ndarray]
    sets: Ragged


def forms_of(texts: Sequence[str], shingle: ShingleSpec) -> Forms:
    tokeniser = Tokeniser(shingle)
    tokens = tokeniser.documents(*tokeniser.normalise(texts))
    each = [row.copy() for row in np.split(tokens.values, tokens.offsets[1:])[:-1]]
    sets = tokeniser.to_sets(tokeniser.shingles(tokens))
    return Forms(list(texts), each, Ragged(sets.values.copy(), sets.offsets))


def compare_forms(forms: Forms, spec: Spec) -> Comparison:
    """Compare two texts."""
    tokens_a, tokens_b = forms.tokens
    values, offsets = forms.sets
    set_a, set_b = values[: offsets[1]], values[offsets[1] : offsets[2]]
    shared = len(np.intersect1d(set_a, set_b, assume_unique=True))
    equal: Literal["bytes", "tokens"] | None = None
    if forms.texts[0] == forms.texts[1]:
        equal = "bytes"
    elif len(tokens_a) and np.array_equal(tokens_a, tokens_b):
        equal = "tokens"
    return Comparison(
        similarity=shared / max(1, len(set_a) + len(set_b) - shared),
        containment_a=shared / max(1, len(set_a)),
        containment_b=shared / max(1, len(set_b)),
        shared=shared,
        only_a=len(set_a) - shared,
        only_b=len(set_b) - shared,
        tokens_a=len(tokens_a),
        tokens_b=len(tokens_b),
        equal=equal,
        threshold=spec.threshold,
        n=spec.shingle.n,
    )


@expanded
def compare(text_a: Text, text_b: Text, spec: Spec | None = None) -> Comparison:
    """Return the overlap of two texts, and whether they would be near-duplicates.

    Args:
        text_a: The first text.
        text_b: The second text.
        spec: Shingles and threshold; the preset ``web`` by default. Of two
            lists of items, these are compared.

    Raises:
        SpecError: One of them is not a text.

    Examples:
        >>> from neardup.spec import preset
        >>> found = compare("a b c d", "a b c e", preset("web").replace(n=2))
        >>> found.similarity, found.containment_a, found.duplicates
        (0.5, 0.6666666666666666, False)
        >>> compare("Hello", "hello!").note
        'the texts have equal words'
    """
    if spec is None and is_basket(text_a) and is_basket(text_b):
        spec = Spec(shingle=ShingleSpec("item"))
    if spec is not None and spec.shingle.unit == "item":
        text_a, text_b = cast(list[str], as_text([text_a, text_b], items=True).to_pylist())
    for name, text in (("text_a", text_a), ("text_b", text_b)):
        if not isinstance(text, str):
            raise SpecError(f"`{name}` is of type {type(text).__name__}; expected a str")
    spec = spec or Spec()
    return compare_forms(forms_of(cast(list[str], [text_a, text_b]), spec.shingle), spec)


def similarity(first: Text, second: Text, spec: str | ShingleSpec | None = None) -> float:
    """Return the exact Jaccard similarity of two texts; 0.0 where either is empty.

    A text shorter than a shingle equals its copies and nothing else: where that is why the
    similarity is 0.0, a `neardup.errors.ShortTextWarning` says so.

    Args:
        first: A text, or a list of items.
        second: Another one.
        spec: Shingles; word:5 by default, and item for two lists.

    Raises:
        SpecError: One of them is not a text.

    Examples:
        >>> similarity("a b c d", "a b c e", "word:2")
        0.5
        >>> similarity(["milk", "ice cream"], ["milk", "bread", "ice cream"])
        0.6666666666666666
    """
    found = compare(first, second, None if spec is None else Spec(shingle_spec(spec)))
    if found.note and not found.similarity:
        warnings.warn(found.note, ShortTextWarning, stacklevel=2)
    return found.similarity
