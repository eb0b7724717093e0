"""Two texts beside each other: what they share, exactly."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from neardup.core.shingle import Ragged, Stemmer, as_text, shingle, to_sets, tokenise
from neardup.errors import SpecError
from neardup.spec import Spec

__all__ = ["Comparison", "Forms", "compare", "compare_forms", "forms_of"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two texts share.

    Attributes:
        similarity: Exact Jaccard similarity of their shingle sets; 0.0 where either is empty.
        containment_a: Share of the first one's shingles that the second has; 0.0 without any.
        containment_b: Share of the second one's shingles that the first has.
        shared, only_a, only_b: Different shingles in both, and in one of them only.
        tokens_a, tokens_b: Tokens, repetitions included.
        equal: ``"bytes"`` if the texts are the same, ``"tokens"`` if their tokens are; else None.
        edge_threshold: Least similarity of an edge.
    """

    similarity: float
    containment_a: float
    containment_b: float
    shared: int
    only_a: int
    only_b: int
    tokens_a: int
    tokens_b: int
    equal: Literal["bytes", "tokens"] | None
    edge_threshold: float

    @property
    def duplicates(self) -> bool:
        """Whether the similarity reaches the edge threshold; a text without tokens has none."""
        return self.similarity >= self.edge_threshold

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**asdict(self), "duplicates": self.duplicates}


@dataclass(frozen=True, slots=True)
class Forms:
    """What some texts become.

    Attributes:
        texts: They themselves.
        tokens: Hashes of their tokens, in order.
        sets: Their shingle sets.
    """

    texts: list[str]
    tokens: Ragged
    sets: Ragged


def forms_of(texts: list[str], spec: Spec) -> Forms:
    """Tokenise and shingle some texts."""
    stemmer = None
    if spec.shingle.stem is not None:
        stemmer = Stemmer(spec.shingle.stem, spec.shingle.keep_case)
    tokens = tokenise(as_text(texts), spec.shingle, stemmer)
    tokens = Ragged(tokens.values.copy(), tokens.offsets)
    sets = to_sets(shingle(tokens, spec.shingle.n), spec.shingle.bag)
    return Forms(texts, tokens, Ragged(sets.values.copy(), sets.offsets))


def compare_forms(forms: Forms, a: int, b: int, edge_threshold: float) -> Comparison:
    """Compare two of some texts, by their numbers."""
    tokens_a, tokens_b = _row(forms.tokens, a), _row(forms.tokens, b)
    set_a, set_b = _row(forms.sets, a), _row(forms.sets, b)
    shared = len(np.intersect1d(set_a, set_b, assume_unique=True))
    only_a, only_b = len(set_a) - shared, len(set_b) - shared
    equal: Literal["bytes", "tokens"] | None = None
    if forms.texts[a] == forms.texts[b]:
        equal = "bytes"
    elif len(tokens_a) and np.array_equal(tokens_a, tokens_b):
        equal = "tokens"
    return Comparison(
        similarity=_share(shared, shared + only_a + only_b),
        containment_a=_share(shared, len(set_a)),
        containment_b=_share(shared, len(set_b)),
        shared=shared,
        only_a=only_a,
        only_b=only_b,
        tokens_a=len(tokens_a),
        tokens_b=len(tokens_b),
        equal=equal,
        edge_threshold=edge_threshold,
    )


def compare(text_a: str, text_b: str, spec: Spec | None = None) -> Comparison:
    """Return what two texts share, and whether they would be duplicates of each other.

    `neardup.differences` says where they differ.

    Args:
        text_a, text_b: The texts.
        spec: What a document becomes, and the edge threshold; the ``web`` preset by default.

    Raises:
        SpecError: One of them is no text.

    Examples:
        >>> from neardup.spec import preset
        >>> found = compare("a b c d", "a b c e", preset("web").replace(n=2))
        >>> found.similarity, found.containment_a, found.duplicates
        (0.5, 0.6666666666666666, False)
    """
    for name, text in (("text_a", text_a), ("text_b", text_b)):
        if not isinstance(text, str):
            raise SpecError(f"{name} is a {type(text).__name__}; expected a str")
    spec = spec or Spec()
    return compare_forms(forms_of([text_a, text_b], spec), 0, 1, spec.edge_threshold)


def _row(of: Ragged, row: int) -> np.ndarray:
    return of.values[of.offsets[row] : of.offsets[row + 1]]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
