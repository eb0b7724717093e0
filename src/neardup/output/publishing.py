"""An output folder at a URL: made in a local folder, and copied when it is done."""

import io
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path, PurePosixPath

from neardup.errors import NeardupError, OutputError, SpecError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import system_errors
from neardup.files.temporary_folder import keep as keep_folder
from neardup.files.temporary_folder import temporary_folder
from neardup.io import remote
from neardup.io.remote_errors import failed
from neardup.result_record import RECORD, record_of
from neardup.state.run_state import RUN_FOLDER, RunState
from neardup.threads import in_threads

#: Is there from the beginning of a run to its end: that it can be written shows at once.
_MARK = ".neardup-incomplete"
_WRITERS = 8
_BUFFER = 8 << 20  # bytes of a request
_READ_ONLY = ("http", "https", "hf")
_RESULT = "result"  # name of the output folder in a work folder


@contextmanager
def local_output(
    out: str | os.PathLike[str],
    writes: Iterable[str],
    *,
    overwrite: bool,
    resume: bool,
    work: GivenPath | None,
    keep: bool,
) -> Iterator[GivenPath]:
    """Give the local folder to write an output to; at the end it is where it belongs.

    That is ``out`` itself, unless that is a URL; then it is in ``work``, or a temporary folder.
    ``writes`` are the names of files and folders that may be written there.
    """
    target = remote.located(out)
    if isinstance(target, GivenPath):
        if work is not None:
            raise SpecError(
                "`work` is for an output at a URL, and it is a local folder",
                "leave it out: the state of a run is in that folder",
            )
        with target.in_messages():
            yield target
        return
    target = remote.Url(target.rstrip("/"))
    # The work folder first: who is refused there has not taken the mark of the run at work.
    with _work_folder(work, resume) as folder, folder.in_messages():
        mark = _check_target(target, overwrite, resume, writes)
        try:
            yield folder / _RESULT
            _publish((folder / _RESULT).path, target, mark)
            if not keep:
                clear_work(folder)
        finally:
            with suppress(NeardupError):  # the first error counts
                _check_mark(target, mark)
                delete_remote(f"{target}/{_MARK}")
                delete_empty_folders(target)


def clear_work(work: GivenPath) -> None:
    """Remove the files of a complete run from its work folder."""
    shutil.rmtree(work / _RESULT, ignore_errors=True)


@contextmanager
def _work_folder(work: GivenPath | None, resume: bool) -> Iterator[GivenPath]:
    """Give a folder for a run whose output goes elsewhere; one that was made here is removed."""
    if work is not None:
        with work.in_messages():
            with system_errors(work.path):
                work.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            state = RunState.create(work.path / RUN_FOLDER, resumable=False)
            with closing(state):
                try:
                    yield work
                finally:
                    state.remove()
        return
    if resume:
        raise SpecError(
            "`resume` needs the folder in which the run was interrupted", "name it with `work`"
        )
    with temporary_folder("output") as folder:
        try:
            yield GivenPath(str(folder))
        except NeardupError as error:
            if (folder / _RESULT / RECORD).exists():  # all is done but the copy, which is not lost
                keep_folder(folder)
                error.hint = f"the output is in {folder / _RESULT}; copy it, or remove it"
            elif "resume=True" in error.hint:
                error.hint = "name a folder with `work`, and resume the run from there"
            raise


def _check_target(out: str, overwrite: bool, resume: bool, writes: Iterable[str]) -> bytes:
    """Refuse a URL that can't or must not be written, before any work is done; return our mark."""
    there = set(remote_names(out)) - {_MARK}
    ours = _listed(out)
    if there and ours is None and not resume:
        raise OutputError(f"{out} exists, and neardup did not write it", "name another output")
    if there and not overwrite and not (resume and RECORD not in there):
        raise OutputError(f"{out} exists", "use overwrite=True, or name another output")
    for name in sorted(there - (ours or set())):
        if name.split("/")[0] in set(writes) and not resume:
            raise OutputError(
                f"{out}/{name} is a file that neardup did not write", "name another output"
            )
    mark = uuid.uuid4().hex.encode()
    write_remote(f"{out}/{_MARK}", mark)
    return mark


