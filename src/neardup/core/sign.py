"""Shingles to signatures."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.core.shingle import Ragged, as_text, shingle, to_sets, tokenise
from neardup.errors import SpecError
from neardup.kernels import signatures as kernels
from neardup.kernels.hashing import splitmix
from neardup.spec import SCHEMES, ShingleSpec

__all__ = ["Signer", "sign"]


@functools.cache
def _affine_parameters(seed: int, num_hashes: int) -> tuple[np.ndarray, np.ndarray]:
    seeds = [splitmix(np.uint64(seed), np.uint64(i)) for i in range(num_hashes)]
    draws = np.array([int(s) for s in seeds], dtype=np.uint64)
    a = (draws >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
    return a, draws.astype(np.uint32)


@dataclass(frozen=True, slots=True)
class Signer:
    """A signature scheme with its seed and length. Equal signers make comparable signatures.

    Attributes:
        num_hashes: Entries of a signature.
        scheme: ``"affine32/1"``: independent functions ``a * x + b`` mod 2**32.
            ``"oph32/1"``: one permutation in bins, empty ones filled by further rounds.
        seed: Seed of the functions.
    """

    num_hashes: int
    scheme: str = SCHEMES["affine32"]
    seed: int = 0

    def __call__(self, shingles: Ragged) -> np.ndarray:
        """Return uint32[documents, num_hashes]; all ones for a document without shingles.

        The share of equal entries of two rows is an unbiased estimate of the Jaccard similarity J
        of their sets, with standard error sqrt(J (1 - J) / num_hashes) or less.

        Args:
            shingles: Shingles by document; their order and repetitions don't matter.
        """
        out = np.empty((len(shingles.offsets) - 1, self.num_hashes), dtype=np.uint32)
        if self.scheme == SCHEMES["affine32"]:
            a, b = _affine_parameters(self.seed, self.num_hashes)
            kernels.affine32(shingles.values, shingles.offsets, a, b, out)
        elif self.scheme == SCHEMES["oph32"]:
            kernels.oph32(shingles.values, shingles.offsets, np.uint64(self.seed), out)
        else:
            raise SpecError(
                f"no signature scheme {self.scheme!r}", "known are " + ", ".join(SCHEMES)
            )
        return out


def sign(texts: Any, signer: Signer, spec: ShingleSpec | None = None) -> np.ndarray:
    """Return the signatures of texts, uint32[documents, num_hashes].

    Args:
        texts: Arrow array of strings, or a list.
        signer: Scheme, seed and length.
        spec: What a document becomes; word:5 by default.

    Examples:
        >>> signatures = sign(["one and the same", "one and the same"], Signer(16))
        >>> bool((signatures[0] == signatures[1]).all())
        True
    """
    spec = spec or ShingleSpec()
    shingles = shingle(tokenise(as_text(texts), spec), spec.n)
    return signer(to_sets(shingles, True) if spec.bag else shingles)
