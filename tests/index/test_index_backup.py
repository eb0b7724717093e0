"""A copy of an index that others write to is of one moment, and whole."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import neardup
from common import Tune
from neardup.cli import main
from neardup.errors import OutputError


@pytest.mark.parametrize("store_text", [False, True])
def test_a_copy_while_another_one_writes(store_text: bool, tmp_path: Path, tune: Tune) -> None:
    tune(logged_documents=20)  # segments come and go all the time
    texts = [f"w{i % 91} x{i % 89} y{i % 83} z{i}" for i in range(2000)]
    path, stop = tmp_path / "i", threading.Event()
    neardup.Index.create(path, shingle="word:2", threshold=0.5, store_text=store_text).close()

    def write() -> None:
        with neardup.Index.open(path, durable="process") as index:
            for low in range(0, len(texts), 10):
                index.add_if_new(texts[low : low + 10], ids=range(low, low + 10))
                if stop.is_set():
                    return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with neardup.Index.open(path, readonly=True) as index:
            for number in range(6):
                index.backup(tmp_path / f"copy{number}")
    finally:
        stop.set()
        writer.join()
    for number in range(6):
        with neardup.Index.open(tmp_path / f"copy{number}") as copy:
            assert copy.check() == []
            there = copy.stats()
            count = there["documents"] + there["duplicates"]
            expected = neardup.Index.create(shingle="word:2", threshold=0.5, store_text=store_text)
            expected.add_if_new(texts[:count], ids=range(count))
            assert copy.ids().to_pylist() == expected.ids().to_pylist()
            assert copy.add_if_new(texts[:40], ids=range(40)).equals(
                expected.add_if_new(texts[:40], ids=range(40))
            )


def test_the_command_and_an_index_in_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with neardup.Index.create(shingle="word:2", threshold=0.5) as index:
        index.add(["a b c d"], ids=["one"])
        index.compact()
        index.backup(tmp_path / "i")
    main(["index", "backup", str(tmp_path / "i"), str(tmp_path / "j")])
    with neardup.Index.open(tmp_path / "j") as copy:
        assert (copy.get("one"), copy.check()) == ("a b c d", [])
        with pytest.raises(OutputError, match="exists already"):
            copy.backup(tmp_path / "i")
    with pytest.raises(SystemExit):
        main(["index", "backup", str(tmp_path / "i"), str(tmp_path / "j")])
    assert "exists already" in capsys.readouterr().err
