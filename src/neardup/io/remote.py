"""Files at a URL: object stores and web servers, by the filesystems of pyarrow or by fsspec."""

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
from neardup.files.given_path import GivenPath
from neardup.io.remote_errors import failed

#: Packages for schemes that pyarrow itself does not open.
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
#: Fields of fsspec's filesystems that change with the content of a file.
_STAMPS = (
    *("ETag", "etag", "md5Hash", "content_md5", "blob_id", "generation", "Last-Modified"),
    *("LastModified", "last_modified", "mtime"),
)


class Url(str):
    """A URL in a list of inputs, where a plain string would be a text."""

    __slots__ = ()

    def __fspath__(self) -> str:
        return str(self)

    def __truediv__(self, inner: str) -> "Url":
        return Url(f"{self.rstrip('/')}/{inner}")


class RemoteFile(NamedTuple):
    url: str
    size: int | None  # bytes; None where it can only be read once, from its start
    stamp: int  # changes when the file does: its time in nanoseconds, or a hash of its ETag


class RemotePath(NamedTuple):
    """A URL as a filesystem takes it; ``arrow`` is None where fsspec opens it."""

    arrow: Any
    fsspec: Any
    path: str


def located(path: str | os.PathLike[str]) -> Url | GivenPath:
    """Take a path of a user: a local one, which is absolute from now on, or a URL.

    URLs get the slashes back that pathlib removed.
    """
    if isinstance(path, Url | GivenPath):
        return path
    name = os.fspath(path)
    scheme, _, rest = name.partition(":")
    scheme = scheme.lower()
    if scheme in (*_PACKAGES, "file") and rest[:1] in ("/", os.sep):
        # Of two slashes pathlib leaves one.
        rest = rest[2:] if rest.startswith("//") else rest[1:].replace(os.sep, "/")
        if scheme == "file":
            from urllib.request import url2pathname  # with HTTP and TLS, which take 15 ms

            return GivenPath(url2pathname("/" + rest.removeprefix("localhost").lstrip("/")))
        return Url(f"{scheme}://{rest}")
    if rest.startswith("//") and re.fullmatch(r"[a-z][a-z0-9+.\-]+", scheme):
        raise SpecError(f"{scheme}:// is no kind of URL that can be opened", _KNOWN)
    return GivenPath.of(name)


def again(names: Iterable[str], directory: str) -> list[Url | GivenPath]:
    """Return paths by their names as they were given, and the current directory of that moment."""
    return [Url(name) if is_remote(name) else GivenPath(name).below(directory) for name in names]


