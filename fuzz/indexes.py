"""Damaged files of an index: it answers as before, or says in one line that it is damaged."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import neardup
from fuzz import paths  # noqa: F401  (the tests can be imported)
from fuzz.mutate import mutate
from neardup.errors import NeardupError
from neardup.index import merging, transactions


def make(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return which file is damaged, and the seed of the damage."""
    kinds = ["sqlite", "segment", "sqlite of passages", "segment of passages"]
    return kinds[rng.integers(4)], rng.bytes(8)


def check(ending: str, data: bytes, folder: Path) -> None:
    """Damage a file; read everything, then write."""
    ending, _, kind = ending.partition(" of ")
    whole, texts, copied = _index(bool(kind))
    rng = np.random.default_rng(list(data))
    place = folder / os.urandom(4).hex()
    shutil.copytree(whole, place)
    files = [path for path in sorted(place.iterdir()) if ending in path.name]
    path = files[rng.integers(len(files))]
    path.write_bytes(mutate(path.read_bytes(), whole.name.encode(), rng))
    problems, wrong = ["it can't be opened"], False
    try:
        with neardup.Index.open(place, readonly=True) as index:
            problems = index.check()
            assert "\n" not in "".join(problems), "a problem of several lines"
            wrong = {id_: index.get(id_) for id_ in texts} != texts
            for id_, text in texts.items():
                wrong |= id_ not in index.query(text).column("id").to_pylist()
            wrong |= copied is not None and not index.copied(list(texts.values())).equals(copied)
    except NeardupError as error:
        _one_line(error)
        wrong = True
    assert problems or not wrong, "it answers wrongly, and nothing is said to be damaged"
    try:
        with neardup.Index.open(place, durable="process") as index:
            index.add_if_new(1000, "a new text of some words")
            index.compact(purge=True)
    except NeardupError as error:
        _one_line(error)
        wrong = True
    assert problems or not wrong, "it can't be written, and nothing is said to be damaged"


def _one_line(error: NeardupError) -> None:
    assert "\n" not in f"{error}{error.hint}", "an error of several lines"


@functools.cache
def _index(passages: bool) -> tuple[Path, dict[int, str], pa.Table | None]:
    """An index with segments, documents that are in none, and removed ones; and what is copied.

    Of one that finds copied passages, nothing can be removed.
    """
    place = Path(tempfile.mkdtemp(prefix="neardup-fuzz-")) / "index"
    rng = np.random.default_rng(3)
    words = [f"w{i}" for i in range(200)]
    texts = {i: " ".join(rng.choice(words, 25)) for i in range(70)}
    for i in range(1, 70, 3):  # half of a text comes again
        texts[i] = f"{texts[i - 1][:90]} {texts[i]}"
    before = transactions.LOGGED, merging.LOGGED, transactions.COPIES_BATCHED
    transactions.LOGGED = merging.LOGGED = transactions.COPIES_BATCHED = 50
    copied = None
    with neardup.Index.create(place, threshold=0.6, passages=5 if passages else None) as index:
        index.add([texts[i] for i in range(50)], ids=range(50))
        index.add([texts[i] for i in range(50, 70)], ids=range(50, 70))
        if passages:
            copied = index.copied(list(texts.values()))
        else:
            index.remove([3, 60])
            del texts[3], texts[60]
    transactions.LOGGED, merging.LOGGED, transactions.COPIES_BATCHED = before
    return place, texts, copied
