"""Counts of the test items found: of each file, and those that many training documents have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from neardup.copies.contained import Items
from neardup.corpora.corpus import InputCorpus
from neardup.engines.identifiers import take_ids
from neardup.json_values import plain_id

#: An item is frequent if more than this share of the documents has it, and more than so few; so
#: many of them are listed.
_FREQUENT, _FEW, _LISTED = 0.1, 5, 5


def by_file(test: InputCorpus, matches: pa.Table) -> list[dict[str, Any]]:
    """Return the counts of each file with test items: its items, those found, and documents."""
    files = test.reader.source.files
    of = np.repeat([file for file, _ in test.partitions], test.counts)
    doc, item = (matches.column(name).to_numpy() for name in ("train_doc", "test_doc"))
    found = []
    for number, file in enumerate(files):
        here = of[item] == number
        counts = {
            "test_items": int((of == number).sum()),
            "test_items_found": len(np.unique(item[here])),
            "documents": len(np.unique(doc[here])),
            "matches": int(here.sum()),
        }
        found.append({"file": str(file.path), **counts})
    return found


def frequent_items(
    test: InputCorpus, items: Items, matches: pa.Table, documents: int
) -> list[dict[str, Any]]:
    """Return the test items that a large share of the documents has, the most frequent first.

    Returns:
        For each ``test_doc`` and ``test_id``, null where no message may have it; ``documents`` that
        have it; its ``words``; and ``short``, whether it is shorter than a shingle.
    """
    item = matches.column("test_doc").to_numpy()
    counts = np.bincount(item, minlength=1)
    many = np.flatnonzero(counts > max(_FREQUENT * documents, _FEW))
    many = many[np.argsort(-counts[many], kind="stable")][:_LISTED]
    words, ids = items.word_counts, list[Any]([None]) * len(many)
    if test.id_column is not None and not test.job.secret_ids:
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
