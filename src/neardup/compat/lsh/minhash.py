"""`MinHasher` as mattilyra/lsh has it.

The fingerprints differ from those of lsh, and can't be compared with them.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import SpecError
from neardup.files.private_files import replacing
from neardup.inspect.compare import compare
from neardup.sketch.sketcher import signatures
from neardup.spec import ShingleSpec, Spec


class MinHasher:
    """Makes fingerprints of texts by runs of characters.

    Args:
        seeds: Entries of a fingerprint; or an array of so many numbers, which seed it.
        char_ngram: Characters of a shingle.
        random_state: Seed of the hash functions, or a `numpy.random.RandomState` that draws one;
            each hasher draws a fresh one by default, and estimates scatter.
        hashbytes: 4 or 8 bytes of an entry.

    Raises:
        SpecError: A setting is out of range.
    """

    def __init__(
        self,
        seeds: int | np.ndarray = 100,
        char_ngram: int = 8,
        random_state: int | np.random.RandomState | None = None,
        hashbytes: int = 8,
    ) -> None:
        if hashbytes not in (4, 8):
            raise SpecError(f"`hashbytes` is {hashbytes!r}; expected 4 or 8")
        self.char_ngram, self.hashbytes = char_ngram, hashbytes
        if isinstance(seeds, np.ndarray):
            digest = hashlib.sha256(seeds.astype("<u8").tobytes()).digest()
            self.num_seeds, self._seed = len(seeds), int.from_bytes(digest[:7], "little")
        else:
            self.num_seeds, self._seed = seeds, _seed_of(random_state)
        self._spec = ShingleSpec("char", char_ngram, keep_case=True, raw=True)

    def fingerprint(self, text: str | bytes) -> np.ndarray:
        """Return the fingerprint of a text, unsigned[num_seeds]."""
        found = signatures([text_of(text)], self.num_seeds, shingle=self._spec, seed=self._seed)[0]
        wide: np.ndarray = found.astype(np.uint32 if self.hashbytes == 4 else np.uint64)
        return wide

    def jaccard(self, doc1: str | bytes, doc2: str | bytes) -> float:
        """Return the exact similarity of two texts."""
        return compare(text_of(doc1), text_of(doc2), Spec(shingle=self._spec)).similarity

    def jsonable(self) -> dict[str, Any]:
        """Return plain values, for `from_json_str`."""
        return {
            "num_seeds": self.num_seeds,
            "seed": self._seed,
            "char_ngram": self.char_ngram,
            "hashbytes": self.hashbytes,
        }

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the settings to a file, which appears when it is complete."""
        with replacing(Path(path)) as file:
            file.write(json.dumps(self.jsonable()).encode())

    @staticmethod
    def from_json_str(js: dict[str, Any] | str) -> MinHasher:
        """Make a hasher of what `jsonable` returned, or of the same as JSON."""
        values = json.loads(js) if isinstance(js, str) else js
        return MinHasher(
            values["num_seeds"], values["char_ngram"], values["seed"], values["hashbytes"]
        )

    @staticmethod
    def from_json_file(path: str | os.PathLike[str]) -> MinHasher:
        """Make a hasher of a file that `to_json` wrote."""
        return MinHasher.from_json_str(Path(path).read_text(encoding="utf-8"))


def text_of(text: str | bytes) -> str:
    """Return a text, which may be given as its UTF-8."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _seed_of(random_state: int | np.random.RandomState | None) -> int:
    if random_state is None:
        return secrets.randbits(62)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    return random_state
