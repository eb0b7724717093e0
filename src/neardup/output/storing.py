"""Files of an output at a URL: listed, written, removed."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path

from neardup.errors import OutputError
from neardup.io.remote import check_bucket, files_below, place_of
from neardup.io.remote_errors import failed

_READ_ONLY = ("http", "https", "hf")
_BUFFER = 8 << 20  # bytes of a request


def remote_names(url: str) -> list[str]:
    """Return the names of all files below a folder that can be written, relative to it."""
    scheme = url.partition("://")[0]
    if scheme in _READ_ONLY:
        raise OutputError(
            f"{url}: {scheme}:// can only be read", "write to s3://, gs:// or abfs://"
        )
    try:
        place = place_of(url)
        check_bucket(url, place, OutputError)
        with suppress(FileNotFoundError):
            files = files_below(url, place)
            return [file.url[len(url.rstrip("/")) + 1 :] for file in files]
    except (OSError, ValueError) as error:
        raise failed(url, error, OutputError) from error
    return []


def write_remote(url: str, content: Path | bytes) -> None:
    """Write a file, a copy or some bytes; nothing is left under its name where that fails."""
    try:
        place = place_of(url)
        store = place.arrow
        if store is not None:
            target = store.open_output_stream(place.path, compression=None)
        else:
            target = place.fsspec.open(place.path, "wb")
        try:
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
                while data := file.read(_BUFFER):
                    target.write(data)
            target.close()
        except BaseException:
            # To close is to complete the file, and that can't be prevented.
            with suppress(Exception):
                target.close()
                delete_remote(url)
            raise
    except (OSError, ValueError) as error:
        raise failed(url, error, OutputError) from error


def delete_remote(url: str) -> None:
    try:
        place = place_of(url)
        if place.arrow is not None:
            place.arrow.delete_file(place.path)
        else:
            place.fsspec.rm_file(place.path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise failed(url, error, OutputError) from error
