"""Files of an output at a URL: listed, written, removed."""

import io
from contextlib import suppress
from pathlib import Path, PurePosixPath

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


def delete_empty_folders(url: str) -> None:
    """Remove the empty objects that stand for folders without files, at and below a URL.

    To delete an object, pyarrow makes one for the folder that it was in.

    Raises:
        OutputError: They can't be listed or removed.
    """
    try:
        place = place_of(url)
        if place.arrow is None or place.arrow.type_name != "s3":
            return
        from pyarrow.fs import FileSelector

        selector = FileSelector(place.path, recursive=True, allow_not_found=True)
        infos = place.arrow.get_file_info(selector)
        files = [PurePosixPath(info.path) for info in infos if info.is_file]
        used = {folder for file in files for folder in file.parents}
        removed: set[PurePosixPath] = set()
        folders = [info.path for info in infos if not info.is_file]
        for folder in map(PurePosixPath, sorted([place.path, *folders])):
            if folder not in used and removed.isdisjoint(folder.parents):
                removed.add(folder)
                place.arrow.delete_dir(str(folder))
    except FileNotFoundError:
        pass
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
