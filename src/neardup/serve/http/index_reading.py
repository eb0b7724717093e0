"""Calls that only read, answered from the index in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

import neardup
from neardup.api.indexes.index_folders import opened_core
from neardup.api.indexes.indexing import Index
from neardup.errors import InputError, NeardupError, SpecError
from neardup.index.answers import stored_text
from neardup.index.incoming import groups_sent
from neardup.index.storing.catalogue import Options
from neardup.serve import calls
from neardup.serve.calls import Group, Text
from neardup.serve.loading import load_kernels
from neardup.serve.settings import Settings

#: Characters of texts, texts, and ids that are answered at once; more are in a thread of their own.
_SMALL, _TEXTS, _IDS = 50_000, 4, 256
_LONG = ("check", "stats")
#: Calls that can be answered together.
TOGETHER = ("query", "first_matches", "is_duplicate")


class IndexReader:
    """An index that is open for reading.

    Args:
        settings: Which one, and limits of a call.
        identity: `Catalogue.identity` that it has to have: that of the part that writes.

    Raises:
        NeardupError: It can't be opened, or is another one.
    """

    def __init__(self, settings: Settings, identity: tuple[int, ...]) -> None:
        options = Options(readonly=True, identity=identity)
        self.index = Index(*opened_core(Path(settings.index), options))
        self._settings = settings

    def require_folder(self) -> None:
        """Refuse if the folder of the index was moved, deleted or replaced.

        Raises:
            IndexMovedError: It was.
        """
        self.index._core.catalogue.require_folder()

    def warm(self) -> None:
        """Load kernels."""
        load_kernels(self.index.spec, self.index.recipe)

    def answer(self, name: str, asked: Any) -> msgspec.Struct:
        """Answer a call, by its name.

        Raises:
            NeardupError: As the index does.
        """
        found: msgspec.Struct = getattr(self, "_" + name)(asked)
        return found

    @property
    def items(self) -> bool:
        """Whether its documents are lists of items."""
        return self.index.spec.shingle.unit == "item"

    @property
    def _id_type(self) -> Any:
        with self.index._core.reading() as state:
            return state.ids

    def _query(self, asked: calls.Query) -> msgspec.Struct:
        return self._similar("query", [asked])[0]

    def _first_matches(self, asked: calls.Query) -> msgspec.Struct:
        return self._similar("first_matches", [asked])[0]

    def _is_duplicate(self, asked: calls.OneText) -> msgspec.Struct:
        return self._similar("is_duplicate", [asked])[0]

    def answer_together(self, name: str, asked: Sequence[Any]) -> list[msgspec.Struct | Exception]:
        """Answer several calls of `TOGETHER` as one, which takes little longer than one of them.

        Returns:
            The answer to each, or its error.
        """
        try:
            return list(self._similar(name, asked))
        except NeardupError as error:
            if len(asked) == 1:
                return [error]
        return [found for one in asked for found in self.answer_together(name, [one])]

    def _similar(self, name: str, asked: Sequence[Any]) -> list[msgspec.Struct]:
        """Answer calls that have the same ``top`` and ``threshold``."""
        if name == "is_duplicate":
            texts, group = self.asked([one.text for one in asked], [one.group for one in asked])
            found = self.index.first_matches(texts, group=group)
            rows = set(found.column("query").to_pylist())
            return [calls.IsDuplicate(row in rows) for row in range(len(texts))]
        first = asked[0]
        texts, group = self.asked(
            [text for one in asked for text in one.texts],
            [group for one in asked for group in one.group],
        )
        if name == "query":
            how = {"threshold": first.threshold, "top": first.top}
            table = self.index.query(texts, group=group, **how)
        elif first.top is None and first.threshold is None:
            table = self.index.first_matches(texts, group=group)
        else:
            raise SpecError("`top` and `threshold` are not for first_matches", "leave them out")
        kind: Any = "int" if pa.types.is_integer(table.column("id").type) else "str"
        lists = [calls.MatchList(kind, []) for _ in asked]
        call, base = 0, 0
        columns = [column.to_pylist() for column in table.columns]
        for row, *rest in zip(*columns, strict=True):
            while row - base >= len(asked[call].texts):
                base += len(asked[call].texts)
                call += 1
            lists[call].matches.append(calls.Match(row - base, *rest))
        return list(lists)

    def _get(self, asked: calls.OneId) -> calls.StoredText:
        return calls.StoredText(asked.id, self.index.get(asked.id))

    def _contains(self, asked: calls.DocumentIds) -> calls.Contained:
        with self.index._core.reading():
            found = self.index._core.numbers(asked.ids)
        return calls.Contained([id_ in found for id_ in asked.ids])

    def _explain(self, asked: calls.Pair) -> calls.ComparedTexts:
        if (asked.text is None) == (asked.other is None):
            raise SpecError("`text` and `other` are both given, or neither", "give one of the two")
        if asked.text is not None:
            (text,), group = self.asked([asked.text], [asked.group])
            found = self.index.explain(text, asked.id, group=group)
        else:
            assert asked.other is not None
            stored = stored_text(self.index._core, asked.other)
            if stored is None:
                raise InputError(
                    "the index stores shingles only: texts can't be compared",
                    "make the index with store_text=True",
                )
            found = self.index._explained(stored, asked.id)
        return calls.ComparedTexts(**found.as_dict())

    def _stats(self, asked: None) -> calls.Stats:
        return msgspec.convert(self.index.stats(), calls.Stats)

    def _about(self, asked: None) -> calls.About:
        index, limits = self.index, self._settings.limits
        return calls.About(
            neardup.__version__,
            index.spec.as_dict(),
            index.recipe.as_dict(),
            self._id_type,
            self._settings.readonly,
            limits.documents,
            limits.body,
        )

    def _check(self, asked: calls.Nothing) -> calls.Problems:
        return calls.Problems(self.index.check())

    def asked(self, texts: list[Text], groups: list[Group]) -> tuple[list[Text], Any]:
        """Return texts that were sent, and the argument ``group`` for them."""
        if not self.items and any(isinstance(text, list) for text in texts):
            raise InputError("a text is a list of items", "send a string for each text")
        return texts, groups_sent(self.index.recipe.within, groups)

    def ids(self) -> Iterator[bytes]:
        """Yield the ids of all documents, as JSON lines."""
        values = self.index.ids()
        for low in range(0, len(values), 1000):
            ids = values.slice(low, 1000).to_pylist()
            yield b"".join(msgspec.json.encode(id_) + b"\n" for id_ in ids)

    def buckets(self, minimum: int, keys: bool) -> Iterator[bytes]:
        """Yield what `Index.buckets` does, as JSON lines."""
        found = self.index.buckets(minimum, keys=True) if keys else self.index.buckets(minimum)
        for bucket in found:
            yield msgspec.json.encode(bucket) + b"\n"


def is_small(name: str, asked: Any) -> bool:
    """Return whether an answer takes so short that other calls can wait for it."""
    if name in _LONG:
        return False
    texts = getattr(asked, "texts", None)
    if len(getattr(asked, "ids", ())) > _IDS:
        return False
    if texts is None:
        text = getattr(asked, "text", None)
        return text is None or len(text) <= _SMALL
    return len(texts) <= _TEXTS and sum(map(len, texts)) <= _SMALL
