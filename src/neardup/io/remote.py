"""Files at a URL: object stores and web servers, by pyarrow's own filesystems or by fsspec."""

import functools
import hashlib
import io
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from neardup.errors import (
    DependencyError,
    InputError,
    InputNotFoundError,
    NeardupError,
    OutputError,
    SpecError,
)
from neardup.io.remote_errors import failed

#: The package that opens what pyarrow itself does not, by scheme.
_PACKAGES = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "hf": "huggingface_hub",
    "http": "aiohttp",
    "https": "aiohttp",
}
_WEB = ("http", "https")  # one file each: there is nothing to list
_KNOWN = "known are s3://, gs://, abfs://, hf://, https:// and file://"
_BUFFER = 8 << 20  # bytes of a request where a file is read from its start to its end
_RETRY = timedelta(seconds=60)
#: What fsspec's filesystems give that changes with the content of a file.
_STAMPS = (
    *("ETag", "etag", "md5Hash", "content_md5", "blob_id", "generation", "Last-Modified"),
    *("LastModified", "last_modified", "mtime"),
)


class Url(str):
    """A URL in a list of inputs, where a plain string would be a text."""

    __slots__ = ()

    def __fspath__(self) -> str:
        return str(self)


class RemoteFile(NamedTuple):
    url: str
    size: int | None  # bytes; None where it can only be read once, from its start
    stamp: int  # changes when the file does: its time in nanoseconds, or a hash of its ETag


class Place(NamedTuple):
    """A URL as a filesystem takes it; ``arrow`` is None where fsspec opens it."""

    arrow: Any
    fsspec: Any
    path: str


def located(path: str | os.PathLike[str]) -> str:
    """Return a local path, or a URL, in which what pathlib took away is put back."""
    name = os.fspath(path)
    scheme, _, rest = name.partition(":")
    scheme = scheme.lower()
    if scheme in (*_PACKAGES, "file") and rest[:1] in ("/", os.sep):
        # Of two slashes pathlib leaves one.
        rest = rest[2:] if rest.startswith("//") else rest[1:].replace(os.sep, "/")
        if scheme == "file":
            from urllib.request import url2pathname  # with HTTP and TLS, which take 15 ms

            return url2pathname("/" + rest.removeprefix("localhost").lstrip("/"))
        return f"{scheme}://{rest}"
    if rest.startswith("//") and re.fullmatch(r"[a-z][a-z0-9+.\-]+", scheme):
        raise SpecError(f"{scheme}:// is no kind of URL that can be opened", _KNOWN)
    return name


def location(name: str) -> Path | Url:
    found = located(name)
    return Url(found) if is_remote(found) else Path(found)


