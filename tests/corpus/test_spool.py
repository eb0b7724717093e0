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

from neardup.corpus import open_corpus, open_files, spool
from neardup.errors import EncodingError, FormatError, OutputError

from .conftest import texts_of
from .test_same_texts import FILES, TEXTS, made

READ = """
import sys
from pathlib import Path
from neardup.corpus import open_files
corpus = open_files("-", input_format=sys.argv[1], chunk_bytes=1000, spool=Path(sys.argv[2]))
assert corpus.rereadable
(source,) = corpus.inputs
assert source.path == "-" and source.size == corpus.total_bytes and source.mtime_ns == 0
for _ in range(2):
    texts = [text for chunk in corpus.chunks() for text in chunk.read().text.to_pylist()]
corpus.check_unchanged()
print(len(texts), corpus.total_bytes)
"""


@pytest.mark.parametrize("name", [n for n in FILES if not n.endswith((".gz", ".zst"))])
def test_stdin(tmp_path: Path, name: str) -> None:
    raw = made(tmp_path, name).read_bytes()
    format = Path(name).suffix[1:].replace("feather", "arrow")
    folder = tmp_path / "spool"
    folder.mkdir()
    # The second time nothing comes through the pipe: the copy is there.
    for given in (raw, b""):
        done = subprocess.run(
            [sys.executable, "-c", READ, format, str(folder)],
            input=given,
            capture_output=True,
            check=True,
        )
        assert done.stdout.split() == [str(len(TEXTS)).encode(), str(len(raw)).encode()]
    assert [p.name for p in folder.iterdir()] == ["input-0"]
    assert (folder / "input-0").read_bytes() == raw


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
    writers = [fed(one, gzip.compress(lines, mtime=0)), fed(two, b'{"text":"c"}\n{"text":3}')]
    paths = [tmp_path / "f.jsonl", one, two]
    corpus = open_files(paths, spool=tmp_path)
    for writer in writers:
        writer.join()
    assert (tmp_path / "input-1").read_bytes() == gzip.compress(lines, mtime=0)
    assert corpus.rereadable and corpus.total_bytes == sum(f.size for f in corpus.inputs)
    chunks = list(corpus.chunks())
    assert chunks[1].read_again(np.array([1]), 2).text.to_pylist() == ["b"]
    with pytest.raises(Exception, match=f"{two}: line 2: column"):  # not the name of the copy
        texts_of(corpus)
    corpus.check_unchanged()
    again = open_files(paths, spool=tmp_path)  # would wait for ever if it opened the pipes
    assert again.inputs == corpus.inputs


def test_plain_text_and_errors_name_the_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    writer = fed(pipe, b"words \xff")
    corpus = open_corpus(pipe, input_format="text", spool=tmp_path)
    writer.join()
    with pytest.raises(EncodingError, match=f"^{pipe}: not valid"):
        texts_of(corpus)
    pipe = tmp_path / "second"
    (tmp_path / "input-0").unlink()
    writer = fed(pipe, b"no table")
    corpus = open_corpus(pipe, input_format="parquet", spool=tmp_path)
    writer.join()
    with pytest.raises(FormatError, match=f"^{pipe}: not Parquet"):
        texts_of(corpus)


def test_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(spool.os, "fsync", fsync)
    folder = tmp_path / "spool"
    folder.mkdir()
    writer = fed(tmp_path / "pipe", b'{"text":"a"}\n')
    with pytest.raises(OutputError, match="no space left") as caught:
        open_files(tmp_path / "pipe", input_format="jsonl", spool=folder)
    writer.join()
    assert "free some space" in caught.value.hint
    assert not list(folder.iterdir())


def test_no_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="no such file") as caught:
        open_files(tmp_path / "pipe", input_format="jsonl", spool=tmp_path / "none")
    assert "create the folder" in caught.value.hint


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
