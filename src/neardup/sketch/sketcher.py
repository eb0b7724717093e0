"""Texts to sketches: all that is kept of a document before its exact comparison."""

import functools
from typing import NamedTuple

import numpy as np

from neardup.arrays import check_matrix
from neardup.errors import SpecError
from neardup.kernels.bits import splitmix
from neardup.kernels.jaccard import fill_bitmaps
from neardup.kernels.text import signing
from neardup.kernels.text.tokens import hash_tokens
from neardup.recipe import Recipe
from neardup.sketch.texts import Ragged, Texts, as_text, text_buffers
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import SCHEMES, ShingleSpec, check_integer
from neardup.tuning import TUNING

#: Words of a document's bitmap.
BITMAP_WORDS = 4
#: Functions are evaluated for so many entries of a signature at once.
_LANES = 16
#: Most entries of a signature.
_MOST = 1 << 16


class Sketches(NamedTuple):
    """Hashes, sizes and band keys of some documents."""

    hashes: np.ndarray  # uint64[n, 2]: of the token sequence
    contents: np.ndarray  # uint64[n]: of the bytes of the text
    tokens: np.ndarray  # int32[n]: number of tokens
    shingles: np.ndarray  # int32[n]: number of shingles, repetitions included
    bitmaps: np.ndarray  # uint64[n, 4]: the shingles in 256 bits, see `fill_bitmaps`
    keys: np.ndarray  # uint64[n, num_bands]: band keys; of no meaning where there are no tokens

    @classmethod
    def empty(cls, documents: int, num_bands: int) -> "Sketches":
        return cls(
            np.empty((documents, 2), dtype=np.uint64),
            np.empty(documents, dtype=np.uint64),
            np.empty(documents, dtype=np.int32),
            np.empty(documents, dtype=np.int32),
            np.empty((documents, BITMAP_WORDS), dtype=np.uint64),
            np.empty((documents, num_bands), dtype=np.uint64),
        )


