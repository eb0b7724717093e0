"""An index that another process serves: the methods of `neardup.Index`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, Self, Unpack, cast, overload

import numpy as np
import pyarrow as pa

from neardup.api.indexes.indexing import _OF_SEVERAL, Index, with_text
from neardup.api.progress import show_progress
from neardup.arrays import ArrowArray, array_of
from neardup.client.transport import Transport
from neardup.deduplication.clock import Clock
from neardup.errors import ArgumentError, SpecError, ids_left_out, spelled
from neardup.index.answers import (
    MATCH_COLUMNS,
    Bucket,
    NewAnswer,
    UpdateAnswer,
    answers_table,
    id_values,
    no_matches,
)
from neardup.index.incoming import (
    batches_of,
    checked_id,
    checked_ids,
    groups_asked,
    is_one,
    one_text,
    typed_ids,
)
from neardup.index.inserting import Conflict, Decisions, check_conflict
from neardup.index.storing.bodies import Id
from neardup.index.storing.transactions import Batch
from neardup.inspect.compare import Comparison, Text
from neardup.options.arguments import by_preset, expanded, is_one_document, refuse_column
from neardup.options.how_read import how_read
from neardup.options.option_groups import AddingOptions, Reading, ReadingOptions
from neardup.recipe import Recipe
from neardup.sketch.texts import text_buffers
from neardup.spec import Spec, check_integer

_SHARE = 0.4  # of the largest body: in JSON a text may be longer than it is


@expanded
def connect(
    url: str, *, token: str | None = None, timeout: float = 60.0, retries: int = 5
) -> RemoteIndex:
    """Connect with an index that `neardup serve` serves.

    Args:
        url: Address of the service, such as ``"http://127.0.0.1:8080"``.
        token: Its token, if it has one.
        timeout: Seconds to wait for a connection, and for an answer; those of `check` and `compact`
            may take longer.
        retries: How often a call is sent again: where the service says that it has done nothing,
            and where no answer came and doing it again changes nothing.

    Raises:
        SpecError: The address is none of HTTP.
        StoreError: The service can't be reached.
        TokenError: The token is missing or wrong.
        DependencyError: urllib3 is not installed.
    """
    found = RemoteIndex(Transport(url, token, timeout, retries))
    found._about  # noqa: B018
    return found


class RemoteIndex:
    """The methods of `neardup.Index`, of an index that is elsewhere; by `neardup.connect`.

    A call of more documents than the service takes at once is several transactions. Threads can
    share an object.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        return f"<RemoteIndex at {self._transport.url}>"

    @cached_property
    def _about(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self._transport.call("about"))

    def __len__(self) -> int:
        """Number of documents."""
        return int(self.stats()["documents"])

    def __contains__(self, id_: object) -> bool:
        """Whether there is a document with an id."""
        try:
            asked_ids = checked_id(id_)
        except ValueError:
            return False
        return bool(self._transport.call("contains", {"ids": [asked_ids]})["contained"][0])

    def __enter__(self) -> Self:
        self._transport.require_open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections; every later call raises `StoreError`."""
        self._transport.close()

    @property
    def path(self) -> None:
        """None: it is not on this machine."""
        return

    @cached_property
    def spec(self) -> Spec:
        """Its settings."""
        return Spec.from_dict(self._about["spec"])

    @cached_property
    def recipe(self) -> Recipe:
        """How texts become band keys; with the threshold."""
        found = Recipe.from_dict(self._about["recipe"])
        return dataclasses.replace(found, threshold=self.spec.threshold)

    @property
    def _items(self) -> bool:
        return self.spec.shingle.unit == "item"

    def ids(self) -> pa.Array[Any]:
        """Return the ids of all documents, in the order in which they came."""
        found = list(self._transport.lines("ids"))
        return id_values(found, self._id_type())

    def _id_type(self) -> str:
        return str(self._transport.call("about")["id_type"])

    def spelled(self, ids: Sequence[str]) -> list[Id]:
        """Return ids as the index has them, of texts that spell them; see `Index.spelled`."""
        return typed_ids(ids, self._id_type())

    def get(self, id_: Id) -> str | list[str] | None:
        """Return the text of a document; see `Index.get`."""
        found = self._transport.call("get", {"id": checked_id(id_)})
        return cast("str | list[str] | None", found["text"])

    @expanded
    def query(
        self,
        texts: object,
        *,
        threshold: float | None = None,
        top: int | None = None,
        group: object = None,
        **options: Unpack[ReadingOptions],
    ) -> pa.Table:
        """Return the documents that are similar to some texts; see `Index.query`."""
        if top is not None:
            check_integer("`top`", top, 1, 2**31)
        if threshold is not None and (
            not isinstance(threshold, int | float) or not 0 < threshold <= 1
        ):
            raise SpecError(f"threshold is {spelled(threshold)}; expected a number in (0, 1]")
        batches = self._asked(texts, options["reading"], group)
        return self._found("query", batches, {"threshold": threshold, "top": top})

    @expanded
    def first_matches(
        self, texts: object, *, group: object = None, **options: Unpack[ReadingOptions]
    ) -> pa.Table:
        """Return the first document that each text is similar to; see `Index.first_matches`."""
        batches = self._asked(texts, options["reading"], group)
        return self._found("first_matches", batches, {})

    def is_duplicate(self, text: Text, *, group: object = None) -> bool:
        """Whether a document is similar to a text."""
        return bool(self._transport.call("is_duplicate", self._one(text, group))["duplicate"])

    def explain(self, text: Text, id: Id, *, group: object = None) -> Comparison:
        """Compare a text with a document; see `Index.explain`."""
        asked = {**self._one(text, group), "id": checked_id(id)}
        found = self._transport.call("explain", asked)
        fields = {field.name for field in dataclasses.fields(Comparison)}
        return Comparison(**{name: value for name, value in found.items() if name in fields})

    @overload
    def buckets(self, minimum: int = 2, *, keys: Literal[False] = False) -> Iterator[list[Id]]: ...
    @overload
    def buckets(self, minimum: int = 2, *, keys: Literal[True]) -> Iterator[Bucket]: ...
    def buckets(
        self, minimum: int = 2, *, keys: bool = False
    ) -> Iterator[list[Id]] | Iterator[Bucket]:
        """Yield the ids of the documents in each bucket; see `Index.buckets`."""
        check_integer("`minimum`", minimum, 1, 2**31)
        if not keys:
            return self._transport.lines(f"buckets?minimum={minimum}")
        found = self._transport.lines(f"buckets?minimum={minimum}&keys=true")
        return itertools.starmap(Bucket, found)

    def check(self) -> list[str]:
        """Read all of the index; return its errors. Empty if there are none."""
        return list(self._transport.call("check", {}, long=True)["problems"])

    def stats(self) -> dict[str, Any]:
        """Return numbers of documents, segments and bytes, by name."""
        return dict(self._transport.call("stats"))

    @expanded
    def add(
        self,
        source: object,
        text: str | Sequence[str] = by_preset("text"),
        *,
        ids: Iterable[Id] | None = None,
        on_conflict: Conflict = "error",
        group: object = None,
        **options: Unpack[AddingOptions],
    ) -> int:
        """Add documents, whatever they are similar to; see `Index.add`."""
        check_conflict(on_conflict)
        reading = options["reading"]
        several = {"ids": ids, **{name: getattr(reading, name) for name in _OF_SEVERAL}}
        if is_one_document(source, text, **several):
            refuse_column(source, text)
            one = {"id": checked_id(source), **self._one(text, group), "on_conflict": on_conflict}
            return int(self._transport.call("add", one, again=False)["added"])
        count, how = 0, with_text(reading, text, self._items)
        progress = options["resources"].progress
        with ids_left_out(reading.private_ids), show_progress(progress) as listener:
            clock, within = Clock(listener), self.spec.within
            for part in self._parts(batches_of(source, ids, how, clock, within, group)):
                body = {"documents": _documents(part), "on_conflict": on_conflict}
                count += self._transport.call("add", body, again=False)["added"]
        return count

    @overload
    def add_if_new(self, id_or_batch: Id, text: Text, *, group: object = None) -> NewAnswer: ...

    @overload
    def add_if_new(
        self,
        id_or_batch: object,
        text: None = None,
        *,
        ids: Iterable[Id] | None = None,
        column: str | Sequence[str] = "text",
        group: object = None,
        **options: Unpack[AddingOptions],
    ) -> pa.Table: ...

    @expanded
    def add_if_new(
        self,
        id_or_batch: object,
        text: Text | None = None,
        *,
        ids: Iterable[Id] | None = None,
        column: str | Sequence[str] = by_preset("text"),
        group: object = None,
        **options: Unpack[AddingOptions],
    ) -> NewAnswer | pa.Table:
        """Add documents that are similar to none before them; see `Index.add_if_new`."""
        if text is not None or isinstance(id_or_batch, str | int):
            is_one_document(id_or_batch, text, ids=ids, id=options["reading"].id)
            one = {"id": checked_id(id_or_batch), **self._one(text, group)}
            answer = self._transport.call("add_if_new", one)["answers"][0]
            return NewAnswer(**answer)
        names: list[Id] = []
        of: list[Id | None] = []
        similarity: list[float] = []
        kind = None
        reading = with_text(options["reading"], column, self._items)
        with show_progress(options["resources"].progress) as listener:
            clock, within = Clock(listener), self.spec.within
            batches = batches_of(id_or_batch, ids, reading, clock, within, group)
            for part in self._parts(batches):
                body = {"documents": _documents(part)}
                found = self._transport.call("add_if_new", body, again=bool(part.ids))
                kind = found["id_type"]
                for answer in found["answers"]:
                    names.append(answer["id"])
                    of.append(answer["duplicate_of"])
                    how = answer["similarity"]
                    similarity.append(np.nan if how is None else how)
        values = np.array(similarity, dtype=np.float64)
        return answers_table(names, Decisions(of, values), kind or self._id_type())

    def remove(self, ids: Id | Iterable[Id]) -> list[Id]:
        """Remove documents, or forget that they were duplicates; see `Index.remove`."""
        several = isinstance(ids, Iterable) and not isinstance(ids, str)
        given: Any = ids if several else [ids]
        asked_ids = list(dict.fromkeys(checked_ids(given)))
        released: set[Id] = set()
        sizes = [8 if isinstance(id_, int) else len(id_.encode()) for id_ in asked_ids]
        for low, high in self._ranges(sizes) if sizes else [(0, 0)]:
            # Documents that an earlier part released are duplicates no longer.
            part = [id_ for id_ in asked_ids[low:high] if id_ not in released]
            if part or not low:
                found = self._transport.call("remove", {"ids": part}, again=False)
                released.update(found["released"])
        ordered: list[Any] = list(released.difference(asked_ids))
        return sorted(ordered)

    @expanded
    def update(
        self, id: Id, text: Text, *, if_new: bool = False, group: object = None
    ) -> UpdateAnswer:
        """Replace the text of a document; see `Index.update`."""
        asked = {"id": checked_id(id), **self._one(text, group), "if_new": if_new}
        return UpdateAnswer(**self._transport.call("update", asked, again=False))

    def merge(self, other: Index, *, on_conflict: Conflict = "error") -> int:
        """Refuse: an index is merged where it is.

        Raises:
            ArgumentError: Always.
        """
        raise ArgumentError(
            "an index can't be merged over the network",
            "stop the service, and use neardup index merge on its machine",
        )

    @expanded
    def copied(self, texts: object, **options: Unpack[ReadingOptions]) -> pa.Table:
        """Refuse: copied passages are asked for where the index is.

        Raises:
            ArgumentError: Always.
        """
        raise ArgumentError(
            "a service does not answer copied passages",
            "use neardup index copied on its machine, or Index.open(folder, readonly=True)",
        )

    def backup(self, path: object) -> None:
        """Refuse: an index is copied where it is.

        Raises:
            ArgumentError: Always.
        """
        raise ArgumentError(
            "an index can't be copied over the network",
            "use neardup index backup on its machine, also while it is served",
        )

    def compact(self, purge: bool = False) -> None:
        """Make one segment of all, while other writers wait; see `Index.compact`."""
        self._transport.call("compact", {"purge": purge}, long=True)

    # Requests.

    def _one(self, text: object, group: object) -> dict[str, str]:
        groups = groups_asked(self.spec.within, group, 1)
        return _documents(Batch([], one_text(text, self._items), groups))[0]

    def _asked(self, texts: object, reading: Reading, group: object) -> Iterator[Batch]:
        asked = [texts] if is_one(texts, self._items) else texts
        how = how_read(reading, items=self._items)
        return batches_of(asked, None, how, None, self.spec.within, group)

    def _parts(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield documents as many at a time as the service takes."""
        for batch in batches:
            _, offsets = text_buffers(batch.texts)
            for low, high in self._ranges(np.diff(offsets).tolist()):
                yield batch.part(low, high)

    def _ranges(self, sizes: list[int]) -> Iterator[tuple[int, int]]:
        """Yield ranges of entries that a call may have, by the bytes of each."""
        most, size = self._about["max_documents"], _SHARE * self._about["max_body"]
        low = taken = 0
        for high, length in enumerate(sizes):
            if high > low and (high - low >= most or taken + length > size):
                yield low, high
                low, taken = high, 0
            taken += length
        if sizes:
            yield low, len(sizes)

    def _found(self, name: str, batches: Iterator[Batch], options: dict[str, Any]) -> pa.Table:
        tables: list[pa.Table] = []
        base = 0
        names: ArrowArray | None = None
        for batch in self._parts(batches):
            asked = {"texts": batch.texts.to_pylist(), "group": _groups(batch)}
            found = self._transport.call(name, asked | options)
            if batch.ids:
                names = id_values(batch.ids, type(batch.ids[0]).__name__)
            tables.append(_matches(found, base, names))
            base += len(batch.texts)
        if tables:
            return pa.concat_tables(tables)
        self._transport.call(name, {"texts": [], **options})  # refuses what can't be asked
        return no_matches(pa.int64(), self._id_type())


def _documents(batch: Batch) -> list[dict[str, Any]]:
    columns: dict[str, list[Any] | None] = {
        "id": batch.ids or None,
        "text": batch.texts.to_pylist(),
        "group": _groups(batch),
    }
    given = {name: values for name, values in columns.items() if values is not None}
    return [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]


def _groups(batch: Batch) -> list[str] | None:
    """Return the groups of documents as the service takes them, if they have any."""
    if batch.groups is None:
        return None
    return [value or "" for value in batch.groups.to_pylist()]


def _matches(found: dict[str, Any], base: int, names: ArrowArray | None) -> pa.Table:
    rows = found["matches"]
    if not rows:
        return no_matches(pa.int64() if names is None else names.type, found["id_type"])
    row: Any = np.array([each["query"] for each in rows], dtype=np.int64)
    numbers = [
        array_of(np.array([each[name] for each in rows], dtype=np.float64))
        for name in MATCH_COLUMNS[2:]
    ]
    asked = array_of(row + base) if names is None else names.take(array_of(row))
    ids = id_values([each["id"] for each in rows], found["id_type"])
    return pa.Table.from_arrays([asked, ids, *numbers], names=MATCH_COLUMNS)
