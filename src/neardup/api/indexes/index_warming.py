"""Kernels that calls of an index need, compiled or loaded before the first of them comes."""

from __future__ import annotations

from typing import Any

from neardup.api.indexes.indexing import Index
from neardup.recipe import Recipe
from neardup.spec import Spec

_DOCUMENTS = 600  # more than are done without threads


def warm(spec: Spec, recipe: Recipe) -> None:
    """Do each call that a service answers with a small index in memory."""
    items = spec.shingle.unit == "item"

    def text(number: int) -> Any:
        words = [f"w{(number // 3 + i) * 7919 % 1009}" for i in range(24)]
        words[number % 24] = f"v{number % 3}"
        return words if items else " ".join(words)

    group = None if recipe.within is None else 1
    texts = [text(number) for number in range(_DOCUMENTS)]
    for stored in (True, False):
        with Index.create(spec=spec, recipe=recipe, store_text=stored) as index:
            for low, high in ((0, 1), (1, 9), (9, _DOCUMENTS)):
                index.add_if_new(texts[low:high], ids=range(low, high), group=group)
            for name in ("all", "some"):
                index.query(texts[:40], top=3, group=group)
                index.query([texts[5]], group=group)
                index.first_matches([texts[5]], group=group)
                index.is_duplicate(texts[7], group=group)
                if name == "all":
                    index.compact()
            index.update(0, texts[9], if_new=True, group=group)
            index.add([text(10**6)], ids=[10**6], group=group)
            if stored:
                index.explain(texts[1], 10**6, group=group)
            index.remove(10**6)
            index.check()
