"""Bytes that are compressed: decompressed as they are read, and compressed again."""

import bz2
import io
import lzma
import zlib
from typing import Any, cast

import pyarrow as pa

_BLOCK = 1 << 18
#: Of xz, which takes about 30 MB of memory for each thread then.
_PRESET = 3


def decompressed(raw: Any, codec: str) -> Any:
    """Return a stream of decompressed bytes; OSError without a number where they are damaged.

    Streams that follow each other in a file are one. No more is in memory than a reader asks for.
    """
    return _Xz(raw) if codec == "xz" else pa.CompressedInputStream(raw, cast(Any, codec))


def compressed(data: bytes | memoryview, codec: str | None) -> bytes | memoryview:
    """Compress some bytes, as a stream that may follow another one in a file."""
    if codec is None:
        return data
    if codec == "gzip":
        packer = zlib.compressobj(wbits=31)
        return packer.compress(data) + packer.flush()
    if codec == "bz2":
        return bz2.compress(data)
    if codec == "xz":
        return lzma.compress(data, preset=_PRESET)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, cast(Any, codec)) as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


class _Xz(io.RawIOBase):
    """The streams of a file, with zeros between them or without."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._one: lzma.LZMADecompressor | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        found, size = b"", len(target)
        while size and not found:
            if self._one is None or self._one.eof:
                data = self._next()
                if not data:
                    break
                self._one = lzma.LZMADecompressor(lzma.FORMAT_XZ)
            elif not self._one.needs_input:
                data = b""
            elif not (data := self._raw.read(_BLOCK)):
                raise OSError("the data is cut off")
            try:
                found = self._one.decompress(data, size)
            except lzma.LZMAError as error:
                raise OSError("the data is damaged") from error
        memoryview(target)[: len(found)] = found
        return len(found)

    def _next(self) -> bytes:
        """Return bytes from the start of the next stream on; none at the end of the file."""
        if self._one is None:
            return cast(bytes, self._raw.read(_BLOCK))
        data = self._one.unused_data.lstrip(b"\0")
        while not data and (block := self._raw.read(_BLOCK)):
            data = block.lstrip(b"\0")
        return data
