"""Shingles as text, characteristic matrices, and signatures by permutations: as lessons have them.

Runs need none of these: they hash shingles, and sign them without a matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from neardup.errors import SpecError, spelled
from neardup.frame.dataframes import imported
from neardup.kernels.text.tokens import hash_tokens
from neardup.options.arguments import expanded
from neardup.sketch.baskets import Basket, basket_items
from neardup.sketch.texts import Texts, as_text, composed, normalise
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec, check_integer, shingle_spec

if TYPE_CHECKING:
    import pandas as pd

#: A table with shingles as rows and texts as columns, of 0 and 1.
Matrix: TypeAlias = "pd.DataFrame | np.ndarray | Sequence[Sequence[int]]"

_MOST = 1 << 16


@expanded
def shingles(
    text: str | Basket, shingle: str | ShingleSpec = "word:5", *, bag: bool = False
) -> list[str]:
    """Return the shingles of a text as text, in order, each once.

    These are compared by other calls: in lower case, canonical form and stems, as the settings say.

    Args:
        text: A text; or a list of items, with ``"item"``.
        shingle: How a text becomes shingles.
        bag: Each as often as it occurs.

    Raises:
        InputError: This is no text.
        SpecError: A setting is out of range.

    Examples:
        >>> shingles("abcab", "char:2"), shingles("abcab", "char:2", bag=True)
        (['ab', 'bc', 'ca'], ['ab', 'bc', 'ca', 'ab'])
    """
    spec = shingle_spec(shingle)
    (found,) = _shingles([text], spec)
    return found if bag or spec.bag else list(dict.fromkeys(found))


@expanded
def characteristic_matrix(texts: Texts, shingle: str | ShingleSpec = "word:5") -> pd.DataFrame:
    """Return which text has which shingle, as a frame of pandas.

    Args:
        texts: The texts.
        shingle: How a text becomes shingles; of bags, each occurrence has a row.

    Returns:
        A row for each shingle, in the order in which they first occur, and a column for each text;
        int8, 1 where the text has the shingle, else 0.

    Raises:
        DependencyError: pandas is not installed.
        InputError: These are no texts.
        SpecError: A setting is out of range.

    Examples:
        >>> characteristic_matrix(["abcab", "bcd"], "char:2").loc["bc"].tolist()
        [1, 1]
    """
    spec = shingle_spec(shingle)
    rows: dict[tuple[str, int], int] = {}
    columns: list[list[int]] = []
    for found in _shingles(texts, spec):
        times = Counter[str]()
        columns.append([])
        for name in found:
            times[name] += 1
            occurrence = name, times[name] if spec.bag else 1
            columns[-1].append(rows.setdefault(occurrence, len(rows)))
    matrix = np.zeros((len(rows), len(columns)), np.int8)
    for column, there in enumerate(columns):
        matrix[there, column] = 1
    pandas = imported("pandas")
    index = pandas.Index([name for name, _ in rows], dtype=object, name="shingle")
    return cast("pd.DataFrame", pandas.DataFrame(matrix, index=index))


@expanded
def minhash(
    matrix: Matrix,
    permutations: Iterable[Sequence[int]] | None = None,
    *,
    num_hashes: int | None = None,
    seed: int = 0,
) -> np.ndarray:
    """Return the MinHash signatures of the columns of a characteristic matrix.

    An entry is the lowest number of the rows in which a column has a 1, by the numbers that a
    permutation gives to the rows. Two columns have the same entry with the probability of their
    similarity.

    Args:
        matrix: A frame of `characteristic_matrix`, or 0 and 1 in rows.
        permutations: The numbers of the rows, from 1, from the first row to the last one; or
            from 0.
        num_hashes: Instead so many permutations, drawn at random.
        seed: Seed of these.

    Returns:
        int64[permutations, columns]; one more than there are rows where a column has no 1.

    Raises:
        SpecError: A permutation is none, or not of the rows of the matrix; or the matrix is none.

    Examples:
        >>> minhash([[1, 0], [1, 1], [0, 1]], permutations=[[1, 2, 3], [3, 2, 1]]).tolist()
        [[1, 2], [2, 1]]
    """
    ones = _ones(matrix)
    height, width = ones.shape
    if (permutations is None) == (num_hashes is None):
        what = "both are given" if num_hashes else "neither is given"
        raise SpecError(f"`permutations` or `num_hashes`: {what}", "give one of them")
    if permutations is not None:
        if not isinstance(permutations, Iterable):
            raise SpecError(f"`permutations` is {spelled(permutations)}; expected a list of them")
        numbered = [_permutation(one, i, height) for i, one in enumerate(permutations, 1)]
    else:
        check_integer("`num_hashes`", cast(int, num_hashes), 1, _MOST)
        check_integer("`seed`", seed, 0, 2**63 - 1)
        draw = np.random.default_rng(seed)
        numbered = [draw.permutation(height) + 1 for _ in range(cast(int, num_hashes))]
    columns, rows = np.nonzero(ones.T)
    filled, begins = np.unique(columns, return_index=True)
    out = np.full((len(numbered), width), height + 1, np.int64)
    for signature, numbers in zip(out, numbered, strict=True):
        if len(filled):
            signature[filled] = np.minimum.reduceat(numbers[rows], begins)
    return out


def _ones(matrix: Any) -> np.ndarray:
    try:
        found = np.asarray(matrix)
    except ValueError:  # rows of different lengths
        found = np.empty(0)
    if found.ndim != 2 or found.dtype.kind not in "biuf" or not np.isin(found, (0, 1)).all():
        raise SpecError(
            "`matrix` is no matrix of 0 and 1", "give shingles as rows, texts as columns"
        )
    return found


def _permutation(given: Any, which: int, rows: int) -> np.ndarray:
    try:
        found = np.asarray(given)
    except ValueError:
        found = np.empty((0, 0))
    if found.ndim != 1 or found.dtype.kind not in "iu":
        what = f"permutation {which} is {spelled(given)}; expected the numbers of the rows"
        raise SpecError(what, "for example [2, 3, 1], for 3 rows")
    if len(found) != rows:
        what = f"permutation {which} has {len(found)} numbers, and the matrix {rows} rows"
        raise SpecError(what, "number each row once")
    first = int(found.min(initial=1))
    if first not in (0, 1) or not np.array_equal(np.sort(found), np.arange(first, first + rows)):
        raise SpecError(f"permutation {which} does not number each row once, from 1 to {rows}")
    return found.astype(np.int64)


def _shingles(texts: Texts, spec: ShingleSpec) -> Iterator[list[str]]:
    """Yield the shingles of each text, in order, repetitions included."""
    tokeniser, items = Tokeniser(spec), spec.unit == "item"
    for text in as_text(texts, items):
        if items:
            yield basket_items(text.as_py())
            continue
        tokens = _tokens(tokeniser, text.as_py())
        ends = range(spec.n, len(tokens) + 1) if len(tokens) > spec.n else [len(tokens)]
        gap = " " if spec.unit == "word" else ""
        yield [gap.join(tokens[max(0, end - spec.n) : end]) for end in ends if end]


def _tokens(tokeniser: Tokeniser, text: str) -> list[str]:
    """Return the tokens of a text as text."""
    spec = tokeniser.spec
    data, offsets = tokeniser.normalise([text])
    hashes: list[int] = tokeniser.documents(data, offsets).values.tolist()
    if spec.unit == "char":
        return [chr(code) for code in hashes]
    words, spans = tokeniser.tokens(data, offsets, want_bytes=True)
    known = words.values.tolist()
    limits = (spans.first + spans.bytes[: 2 * len(known)].astype(np.int64)).reshape(-1, 2).tolist()
    pieces = [bytes(data[low:high]).decode() for low, high in limits]
    names = composed(as_text(pieces), spec.keep_case)
    if spec.stem:
        from Stemmer import Stemmer

        names = Stemmer(spec.stem).stemWords(names)
    (every,) = composed(normalise(tokeniser.compared([text]), spec), spec.keep_case)
    signs = sorted(set(every))
    of_signs = np.empty(len(signs), np.uint64)
    encoded = [sign.encode() for sign in signs]
    limits_of = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    joined = np.frombuffer(b"".join(encoded) or b"\0", np.uint8)
    limits_of.flags.writeable = False  # as the offsets of Arrow are: one kernel for both
    hash_tokens(joined, limits_of, of_signs)
    texts = {
        **dict(zip(of_signs.tolist(), signs, strict=True)),
        **dict(zip(known, names, strict=True)),
    }
    # A text without words is one token, and so is the end of a short one of many signs.
    return [texts[one] for one in hashes] if texts.keys() >= {*hashes} else [every.strip()]