def _check_mark(out: str, mark: bytes) -> None:
    """Refuse to write where a run that began later has written another mark, or has removed it."""
    url = f"{out}/{_MARK}"
    with _reaching(url), suppress(FileNotFoundError), remote.open_remote(url) as file:
        if file.read() == mark:
            return
    raise OutputError(
        f"{out}: another run that began later writes there", "let one run at a time write to it"
    )


def _publish(folder: Path, out: str, mark: bytes) -> None:
    """Copy an output folder to its URL, ``run.json`` last; replaced files are removed."""
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    names = [n for n in names if n.split("/")[0] != RUN_FOLDER and n != RECORD]
    old = _listed(out) or set()

    def write(name: str) -> None:
        write_remote(f"{out}/{name}", folder / name)

    _check_mark(out, mark)
    if RECORD in old:
        delete_remote(f"{out}/{RECORD}")
    for _ in in_threads(write, names, _WRITERS):
        pass
    for name in sorted(old.difference(names, {RECORD})):
        delete_remote(f"{out}/{name}")
    _check_mark(out, mark)
    write(RECORD)


def _listed(out: str) -> set[str] | None:
    """Return the files that the record of an earlier result lists; None without a record."""
    url = f"{out}/{RECORD}"
    if RECORD not in remote_names(out):
        return None
    with _reaching(url), remote.open_remote(url) as file:
        written = file.read()
    record = record_of(written, url)
    if record is None:
        return None
    found: set[str] = set()
    for name, inner in record["files"].items():
        if isinstance(inner, int):  # too many to be listed
            found.update(each for each in remote_names(out) if each.startswith(f"{name}/"))
        else:
            found.update([name] if inner is None else [f"{name}/{each}" for each in inner])
    return found


@contextmanager
def _reaching(url: str) -> Iterator[remote.RemotePath]:
    """Give the filesystem and path of a URL; failures raise OutputError."""
    try:
        yield remote.remote_path(url)
    except (OSError, ValueError) as error:
        raise failed(url, error, OutputError) from error


def remote_names(url: str) -> list[str]:
    """Return the names of all files below a folder that can be written, relative to it."""
    scheme = url.partition("://")[0]
    if scheme in _READ_ONLY:
        raise OutputError(
            f"{url}: {scheme}:// can only be read", "write to s3://, gs:// or abfs://"
        )
    with _reaching(url) as at:
        remote.check_bucket(url, at, OutputError)
        with suppress(FileNotFoundError):
            return [file.url[len(url.rstrip("/")) + 1 :] for file in remote.files_below(url, at)]
    return []


def write_remote(url: str, content: Path | bytes) -> None:
    """Write a file, a copy or some bytes; nothing is left under its name where that fails."""
    with _reaching(url) as at:
        if at.arrow is not None:
            target = at.arrow.open_output_stream(at.path, compression=None)
        else:
            target = at.fsspec.open(at.path, "wb")
        try:
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
                shutil.copyfileobj(file, target, _BUFFER)
            target.close()
        except BaseException:
            # To close is to complete the file, and that can't be prevented.
            with suppress(Exception):
                target.close()
                delete_remote(url)
            raise


def delete_empty_folders(url: str) -> None:
    """Remove the empty objects of folders without files, at and below a URL.

    To delete an object, pyarrow makes one for the folder that it was in.
    """
    with _reaching(url) as at, suppress(FileNotFoundError):
        if at.arrow is None or at.arrow.type_name != "s3":
            return
        from pyarrow.fs import FileSelector

        selector = FileSelector(at.path, recursive=True, allow_not_found=True)
        infos = at.arrow.get_file_info(selector)
        files = [PurePosixPath(info.path) for info in infos if info.is_file]
        used = {folder for file in files for folder in file.parents}
        removed: set[PurePosixPath] = set()
        folders = [info.path for info in infos if not info.is_file]
        for folder in map(PurePosixPath, sorted([at.path, *folders])):
            if folder not in used and removed.isdisjoint(folder.parents):
                removed.add(folder)
                at.arrow.delete_dir(str(folder))


def delete_remote(url: str) -> None:
    with _reaching(url) as at, suppress(FileNotFoundError):
        if at.arrow is not None:
            at.arrow.delete_file(at.path)
        else:
            at.fsspec.rm_file(at.path)
