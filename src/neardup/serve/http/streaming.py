"""JSON lines in and out: answered as they come, and read no faster than they are answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar, cast
from urllib.parse import parse_qs

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from neardup.errors import FormatError, NeardupError, SpecError, spelled
from neardup.serve.calls import Group, Id
from neardup.serve.http.call_bodies import decoded, require_type
from neardup.serve.http.index_reading import IndexReader
from neardup.serve.http.service import Service
from neardup.serve.messages import DecidedColumns, New
from neardup.serve.problems import ServiceError, problem_of
from neardup.serve.settings import CallLimits
from neardup.serve.stream_lines import ADDED, Line, LineReading

T = TypeVar("T")
#: Lines that are answered together, at most.
_LINES = 256
_CHUNKS = 16  # parts of a body that wait


class LineSource:
    """The lines of a body, as they come.

    Args:
        receive: Where they come from.
        limits: Bytes of a line, and seconds that the next one may take.
    """

    def __init__(self, receive: Receive, limits: CallLimits) -> None:
        self._receive, self._limits = receive, limits
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue(_CHUNKS)
        self._rest = b""
        self._gone = False
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self._gone = True
                break
            if message.get("body"):
                await self._chunks.put(message["body"])
            more = message.get("more_body", False)
        await self._chunks.put(None)

    async def batch(self) -> list[bytes]:
        """Return the lines that have come, at most so many; none at the end.

        Raises:
            ClientDisconnect: The client has gone, or sends nothing.
            ServiceError: A line is too long.
        """
        while True:
            lines, self._rest = _split(self._rest)
            if lines:
                return lines
            if len(self._rest) > self._limits.body:
                raise ServiceError(413, "a line is too long", "send shorter ones")
            if self._task.done() and self._chunks.empty():
                if self._gone:
                    raise ClientDisconnect
                lines, self._rest = [self._rest] if self._rest else [], b""
                return lines
            await self._more()

    async def _more(self) -> None:
        """Wait for the end of a line, of which the begin may be there, or of all."""
        buffer = bytearray(self._rest)  # grows in place: a line may come byte by byte
        ended = False
        while True:
            try:
                async with asyncio.timeout(self._limits.seconds):
                    chunk = await self._chunks.get()
            except TimeoutError as error:
                raise ServiceError(408, "the next line took too long", "send it sooner") from error
            if chunk is None:
                await self._task
                break
            buffer += chunk
            ended = ended or b"\n" in chunk
            if (ended and self._chunks.empty()) or len(buffer) > self._limits.body:
                break
        self._rest = bytes(buffer)

    def close(self) -> None:
        """Read no more."""
        self._task.cancel()


def _split(data: bytes) -> tuple[list[bytes], bytes]:
    lines = data.split(b"\n", _LINES)
    return lines[:-1], lines[-1]


class LineAnswer:
    """An answer in JSON lines, which begins with the first of them.

    Args:
        send: Where they go.
        limits: Seconds that the client may take for each part.
    """

    def __init__(self, send: Send, limits: CallLimits) -> None:
        self._send, self._limits = send, limits
        self.begun = False

    async def write(self, data: bytes, more: bool = True) -> None:
        """Send some lines.

        Raises:
            ClientDisconnect: The client does not take them.
        """
        if not self.begun:
            self.begun = True
            headers = [(b"content-type", b"application/x-ndjson")]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            async with asyncio.timeout(self._limits.seconds):
                await self._send({"type": "http.response.body", "body": data, "more_body": more})
        except TimeoutError as error:
            raise ClientDisconnect from error

    async def fail(self, error: ServiceError) -> None:
        """End with an error: as a line, where others were sent before.

        Raises:
            ServiceError: None was: it can have a status.
        """
        if not self.begun:
            raise error
        line = msgspec.json.encode({"error": error.problem}) + b"\n"
        await self.write(line, more=False)


class StreamEndpoint:
    """`neardup stream` over HTTP: documents in, the same lines with decisions out."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = self._service
        require_type(scope, lines=True)
        given, reader = parameters(scope, ("id", "text")), service.reader()
        reading = LineReading(
            given.get("id", "id"),
            given.get("text", "text").split(","),
            service.limits.body,
            reader.items,
            "the body",
            reader.index.recipe.within,
        )
        source, answer = LineSource(receive, service.limits), LineAnswer(send, service.limits)
        try:
            await self._answer(source, reading, answer)
        except ServiceError as error:
            await answer.fail(error)
        finally:
            source.close()

    async def _answer(self, source: LineSource, reading: LineReading, answer: LineAnswer) -> None:
        writing = _Writing(self._service, answer)
        number, wrong = 1, None
        try:
            while wrong is None:
                batch, lines = list[bytes](), list[Line]()
                try:
                    if not (batch := await writing.next_of(source)):
                        break
                    lines.extend(reading.lines(batch, number))
                except NeardupError as error:  # lines before it are answered
                    wrong = problem_of(error)
                except ServiceError as error:
                    wrong = error
                number += len(batch)
                if lines:
                    await writing.write(lines)
            await writing.finish()
        finally:
            writing.cancel()
        if wrong is not None:
            raise wrong
        await answer.write(b"", more=False)


