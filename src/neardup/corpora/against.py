"""A new batch against an old corpus, and within itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.corpora.corpus import InputCorpus
from neardup.engines.identifiers import take_ids
from neardup.index.answers import id_values
from neardup.index.bodies import Id
from neardup.index.inserting import insert_new
from neardup.index.transactions import BATCH, Batch, Core


def decide(corpus: InputCorpus, old: Core, fresh: Core) -> tuple[pa.Table, np.ndarray]:
    """Decide which documents of a batch are new.

    One is removed if it is similar to a document of the old corpus, or else to one of the batch
    that is kept before it. Others may write to the old corpus meanwhile; documents that come are
    not compared.

    Args:
        corpus: The batch, not read yet.
        old: Index of the old corpus.
        fresh: An empty index in memory, of the same recipe.

    Returns:
        A row for each document: ``doc``, ``doc_id``, ``cluster``, ``kept``, ``duplicate_of``,
        ``similarity``, and ``in_old``, whether ``duplicate_of`` is a document of the old corpus.
        And bool[n]: which ones are kept.
    """
    of: list[Id | None] = []
    in_old: list[bool] = []
    similarities = [np.empty(0)]
    with old.reading() as state:
        kind, end = state.ids, state.next
    for _, partition in corpus.reader.partitions():
        documents = corpus.read(partition)
        corpus.enter(partition, documents)
        for low in range(0, len(documents.text), BATCH):
            texts = documents.text.slice(low, BATCH)
            known = old.sketched(texts)
            # Others write between two batches: what came since is no part of the old corpus.
            with old.reading():
                found = old.matches(known, old.threshold, first=True)
            answers: list[Id | None] = [None] * len(texts)
            similarity = np.full(len(texts), np.nan)
            for row, doc, name, same in zip(*found[:4], strict=True):
                if doc < end:
                    answers[row], similarity[row] = name, same
            left = np.flatnonzero(np.isnan(similarity))
            # Numbers stand for ids meanwhile, which may be of another kind.
            base = len(of)
            with fresh.writing():
                batch = Batch([base + row for row in left.tolist()], texts.take(array_of(left)))
                more = insert_new(fresh, batch)
            similarity[left] = more.similarity
            in_old += (~np.isin(np.arange(len(texts)), left)).tolist()
            for row, target in zip(left.tolist(), more.duplicate_of, strict=True):
                answers[row] = target
            of += answers
            similarities.append(similarity)
    similarity = np.concatenate(similarities)
    return _table(corpus, of, np.array(in_old, dtype=np.bool_), similarity, kind)


def _table(
    corpus: InputCorpus, of: list[Id | None], in_old: np.ndarray, similarity: np.ndarray, kind: str
) -> tuple[pa.Table, np.ndarray]:
    kept = np.isnan(similarity)
    ids = corpus.ids()
    own: Any = take_ids(ids, np.arange(len(of)))
    whole = pa.types.is_integer(own.type) and kind != "str"
    own_ids = own.to_pylist()
    # Within the batch, positions stand for ids.
    names = [
        target if target is None or old else own_ids[int(target)]
        for target, old in zip(of, in_old.tolist(), strict=True)
    ]
    cluster = np.arange(len(of))
    for row in np.flatnonzero(~kept & ~in_old).tolist():
        cluster[row] = int(of[row] or 0)
    table = pa.table(
        {
            "doc": array_of(np.arange(len(of))),
            "doc_id": own,
            "cluster": array_of(cluster, null=in_old),
            "kept": array_of(kept),
            "duplicate_of": id_values(names, "int" if whole else "str"),
            "similarity": array_of(similarity, null=kept),
            "in_old": array_of(in_old),
        }
    )
    return table, kept