def local_target(path: str | os.PathLike[str]) -> Path:
    """Return where to write what is written to this machine alone."""
    place = located(path)
    if is_remote(place):
        raise OutputError(
            f"{place} is a URL, and this is written to local paths only; expected a local path",
            "name one, and copy it afterwards",
        )
    return Path(place)


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether a path that `located` returned is a URL."""
    return os.fspath(path).partition("://")[0] in _PACKAGES


def is_stored_file(name: str) -> bool:
    """Whether a string is the URL of a file in an object store, which no text is."""
    return is_remote(name) and not name.startswith(_WEB) and not re.search(r"\s", name)


def short_name(url: str) -> str:
    path = re.split(r"[?#]", url)[0] if url.startswith(_WEB) else url
    return path.rstrip("/").rpartition("/")[2]


def find_remote(url: str) -> tuple[str, list[RemoteFile]]:
    """Find the files that a URL names: one file, all below a folder, or those of a pattern.

    Returns the folder that their names are relative to, empty for one file; and the files, sorted.
    """
    scheme, _, path = url.partition("://")
    parts = path.split("/")
    magic = [bool(re.search(r"[*?\[]", part)) for part in parts]
    pattern = any(magic) and scheme not in _WEB
    top = url
    if pattern:
        if magic[0]:
            raise InputError(f"{url}: the bucket is a pattern", "patterns are for what is in it")
        top = f"{scheme}://{'/'.join(parts[: magic.index(True)])}"
    try:
        place = place_of(top)
        if not pattern and (found := _file_at(top, place)):
            return "", [found]
        files = [] if scheme in _WEB else files_below(top, place)
        if not files:
            check_bucket(url, place, InputNotFoundError)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise failed(url, error) from error
    if pattern:
        files = [f for f in files if _matches(f.url.partition("://")[2].split("/"), parts)]
    if not files:
        raise InputNotFoundError(
            f"{url}: no file {'matches the pattern' if pattern else 'is there'}",
            "check the bucket and the path",
        )
    return ("" if pattern else url.rstrip("/")), sorted(files)


def check_bucket(url: str, place: Place, kind: type[NeardupError]) -> None:
    bucket = place.path.partition("/")[0]
    if place.arrow is not None and place.arrow.get_file_info(bucket).type.name == "NotFound":
        raise kind(f"{url}: there is no such bucket", "check its name, or create it")


def _file_at(url: str, place: Place) -> RemoteFile | None:
    if place.arrow is None:
        info = place.fsspec.info(place.path)
        if info["type"] == "directory":
            return None
        found = _of_fsspec(url, info)
        return found if _sends_ranges(place, found) else found._replace(size=None)
    info = place.arrow.get_file_info(place.path)
    return RemoteFile(url, info.size, info.mtime_ns or 0) if info.is_file else None


def _of_fsspec(url: str, info: dict[str, Any]) -> RemoteFile:
    stamp = str(next((info[name] for name in _STAMPS if info.get(name)), ""))
    number = int.from_bytes(hashlib.sha256(stamp.encode()).digest()[:6], "big")
    return RemoteFile(url, info["size"], number)


def _sends_ranges(place: Place, file: RemoteFile) -> bool:
    """Whether a file can be read from any byte; some web servers send nothing but the whole."""
    if not file.url.startswith(_WEB):
        return True
    if not file.size:
        return False
    try:
        with place.fsspec.open(place.path, "rb", cache_type="none") as opened:
            opened.seek(file.size - 1)
            return len(opened.read(1)) == 1 and file.size > 1
    except ValueError:
        return False


def files_below(url: str, place: Place) -> list[RemoteFile]:
    """Return all files below a folder, in no order."""
    base, root = place.path.rstrip("/"), url.rstrip("/")
    if place.arrow is None:
        found = place.fsspec.find(place.path, detail=True).items()
        return [_of_fsspec(root + path[len(base) :], info) for path, info in found]
    from pyarrow.fs import FileSelector

    infos = place.arrow.get_file_info(FileSelector(base, recursive=True, allow_not_found=True))
    files = [info for info in infos if info.is_file]
    return [RemoteFile(root + f.path[len(base) :], f.size, f.mtime_ns or 0) for f in files]


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern, where ``**`` is any number of them."""
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if parts[0].startswith(".") and not pattern[0].startswith("."):
        return False  # as in the shell
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or _matches(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def stamps(urls: Sequence[str]) -> Iterable[tuple[str, tuple[int | None, int] | None]]:
    """Yield each URL with its size and stamp as they are now; None where the file is gone."""
    arrow: dict[int, list[tuple[str, Place]]] = {}
    for url in urls:
        place, found = place_of(url), None
        if place.arrow is not None:
            arrow.setdefault(id(place.arrow), []).append((url, place))
            continue
        with suppress(FileNotFoundError):
            found = _file_at(url, place)
        yield url, found and found[1:]
    for pairs in arrow.values():  # pyarrow asks for several at a time
        infos = pairs[0][1].arrow.get_file_info([place.path for _, place in pairs])
        for (url, _), info in zip(pairs, infos, strict=True):
            yield url, (info.size, info.mtime_ns or 0) if info.is_file else None


def open_remote(url: str, in_order: bool = False, whole: bool = False) -> Any:
    """Open a file, as a `pyarrow.NativeFile` unless it is read in order, in small steps.

    ``whole``: the server has nothing but the whole file.
    """
    place = place_of(url)
    if place.arrow is not None:
        found = place.arrow.open_input_file(place.path)
    else:
        options: dict[str, Any] = {"block_size": 0} if whole else {"cache_type": "none"}
        found = pa.PythonFile(place.fsspec.open(place.path, "rb", **options), mode="r")
    return io.BufferedReader(found, _BUFFER) if in_order else found


@functools.lru_cache
def _arrow_filesystem(scheme: str, bucket: str, endpoint: str) -> Any:
    """Pyarrow's filesystem of a bucket; None where it was built without."""
    from pyarrow import fs

    anonymous = bucket.startswith("anonymous@")
    try:
        if scheme == "gs":
            return fs.GcsFileSystem(anonymous=anonymous, retry_time_limit=_RETRY)
        if scheme != "s3":
            return None
        options: dict[str, Any] = {"anonymous": anonymous}
        if endpoint:
            http, _, host = endpoint.rpartition("://")
            options |= {"scheme": http or "https", "endpoint_override": host.rstrip("/")}
        elif not (os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")):
            options["region"] = fs.resolve_s3_region(bucket.removeprefix("anonymous@"))
        return fs.S3FileSystem(**options)
    except (ImportError, AttributeError):
        return None


def place_of(url: str) -> Place:
    scheme, _, path = url.partition("://")
    bucket = path.partition("/")[0]
    if not bucket.removeprefix("anonymous@"):
        kind = "host" if scheme in _WEB else "bucket"
        raise SpecError(f"{url}: no {kind} is named", f"write {scheme}://{kind.upper()}/PATH")
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    arrow = _arrow_filesystem(scheme, bucket, endpoint)
    if arrow is not None:
        return Place(arrow, None, path.removeprefix("anonymous@"))
    try:
        from fsspec.core import url_to_fs

        return Place(None, *url_to_fs(url))
    except ImportError as error:
        package = getattr(error, "name", None)
        package = "fsspec" if package and package.startswith("fsspec") else _PACKAGES[scheme]
        raise DependencyError(
            f"{scheme}:// needs the package {package}, which is not installed",
            f"pip install {package}, or pip install 'neardup[remote]'",
        ) from error
