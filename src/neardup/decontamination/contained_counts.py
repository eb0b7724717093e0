"""Counts of matches: of each test item, of each file with test items, and of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.corpora.corpus import InputCorpus
from neardup.deduplication.documents.identifiers import take_ids
from neardup.values.json_values import plain_id

if TYPE_CHECKING:
    from neardup.decontamination.contained import Items, MatchPairs

#: How a document matches that has a short item as it is, see `contained.BY`.
ITEM = 3
#: An item is frequent if more than this share of the documents has it, and more than so few; so
#: many of them are listed.
_FREQUENT, _FEW, _LISTED = 0.1, 5, 5


class MatchCounts:
    """Counts matches, which are added in order of documents, some documents at a time.

    Args:
        test: The test items, which were read.
    """

    def __init__(self, test: InputCorpus) -> None:
        self._test = test
        self._file_of = np.repeat([file for file, _ in test.partitions], test.counts)
        files = len(test.source.files)
        #: int64[items]: documents that have each; and int64[files]: those that have one of a file.
        self.of_item = np.zeros(test.documents, np.int64)
        self._documents = np.zeros(files, np.int64)
        self.matches = self.contaminated = self.only_short = 0

    def add(self, pairs: MatchPairs) -> None:
        """Count the matches of some documents, of which no others follow."""
        self.matches += len(pairs.doc)
        docs, short = np.unique(pairs.doc), pairs.by == ITEM
        self.contaminated += len(docs)
        self.only_short += len(docs) - len(np.unique(pairs.doc[~short]))
        self.of_item += np.bincount(pairs.item, minlength=len(self.of_item))
        files = len(self._documents)
        if files and len(docs):
            of_both = np.unique(pairs.doc * files + self._file_of[pairs.item])
            self._documents += np.bincount(of_both % files, minlength=files)

    @property
    def items_found(self) -> int:
        return int(np.count_nonzero(self.of_item))

    def of_many(self, documents: float) -> np.ndarray:
        """Return int64[]: items that more documents have than these, the most frequent first."""
        many = np.flatnonzero(self.of_item > documents)
        return many[np.argsort(-self.of_item[many], kind="stable")]

    def by_file(self) -> list[dict[str, Any]]:
        """Return the counts of each file with test items: items, those found, and documents."""
        found = []
        for number, file in enumerate(self._test.source.files):
            of_item = self.of_item[self._file_of == number]
            counts = {
                "test_items": len(of_item),
                "test_items_found": int(np.count_nonzero(of_item)),
                "documents": int(self._documents[number]),
                "matches": int(of_item.sum()),
            }
            found.append({"file": str(file.path), **counts})
        return found

    def frequent_items(self, items: Items, documents: int) -> list[dict[str, Any]]:
        """Return the items that a large share of the documents has, see `described`."""
        return self.described(items, self.of_many(max(_FREQUENT * documents, _FEW))[:_LISTED])

    def described(self, items: Items, many: np.ndarray) -> list[dict[str, Any]]:
        """Return test items, by their numbers, as members of a record.

        Returns:
            For each ``test_doc`` and ``test_id``, null where no message may have it; ``documents``
            that have it; its ``words``; and ``short``, whether it is shorter than a shingle.
        """
        test, counts = self._test, self.of_item
        words, ids = items.word_counts, list[Any]([None]) * len(many)
        if test.id_column is not None and not test.secret_ids:
            ids = [plain_id(id_) for id_ in take_ids(test.ids(), many).to_pylist()]
        return [
            {
                "test_doc": row,
                "test_id": id_,
                "documents": int(counts[row]),
                "words": int(words[row]),
                "short": items.is_short(row),
            }
            for row, id_ in zip(many.tolist(), ids, strict=True)
        ]
