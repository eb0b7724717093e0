"""Small questions that come at the same time are answered at once."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

from msgspec import Struct

from neardup.serve.http.index_reading import IndexReader

_CALLS = 16  # that are answered at once, while all others wait
_Key: TypeAlias = tuple[str, int | None, float | None]


class Together:
    """Gathers the calls of one turn of the event loop.

    Measured in process: a text by itself takes 0.3 ms, of eight each one 0.05 ms.

    Args:
        reader: What answers.
    """

    def __init__(self, reader: IndexReader) -> None:
        self._reader = reader
        self._waiting: list[tuple[_Key, Any, asyncio.Future[Struct]]] = []

    async def answer(self, name: str, asked: Any) -> Struct:
        """Answer a call.

        Raises:
            NeardupError: As the index does.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Struct] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._answer)
        key = (name, getattr(asked, "top", None), getattr(asked, "threshold", None))
        self._waiting.append((key, asked, done))
        return await done

    def _answer(self) -> None:
        batch, self._waiting = self._waiting[:_CALLS], self._waiting[_CALLS:]
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._answer)
        groups: dict[_Key, list[tuple[Any, asyncio.Future[Struct]]]] = {}
        for key, asked, done in batch:
            groups.setdefault(key, []).append((asked, done))
        for (name, *_), group in groups.items():
            try:
                answers = self._reader.answer_together(name, [asked for asked, _ in group])
            except Exception as error:  # noqa: BLE001
                answers = [error] * len(group)
            for answer, (_, done) in zip(answers, group, strict=True):
                if done.done():  # the client has gone
                    continue
                if isinstance(answer, Exception):
                    done.set_exception(answer)
                else:
                    done.set_result(answer)