def local_target(path: str | os.PathLike[str]) -> GivenPath:
    """Take the path of a file or folder that can only be local."""
    target = located(path)
    if isinstance(target, Url):
        raise OutputError(
            f"{target} is a URL, which is not possible for this file; expected a local path",
            "name one, and copy it afterwards",
        )
    return target


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether a path that `located` returned is a URL."""
    return os.fspath(path).partition("://")[0] in _PACKAGES


def is_stored_file(name: str) -> bool:
    """Whether a string is the URL of a file in an object store, which no text is."""
    return is_remote(name) and not name.startswith(_WEB) and not re.search(r"\s", name)


def short_name(url: str) -> str:
    path = re.split(r"[?#]", url)[0] if url.startswith(_WEB) else url
    return path.rstrip("/").rpartition("/")[2]


def last_name(path: str) -> str:
    """Return the name of a file in its folder, by its path or URL."""
    return short_name(path) if is_remote(path) else Path(path).name


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
            raise InputError(f"{url}: the bucket is a pattern", "use patterns below the bucket")
        top = f"{scheme}://{'/'.join(parts[: magic.index(True)])}"
    try:
        at = remote_path(top)
        if not pattern and (found := _file_at(top, at)):
            return "", [found]
        files = [] if scheme in _WEB else files_below(top, at)
        if not files:
            check_bucket(url, at, InputNotFoundError)
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


def check_bucket(url: str, at: RemotePath, kind: type[NeardupError]) -> None:
    bucket = at.path.partition("/")[0]
    if at.arrow is not None and at.arrow.get_file_info(bucket).type.name == "NotFound":
        raise kind(f"{url}: there is no such bucket", "check its name, or create it")


def _file_at(url: str, at: RemotePath) -> RemoteFile | None:
    if at.arrow is None:
        info = at.fsspec.info(at.path)
        if info["type"] == "directory":
            return None
        found = _of_fsspec(url, info)
        return found if _sends_ranges(at, found) else found._replace(size=None)
    info = at.arrow.get_file_info(at.path)
    return RemoteFile(url, info.size, info.mtime_ns or 0) if info.is_file else None


def _of_fsspec(url: str, info: dict[str, Any]) -> RemoteFile:
    stamp = str(next((info[name] for name in _STAMPS if info.get(name)), ""))
    number = int.from_bytes(hashlib.sha256(stamp.encode()).digest()[:6], "big")
    return RemoteFile(url, info["size"], number)


def _sends_ranges(at: RemotePath, file: RemoteFile) -> bool:
    """Whether a file can be read from any byte; some web servers send only complete files."""
    if not file.url.startswith(_WEB):
        return True
    if not file.size:
        return False
    try:
        with at.fsspec.open(at.path, "rb", cache_type="none") as opened:
            opened.seek(file.size - 1)
            return len(opened.read(1)) == 1 and file.size > 1
    except ValueError:
        return False


def files_below(url: str, at: RemotePath) -> list[RemoteFile]:
    """Return all files below a folder, in no order."""
    base, root = at.path.rstrip("/"), url.rstrip("/")
    if at.arrow is None:
        found = at.fsspec.find(at.path, detail=True).items()
        return [_of_fsspec(root + path[len(base) :], info) for path, info in found]
    from pyarrow.fs import FileSelector

    infos = at.arrow.get_file_info(FileSelector(base, recursive=True, allow_not_found=True))
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
    arrow: dict[int, list[tuple[str, RemotePath]]] = {}
    for url in urls:
        at, found = remote_path(url), None
        if at.arrow is not None:
            arrow.setdefault(id(at.arrow), []).append((url, at))
            continue
        with suppress(FileNotFoundError):
            found = _file_at(url, at)
        yield url, found and found[1:]
    for pairs in arrow.values():  # pyarrow asks for several at a time
        infos = pairs[0][1].arrow.get_file_info([at.path for _, at in pairs])
        for (url, _), info in zip(pairs, infos, strict=True):
            yield url, (info.size, info.mtime_ns or 0) if info.is_file else None


def open_remote(url: str, in_order: bool = False, complete: bool = False) -> Any:
    """Open a file, as a `pyarrow.NativeFile` unless it is read in order, in small steps.

    ``complete``: the server sends only complete files.
    """
    at = remote_path(url)
    if at.arrow is not None:
        found = at.arrow.open_input_file(at.path)
    else:
        options: dict[str, Any] = {"block_size": 0} if complete else {"cache_type": "none"}
        found = pa.PythonFile(at.fsspec.open(at.path, "rb", **options), mode="r")
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


def remote_path(url: str) -> RemotePath:
    scheme, _, path = url.partition("://")
    bucket = path.partition("/")[0]
    if not bucket.removeprefix("anonymous@"):
        kind = "host" if scheme in _WEB else "bucket"
        raise SpecError(f"{url}: no {kind} is named", f"write {scheme}://{kind.upper()}/PATH")
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    arrow = _arrow_filesystem(scheme, bucket, endpoint)
    if arrow is not None:
        return RemotePath(arrow, None, path.removeprefix("anonymous@"))
    try:
        from fsspec.core import url_to_fs

        return RemotePath(None, *url_to_fs(url))
    except ImportError as error:
        package = getattr(error, "name", None)
        package = "fsspec" if package and package.startswith("fsspec") else _PACKAGES[scheme]
        raise DependencyError(
            f"{scheme}:// needs the package {package}, which is not installed",
            f"pip install {package}, or pip install 'neardup[remote]'",
        ) from error
