"""`Cache` as mattilyra/lsh has it."""

from __future__ import annotations

import io
import json
import os
from collections import defaultdict
from collections.abc import Hashable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from neardup.compat.lsh.minhash import MinHasher, text_of
from neardup.errors import InputError, SpecError, UnknownIdError
from neardup.files.private_files import replacing
from neardup.sketch.sketcher import band_keys


class BandsError(SpecError, AssertionError):
    """The bands don't divide the fingerprint."""


class Cache:
    """Documents in buckets, and which of them may be duplicates.

    Args:
        hasher: Makes the fingerprints; one of 100 entries by default.
        num_bands: Bands.
        bands: The same, by the name that early versions had.

    Raises:
        BandsError: The bands don't divide the fingerprint.
    """

    def __init__(
        self, hasher: MinHasher | None = None, num_bands: int = 10, *, bands: int | None = None
    ) -> None:
        self.hasher = hasher or MinHasher()
        self.num_bands = num_bands if bands is None else bands
        if self.num_bands < 1 or self.hasher.num_seeds % self.num_bands:
            raise BandsError(
                f"{self.num_bands} bands don't divide {self.hasher.num_seeds} hashes",
                "choose a number of bands that does",
            )
        self.band_width = self.hasher.num_seeds // self.num_bands
        self.clear()

    def clear(self) -> None:
        """Forget all documents."""
        #: For each band the ids of the documents of each bucket.
        self.bins: list[dict[int, set[Hashable]]] = [
            defaultdict(set) for _ in range(self.num_bands)
        ]
        self.fingerprints: dict[Hashable, np.ndarray] = {}
        self._texts: dict[Hashable, str] = {}

    @property
    def seen_ids(self) -> set[Hashable]:
        """The ids of all documents."""
        return set(self.fingerprints)

    def bins_(self, fingerprint: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the entries of each band, with its number."""
        yield from enumerate(np.split(fingerprint, self.num_bands))

    def _buckets(self, fingerprint: np.ndarray) -> list[int]:
        row = fingerprint.astype(np.uint32)[None]
        found: list[int] = band_keys(row, self.num_bands, self.band_width)[0].tolist()
        return found

    def update(self, doc: str | bytes, doc_id: Hashable) -> None:
        """Add a document."""
        self.add_fingerprint(self.hasher.fingerprint(doc), doc_id)
        self._texts[doc_id] = text_of(doc)

    add_doc = update

    def add_fingerprint(self, fingerprint: np.ndarray, doc_id: Hashable) -> None:
        """Add a document by its fingerprint; it replaces an earlier one with its id."""
        if doc_id in self.fingerprints:
            self.remove_id(doc_id)
        self.fingerprints[doc_id] = fingerprint
        for bucket, bins in zip(self._buckets(fingerprint), self.bins, strict=True):
            bins[bucket].add(doc_id)

    def remove_id(self, doc_id: Hashable) -> None:
        """Remove a document.

        Raises:
            UnknownIdError: There is none with this id.
        """
        if doc_id not in self.fingerprints:
            raise UnknownIdError(f"no document has the id {doc_id!r}")
        fingerprint = self.fingerprints.pop(doc_id)
        self._texts.pop(doc_id, None)
        for bucket, bins in zip(self._buckets(fingerprint), self.bins, strict=True):
            bins[bucket].discard(doc_id)
            if not bins[bucket]:
                del bins[bucket]

    def remove_doc(self, doc: str | bytes) -> None:
        """Remove all documents with a text."""
        fingerprint = self.hasher.fingerprint(doc)
        same = [id_ for id_, f in self.fingerprints.items() if np.array_equal(f, fingerprint)]
        for doc_id in same:
            self.remove_id(doc_id)

    def get_all_duplicates(
        self, min_jaccard: float | None = None, data: Any = None
    ) -> set[tuple[Any, Any]]:
        """Return all pairs that share a bucket, and reach a similarity if one is given.

        Args:
            min_jaccard: Lowest similarity: exact where the texts are known; else the share of equal
                entries of the fingerprints.
            data: Texts by id, of documents that were added by fingerprint.
        """
        order = {doc_id: number for number, doc_id in enumerate(self.fingerprints)}
        pairs: set[tuple[Any, Any]] = set()
        for bins in self.bins:
            for ids in bins.values():
                pairs.update(combinations(sorted(ids, key=order.__getitem__), 2))
        if min_jaccard is None:
            return pairs
        return {(a, b) for a, b in pairs if self._similarity(a, b, data or {}) >= min_jaccard}

    def get_duplicates_of(
        self,
        doc: str | bytes | None = None,
        doc_id: Hashable = None,
        min_jaccard: float | None = None,
    ) -> set[Any]:
        """Return the documents that share a bucket with a text or a document, and itself.

        Args:
            doc: A text.
            doc_id: Id of a document, instead.
            min_jaccard: As for `get_all_duplicates`.

        Raises:
            InputError: Neither is given, or no document has the id.
        """
        if doc_id is not None and doc_id in self.fingerprints:
            fingerprint, text = self.fingerprints[doc_id], self._texts.get(doc_id)
        elif doc is not None:
            fingerprint, text = self.hasher.fingerprint(doc), text_of(doc)
        else:
            raise InputError("neither a text nor the id of a document is given")
        found: set[Any] = set()
        for bucket, bins in zip(self._buckets(fingerprint), self.bins, strict=True):
            found |= bins.get(bucket, set())
        if min_jaccard is None:
            return found
        return {id_ for id_ in found if self._reaches(id_, fingerprint, text) >= min_jaccard}

    def is_duplicate(self, doc: str | bytes, doc_id: Hashable = None) -> bool:
        """Return whether a text, or the document of an id, shares a bucket with any document.

        A document that was added finds itself, as in the package. Take
        ``get_duplicates_of(doc) - {doc_id}`` for the others.
        """
        return bool(self.get_duplicates_of(doc, doc_id))

    def _similarity(self, a: Hashable, b: Hashable, data: Any) -> float:
        text = self._texts.get(a, data.get(a))
        if b in data and b not in self._texts and text is not None:
            return self.hasher.jaccard(text, data[b])
        return self._reaches(b, self.fingerprints[a], text)

    def _reaches(self, doc_id: Hashable, fingerprint: np.ndarray, text: Any) -> float:
        other = self._texts.get(doc_id)
        if text is not None and other is not None:
            return self.hasher.jaccard(text, other)
        return float((self.fingerprints[doc_id] == fingerprint).mean())

    def jsonable(self) -> dict[str, Any]:
        """Return plain values, for `from_json`."""
        return {
            "hasher": self.hasher.jsonable(),
            "num_bands": self.num_bands,
            "fingerprints": [[id_, f.tolist()] for id_, f in self.fingerprints.items()],
            "texts": [[id_, text] for id_, text in self._texts.items()],
        }

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write everything, texts too, to a file that only its owner may read."""
        with replacing(Path(path)) as file:
            text = io.TextIOWrapper(file, "utf-8")
            json.dump(self.jsonable(), text)
            text.flush()
            text.detach()

    @staticmethod
    def from_json(path: str | os.PathLike[str]) -> Cache:
        """Make a cache of a file that `to_json` wrote."""
        values = json.loads(Path(path).read_text(encoding="utf-8"))
        cache = Cache(MinHasher.from_json_str(values["hasher"]), values["num_bands"])
        kind = np.uint32 if cache.hasher.hashbytes == 4 else np.uint64
        for id_, fingerprint in values["fingerprints"]:
            cache.add_fingerprint(np.array(fingerprint, dtype=kind), id_)
        cache._texts = dict(values["texts"])
        return cache
