"""Files that are written past the cache of the system: the same bytes, however they come."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from common import Tune
from neardup.files import direct_files
from neardup.files.direct_files import ALIGNED, DirectFile

BUFFER = 4 * ALIGNED


@pytest.fixture(autouse=True)
def _small_buffer(tune: Tune) -> None:
    tune(direct_bytes=BUFFER)


def pieces(rng: np.random.Generator) -> list[bytes]:
    sizes = [0, 1, ALIGNED - 1, ALIGNED, BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER + 7]
    return [rng.bytes(int(rng.choice(sizes))) for _ in range(int(rng.integers(0, 9)))]


@pytest.mark.parametrize("seed", range(40))
def test_a_file_has_the_bytes_that_were_written(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path, every = tmp_path / "file", pieces(rng)
    path.write_bytes(b"old content" * 10_000)
    file, size = DirectFile(path), 0
    for piece in every:
        assert file.write(piece if seed % 2 else memoryview(piece)) == len(piece)
        size += len(piece)
        assert file.tell() == size
    file.close()
    file.close()
    assert path.read_bytes() == b"".join(every)


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    DirectFile(tmp_path / "file").close()
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("most", [1, 5, ALIGNED, ALIGNED + 1])
def test_writes_that_the_system_cuts_short(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a direct write of bytes that are no multiple, all others go through the cache."""
    write, data = os.write, np.random.default_rng(most).bytes(3 * BUFFER + 11)
    monkeypatch.setattr(os, "write", lambda file, some: write(file, bytes(some[: max(most, 1)])))
    file = DirectFile(tmp_path / "file")
    file._is_direct = direct_files._set_direct(file._file, False)
    file.write(data)
    file.close()
    assert (tmp_path / "file").read_bytes() == data


def test_a_file_system_that_refuses_direct_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, refused = os.write, []

    def refusing(file: int, some: memoryview) -> int:
        if not refused:
            refused.append(len(some))
            raise OSError(errno.EINVAL, "not aligned as this system wants it")
        return write(file, some)

    file = DirectFile(tmp_path / "file")
    if not file._is_direct:
        pytest.skip("the folder for tests is on a file system without direct writing")
    monkeypatch.setattr(os, "write", refusing)
    data = bytes(range(256)) * 300
    file.write(data)
    assert refused == [BUFFER]
    assert not file._is_direct
    file.close()
    assert (tmp_path / "file").read_bytes() == data


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EINVAL])
def test_errors_of_the_system_are_not_hidden(
    tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(file: int, some: memoryview) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "write", refusing)
    file = DirectFile(tmp_path / "file")
    with pytest.raises(OSError, match=os.strerror(code)):
        file.write(bytes(BUFFER))
    file.close()
    assert file.closed


def test_a_failed_write_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else bytes that are in the file already would follow themselves."""
    write, calls = os.write, []

    def refusing(file: int, some: memoryview) -> int:
        calls.append(len(some))
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "full")
        return write(file, some[:ALIGNED])

    data = np.random.default_rng(0).bytes(BUFFER)
    file = DirectFile(tmp_path / "file")
    monkeypatch.setattr(os, "write", refusing)
    with pytest.raises(OSError, match="full"):
        file.write(data)
    monkeypatch.setattr(os, "write", write)
    file.close()
    assert (tmp_path / "file").read_bytes() == data[:ALIGNED]


def test_a_closed_file_writes_to_no_other(tmp_path: Path) -> None:
    """The system gives its number to the next file that is opened."""
    file = DirectFile(tmp_path / "file")
    number = file._file
    file.close()
    with (tmp_path / "other").open("wb") as other:
        assert other.fileno() == number
        with pytest.raises(ValueError, match="closed"):
            file.write(bytes(2 * BUFFER))
    assert not (tmp_path / "other").read_bytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_leaves_the_bytes_to_its_parent(tmp_path: Path) -> None:
    file = DirectFile(tmp_path / "file")
    file.write(b"once")
    child = os.fork()
    if not child:
        file.close()
        os._exit(0)
    os.waitpid(child, 0)
    file.close()
    assert (tmp_path / "file").read_bytes() == b"once"


def test_a_file_that_can_not_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        DirectFile(tmp_path / "missing" / "file")