@functools.cache
def affine_parameters(seed: int, num_hashes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return odd factors and constants, uint32, padded to a multiple of `_LANES`."""
    width = -(-num_hashes // _LANES) * _LANES
    draws = np.array([splitmix(np.uint64(seed), np.uint64(i)) for i in range(width)], np.uint64)
    return (draws >> np.uint64(32)).astype(np.uint32) | np.uint32(1), draws.astype(np.uint32)


class Signer:
    """A signature scheme with its seed and length. Equal signers make comparable signatures.

    The share of equal entries of two signatures is an unbiased estimate of the Jaccard similarity J
    of the two sets, with standard error sqrt(J (1 - J) / num_hashes) or less.

    Schemes: ``"affine32/1"``, independent functions ``a * x + b`` mod 2**32; ``"oph32/1"``, one
    permutation in bins, empty ones filled by further rounds.
    """

    def __init__(self, num_hashes: int, scheme: str = SCHEMES["affine32"], seed: int = 0) -> None:
        if scheme not in SCHEMES.values():
            raise SpecError(f"no signature scheme {scheme!r}", "known are " + ", ".join(SCHEMES))
        self.num_hashes = num_hashes
        self._seed = seed
        self._affine = scheme == SCHEMES["affine32"]

    def __call__(self, shingles: Ragged) -> np.ndarray:
        """Return uint32[documents, num_hashes or more]; only the first `num_hashes` columns count.

        The order of shingles and their repetitions don't matter. The row of a document without
        shingles is all ones.
        """
        documents = len(shingles.offsets) - 1
        if not self._affine:
            out = np.empty((documents, self.num_hashes), dtype=np.uint32)
            signing.sign_oph(*shingles, np.uint64(self._seed), out)
            return out
        a, b = affine_parameters(self._seed, self.num_hashes)
        out = np.empty((documents, len(a)), dtype=np.uint32)
        signing.sign_affine(*shingles, a, b, out)
        return out


class Sketcher:
    """Turns texts into sketches; for many threads at once.

    Texts begin with keys of their groups where the recipe has a column for these.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.tokeniser = Tokeniser(recipe.shingle, grouped=recipe.within is not None)
        self._signer = Signer(recipe.num_hashes, recipe.scheme, recipe.seed)

    def __call__(self, texts: Texts, sets: list[Ragged] | None = None) -> Sketches:
        """Return the sketches of some texts; add their sets of shingles to a list, if given."""
        text = as_text(texts, self.recipe.shingle.unit == "item")
        out = Sketches.empty(len(text), self.recipe.num_bands)
        data, limits = text_buffers(text)
        for rows, tokens, groups in self.tokeniser.ranges(text):
            # Some documents at a time, as they are tokenised: their bytes are in the cache.
            hash_tokens(data, limits[rows.start : rows.stop + 1], out.contents[rows])
            out.tokens[rows] = tokens.offsets[1:] - tokens.offsets[:-1]
            shingles = self.tokeniser.shingles(tokens, out.hashes[rows])
            out.shingles[rows] = shingles.offsets[1:] - shingles.offsets[:-1]
            if self.recipe.shingle.bag:
                shingles = self.tokeniser.to_sets(shingles)
            begin, ends = shingles.offsets[:-1], shingles.offsets[1:]
            sizes = (ends - begin).astype(np.int32)
            fill_bitmaps(shingles.values, begin, sizes, False, out.bitmaps[rows])
            self._fill_keys(shingles, out.keys[rows])
            if sets is not None:
                found = shingles if self.recipe.shingle.bag else self.tokeniser.to_sets(shingles)
                found = self.tokeniser.apart(found, groups)
                sets.append(Ragged(found.values.copy(), found.offsets))
            if groups is not None:
                out.hashes[rows] ^= groups[:, None]
                out.keys[rows] ^= groups[:, None]
        return out

    def _fill_keys(self, shingles: Ragged, keys: np.ndarray) -> None:
        if not self.recipe.num_bands:
            return
        # Signatures of short documents take more memory than their text: a batch at a time.
        step = max(1, TUNING.signature_entries // self.recipe.num_hashes)
        for low in range(0, len(keys), step):
            batch = Ragged(shingles.values, shingles.offsets[low : low + step + 1])
            signing.band_keys(self._signer(batch), self.recipe.rows, keys[low : low + step])


def signatures(
    texts: Texts,
    num_hashes: int,
    *,
    shingle: str | ShingleSpec = "word:5",
    scheme: str = "affine32",
    seed: int = 0,
) -> np.ndarray:
    """Return the MinHash signatures of texts, uint32[documents, num_hashes].

    Args:
        texts: Arrow array of strings, or a list.
        num_hashes: Entries of a signature.
        shingle: How a text becomes a set of shingles.
        scheme: ``"affine32"`` or ``"oph32"``, see `Signer`.
        seed: Seed of the hash functions.

    Raises:
        InputError: These are no texts.
        SpecError: A setting is out of range.

    Examples:
        >>> two = signatures(["one and the same", "one and the same"], 16)
        >>> bool((two[0] == two[1]).all())
        True
    """
    check_integer("`num_hashes`", num_hashes, 1, _MOST)
    check_integer("`seed`", seed, 0, 2**63 - 1)
    tokeniser = Tokeniser(shingle)
    shingles = tokeniser.shingles(tokeniser.documents(*tokeniser.normalise(texts)))
    if tokeniser.spec.bag:
        shingles = tokeniser.to_sets(shingles)
    return Signer(num_hashes, SCHEMES.get(scheme, scheme), seed)(shingles)[:, :num_hashes]


def band_keys(signatures: np.ndarray, num_bands: int, rows: int) -> np.ndarray:
    """Return the band keys of signatures, uint64[documents, num_bands].

    Args:
        signatures: uint32[documents, num_hashes], with ``num_bands * rows <= num_hashes``.
        num_bands: Bands.
        rows: Signature entries in a band.

    Raises:
        SpecError: The signatures are too short, or none.
    """
    check_matrix("signatures", signatures, np.uint32)
    check_integer("`num_bands`", num_bands, 1, _MOST)
    check_integer("`rows`", rows, 1, _MOST)
    if num_bands * rows > signatures.shape[1]:
        raise SpecError(
            f"{num_bands} bands of {rows} rows need {num_bands * rows} hashes; "
            f"the signatures have {signatures.shape[1]}"
        )
    keys = np.empty((len(signatures), num_bands), dtype=np.uint64)
    signing.band_keys(np.ascontiguousarray(signatures), rows, keys)
    return keys
