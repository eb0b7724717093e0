"""Pipes are copied once, and then read like files."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from io_samples import FILES, TEXTS, made, texts_of

from common import core
from neardup.errors import ColumnError, EncodingError, FormatError, OutputError
from neardup.io import streams
from neardup.io.opening import open_source
from neardup.io.source import Columns

READ = """
import sys
from pathlib import Path
from neardup.io.opening import open_source
from neardup.io.source import Columns
source = open_source(
    "-", Columns(), input_format=sys.argv[1], partition_bytes=1000, copy_folder=Path(sys.argv[2])
)
assert source.rereadable
(file,) = source.files
assert file.path == "-" and file.size == source.total_bytes and file.mtime_ns == 0
for _ in range(2):
    texts = [text for part in source.partitions() for text in part.read().text.to_pylist()]
source.check_unchanged()
print(len(texts), source.total_bytes)
"""

PLAIN = [name for name in FILES if not name.endswith((".gz", ".zst"))]


@pytest.mark.parametrize("name", core(PLAIN, "a.jsonl"))
def test_stdin(tmp_path: Path, name: str) -> None:
    raw = made(tmp_path, name).read_bytes()
    format = Path(name).suffix[1:].replace("feather", "arrow")
    folder = tmp_path / "copies"
    folder.mkdir()
    # The second time nothing comes through the pipe: the copy is there.
    for given in (raw, b"")[: 2 if name == "a.jsonl" else 1]:
        done = subprocess.run(
            [sys.executable, "-c", READ, format, str(folder)],
            input=given,
            capture_output=True,
            check=True,
        )
        assert done.stdout.split() == [str(len(TEXTS)).encode(), str(len(raw)).encode()]
    (copy,) = folder.iterdir()
    assert copy.name == "input-0" and copy.read_bytes() == raw
    assert copy.stat().st_mode & 0o777 == 0o600


def fed(pipe: Path, raw: bytes) -> threading.Thread:
    if not pipe.exists():
        os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(raw))
    writer.start()
    return writer


def test_named_pipes_among_files(tmp_path: Path) -> None:
    lines = b'{"text":"a"}\n{"text":"b"}\n'
    (tmp_path / "f.jsonl").write_bytes(b'{"text":"first"}\n')
    one, two = tmp_path / "one.jsonl.gz", tmp_path / "two.jsonl"
    packed = gzip.compress(lines, mtime=0)
    threads = [fed(one, packed), fed(two, b'{"text":"c"}\n{"text":3}')]
    paths = [tmp_path / "f.jsonl", one, two]
    source = open_source(paths, Columns(), copy_folder=tmp_path)
    for thread in threads:
        thread.join()
    assert (tmp_path / "input-1").read_bytes() == packed
    assert source.rereadable and source.total_bytes == sum(f.size or 0 for f in source.files)
    parts = list(source.partitions())
    assert parts[1].texts(np.array([1]), 2).to_pylist() == ["b"]
    with pytest.raises(ColumnError, match=f"{two}: line 2: column"):  # not the name of the copy
        texts_of(source)
    source.check_unchanged()
    again = open_source(paths, Columns(), copy_folder=tmp_path)  # does not open the pipes
    assert again.files == source.files


def test_pipes_that_are_not_copied(tmp_path: Path) -> None:
    lines = b"".join(b'{"text":"note %d"}\n' % i for i in range(400))
    thread = fed(tmp_path / "one.jsonl.gz", gzip.compress(lines))
    source = open_source(tmp_path / "one.jsonl.gz", Columns(), partition_bytes=1000)
    assert texts_of(source) == [f"note {i}" for i in range(400)]
    thread.join()
    thread = fed(tmp_path / "two.gz", gzip.compress(b"words"))
    source = open_source(tmp_path / "two.gz", Columns(), input_format="text")
    (part,) = source.partitions()
    thread.join()
    for _ in range(2):
        assert part.texts(np.array([0]), 1).to_pylist() == ["words"]


def test_errors_name_the_pipe(tmp_path: Path) -> None:
    for number, (format, raw, kind, says) in enumerate(
        (
            ("text", b"words \xff", EncodingError, "not valid"),
            ("parquet", b"no table", FormatError, "not Parquet"),
        )
    ):
        pipe, folder = tmp_path / f"pipe{number}", tmp_path / str(number)
        folder.mkdir()
        thread = fed(pipe, raw)
        source = open_source(pipe, Columns(), input_format=format, copy_folder=folder)
        thread.join()
        with pytest.raises(kind, match=f"^{pipe}: {says}"):
            texts_of(source)


def test_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(streams.os, "fsync", fsync)
    folder = tmp_path / "copies"
    folder.mkdir()
    thread = fed(tmp_path / "pipe", b'{"text":"a"}\n')
    with pytest.raises(OutputError, match="no space left") as caught:
        open_source(tmp_path / "pipe", Columns(), input_format="jsonl", copy_folder=folder)
    thread.join()
    assert "free some space" in caught.value.hint
    assert not list(folder.iterdir())


def test_no_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    folder = tmp_path / "none"
    with pytest.raises(OutputError, match="no such file") as caught:
        open_source(tmp_path / "pipe", Columns(), input_format="jsonl", copy_folder=folder)
    assert "the folder exists" in caught.value.hint


def test_interrupted_while_it_waits(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", READ, "jsonl", str(tmp_path)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(b'{"text":"a"}\n')
        process.stdin.flush()
        for _ in range(600):
            if list(tmp_path.iterdir()):
                break
            time.sleep(0.05)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in process.stderr.read()
    assert not list(tmp_path.iterdir())
