"""Messages between the process that writes and those that answer, over a pair of sockets."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any, cast

from msgspec import Struct, msgpack

from neardup.serve.calls import DecisionList, Group, Id, Text

_LENGTH = 4  # bytes before each message


class New(Struct, tag=True, array_like=True):
    """`calls.NewDocuments`; without ids, or groups, None."""

    ids: list[Id] | None
    texts: list[Text]
    groups: list[Group] | None = None


class Added(Struct, tag=True, array_like=True):
    """`calls.AddedDocuments`; without ids, or groups, None."""

    ids: list[Id] | None
    texts: list[Text]
    on_conflict: str
    groups: list[Group] | None = None


class Update(Struct, tag=True, array_like=True):
    """`calls.NewText`."""

    id: Id
    text: Text
    if_new: bool
    group: Group = None


class Remove(Struct, tag=True, array_like=True):
    """Documents to remove."""

    ids: list[Id]


class Compact(Struct, tag=True, array_like=True):
    """`calls.Compaction`."""

    purge: bool


class Opened(Struct, tag=True, array_like=True):
    """The process that sends it is ready; it gets no answer."""


class WriteRequest(Struct, array_like=True):
    """A request to the writer.

    Attributes:
        number: Given back with the answer.
        until: When it is no longer wanted, by the monotonic clock: it is not done after that.
        what: The work.
    """

    number: int
    until: float
    what: New | Added | Update | Remove | Compact | Opened


class Failed(Struct, tag=True, array_like=True):
    """A call that was refused: nothing was changed by it."""

    status: int
    error: str
    detail: str
    hint: str


class Done(Struct, tag=True, array_like=True):
    """The answer to any other call."""

    value: Any


class DecidedColumns(Struct, tag=True, array_like=True):
    """`calls.DecisionList`, column by column; similarity is None for a kept document."""

    id_type: str
    ids: list[Id]
    duplicate_of: list[Id | None]
    similarity: list[float | None]

    def answers(self) -> DecisionList:
        """Return them document by document."""
        from neardup.serve.calls import Decision

        columns = zip(self.ids, self.duplicate_of, self.similarity, strict=True)
        each = [Decision(id_, of is None, of, similarity) for id_, of, similarity in columns]
        return DecisionList(cast(Any, self.id_type), each)


class Reply(Struct, array_like=True):
    """The answer to a request; number -1 has the process open the index of an identity."""

    number: int
    what: Failed | Done | DecidedColumns


encode = msgpack.Encoder().encode


class Frames(asyncio.Protocol, ABC):
    """One end of the pair of sockets."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def send(self, message: Struct) -> int:
        """Send a message; return its bytes. It is dropped if the other end is gone."""
        data = encode(message)
        if self.transport is not None and not self.transport.is_closing():
            self.transport.writelines((len(data).to_bytes(_LENGTH, "little"), data))
        return len(data)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        low, end = 0, len(self._buffer)
        while end - low >= _LENGTH:
            size = int.from_bytes(self._buffer[low : low + _LENGTH], "little")
            high = low + _LENGTH + size
            if high > end:
                break
            self.received(bytes(memoryview(self._buffer)[low + _LENGTH : high]))
            low = high
        if low:
            del self._buffer[:low]

    @abstractmethod
    def received(self, message: bytes) -> None:
        """Take a message."""