class _Writing:
    """Has lines written, some only once those before are committed: all of them, in order.

    Args:
        service: Has them written.
        answer: Where they go with their decisions.
    """

    def __init__(self, service: Service, answer: LineAnswer) -> None:
        self._service, self._answer = service, answer
        self._lines: list[Line] = []
        self._task: asyncio.Task[Any] | None = None

    async def next_of(self, source: LineSource) -> list[bytes]:
        """Return the lines that come next; those before are answered as soon as they can be."""
        coming = _task(source.batch())
        try:
            if self._task is not None:
                await asyncio.wait((coming, self._task), return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    await self.finish()
            return await coming
        finally:
            coming.cancel()

    async def write(self, lines: list[Line]) -> None:
        """Have lines written, after those before, which are answered."""
        done = await self._decided()
        columns = zip(*((line.id, line.text, line.group) for line in lines), strict=True)
        self._lines = lines
        self._task = _task(self._service.write(New(*map(list, columns))))
        if done:
            await self._answer.write(done)

    async def finish(self) -> None:
        """Answer the lines that are written."""
        if done := await self._decided():
            await self._answer.write(done)

    async def _decided(self) -> bytes:
        """Return lines with their decisions, once these are committed."""
        if self._task is None:
            return b""
        decided = cast(DecidedColumns, await self._task)
        self._task = None
        columns = zip(decided.duplicate_of, decided.similarity, strict=True)
        values = [dict(zip(ADDED, (of is None, of, how), strict=True)) for of, how in columns]
        each = zip(self._lines, values, strict=True)
        return b"".join(line.answered(value) for line, value in each)

    def cancel(self) -> None:
        """Wait for nothing more."""
        if self._task is not None:
            self._task.cancel()


def _task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Begin some work whose error nothing may ask for: else it would be logged, with an id."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


class _Asked(msgspec.Struct):
    text: str | list[str]
    id: Id | None = None
    group: Group = None


class QueryStreamEndpoint:
    """Queries in, a line for each match out, as `neardup index query` prints them."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._decoder = msgspec.json.Decoder(_Asked)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = self._service
        require_type(scope, lines=True)
        service.reader()
        given = parameters(scope, ("top", "threshold"))
        options = {
            "top": _number(given, "top", int),
            "threshold": _number(given, "threshold", float),
        }
        source, answer = LineSource(receive, service.limits), LineAnswer(send, service.limits)
        row, number, wrong = 0, 1, None
        try:
            while wrong is None and (batch := await source.batch()):
                asked, wrong = self._parsed(batch, number)
                number += len(batch)
                names = [row + i if one.id is None else one.id for i, one in enumerate(asked)]
                row += len(asked)
                found = await service.in_thread(lambda r: _matched(r, asked, names, options))  # noqa: B023
                if found:
                    await answer.write(found)
            if wrong is not None:
                raise wrong
            await answer.write(b"", more=False)
        except ServiceError as error:
            await answer.fail(error)
        except NeardupError as error:
            await answer.fail(problem_of(error))
        finally:
            source.close()

    def _parsed(self, lines: list[bytes], first: int) -> tuple[list[_Asked], ServiceError | None]:
        """Return what lines ask, the first of which has a number, up to the error of one."""
        found: list[_Asked] = []
        for number, line in enumerate(lines, first):
            if not line.strip():
                continue
            where = f"the body: line {number}"
            try:
                one = decoded(self._decoder, line, where)
            except ServiceError as error:
                return found, error
            if isinstance(one.text, list) and not self._service.reader().items:
                what = f"{where}: the text is a list of items"
                return found, ServiceError(422, what, "send a string", "InputError")
            found.append(one)
        return found, None


def _matched(
    reader: IndexReader, asked: list[_Asked], names: list[Any], options: dict[str, Any]
) -> bytes:
    if not asked:
        return b""
    texts, group = reader.asked([one.text for one in asked], [one.group for one in asked])
    found = reader.index.query(texts, group=group, **options).to_pylist()
    return b"".join(
        msgspec.json.encode({**row, "query": names[row["query"]]}) + b"\n" for row in found
    )


def _number(given: dict[str, str], name: str, kind: type) -> Any:
    if name not in given:
        return None
    try:
        return kind(given[name])
    except ValueError as error:
        raise SpecError(f"`{name}` is no number", "give one") from error


def parameters(scope: Scope, known: tuple[str, ...]) -> dict[str, str]:
    """Return what follows the question mark of an address.

    Raises:
        SpecError: A name is not known, or given twice.
        FormatError: It is not UTF-8.
    """
    try:
        given = parse_qs(
            scope["query_string"].decode("ascii"),
            keep_blank_values=True,
            max_num_fields=20,
            errors="strict",
        )
    except ValueError as error:
        raise FormatError("the parameters are not valid", "encode them as UTF-8") from error
    for name, values in given.items():
        if name not in known or len(values) > 1:
            raise SpecError(
                f"a parameter is not known, or given twice; expected {', '.join(known)}",
                "see /openapi.json",
            )
    return {name: values[0] for name, values in given.items()}


class ListEndpoint:
    """A long list, as JSON lines: ids, or buckets."""

    def __init__(self, service: Service, name: str) -> None:
        self._service, self._name = service, name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = self._service
        given = parameters(scope, ("minimum", "keys") if self._name == "buckets" else ())
        minimum, keys = _number(given, "minimum", int), given.get("keys", "false")
        if keys not in ("true", "false"):
            raise SpecError(f"`keys` is {spelled(keys)}; expected true or false")
        answer = LineAnswer(send, service.limits)

        def begin(reader: IndexReader) -> Iterator[bytes]:
            return (
                reader.ids()
                if self._name == "ids"
                else reader.buckets(2 if minimum is None else minimum, keys == "true")
            )

        gone = asyncio.create_task(_disconnected(receive))
        try:
            lines = await service.in_thread(begin)
            async for part in _parts(service, lines):
                if gone.done():
                    raise ClientDisconnect
                await answer.write(part)
        finally:
            gone.cancel()
        await answer.write(b"", more=False)


async def _disconnected(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _parts(service: Service, lines: Iterator[bytes]) -> AsyncIterator[bytes]:
    def next_lines(_: IndexReader) -> bytes:
        parts, end = [], time.monotonic() + 0.1
        for line in lines:
            parts.append(line)
            if len(parts) >= 1000 or time.monotonic() > end:
                break
        return b"".join(parts)

    while part := await service.in_thread(next_lines):
        yield part
