"""A mixed load on an index, in processes that are killed.

Run as a program, it loads everything once and forks a process for each line that comes in: a
folder, a seed, and where to note down what is done. Every operation is noted before and after.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import neardup
from neardup.tuning import TUNING

WORDS = [f"w{i}" for i in range(60)]


def text_of(draw: random.Random, known: list[str]) -> str:
    if known and draw.random() < 0.4:
        words = draw.choice(known).split()
        words[draw.randrange(len(words))] = draw.choice(WORDS)
        return " ".join(words)
    return " ".join(draw.choices(WORDS, k=draw.randrange(5, 30)))


def load(folder: str, seed: int, notes: str) -> None:
    """Do one thing after the other, for ever."""
    draw, known = random.Random(seed), list[str]()
    number = seed * 1_000_000
    note = os.open(notes, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def say(*what: object) -> None:
        os.write(note, (json.dumps(what) + "\n").encode())

    index = neardup.Index.open(folder, durable="process", timeout=60)
    ids = index.ids().to_pylist()
    say("open")
    while True:
        kind = draw.random()
        if kind < 0.5 or not ids:
            number += 1
            text = text_of(draw, known)
            known.append(text)
            say("new", {number: text})
            found = index.add_if_new(number, text)
            say("done", found.kept)
            ids += [number] if found.kept else []
        elif kind < 0.7:
            many = {number + i: text_of(draw, known) for i in range(1, draw.randrange(2, 60))}
            number += len(many)
            say("add", many)
            index.add(list(many.values()), ids=many)
            say("done", True)
            ids += many
        elif kind < 0.82:
            gone = draw.sample(ids, min(len(ids), draw.randrange(1, 4)))
            say("remove", dict.fromkeys(gone))
            index.remove(gone)
            say("done", True)
            ids = [id_ for id_ in ids if id_ not in gone]
        elif kind < 0.94:
            id_, text = draw.choice(ids), text_of(draw, known)
            say("update", {id_: text})
            index.update(id_, text)
            say("done", True)
        else:
            say("compact", {})
            index.compact(purge=draw.random() < 0.5)
            say("done", True)


def replay(stored: dict[int, str], notes: Path) -> tuple[dict[int, str], dict[int, str] | None]:
    """Return what must be there; and what may be there instead, of an operation not finished."""
    maybe: dict[int, str] | None = None
    for line in notes.read_text().splitlines():
        kind, *rest = json.loads(line)
        if kind == "done":
            if rest[0]:
                assert maybe is not None
                stored = maybe
            maybe = None
        elif kind != "open":
            maybe = dict(stored)
            for name, text in rest[0].items():
                maybe.pop(int(name), None)
                if text is not None:
                    maybe[int(name)] = text
    return stored, maybe


def main() -> None:
    """Fork a process for each line; answer with its number."""
    warm = neardup.Index.create()
    warm.add_if_new(["one two three four five six", "one two three four five six"], ids=[1, 2])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        folder, seed, notes = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                with TUNING.replaced(logged_documents=25):  # segments and merges now and then
                    load(folder, seed, notes)
            finally:
                os._exit(3)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        os.waitpid(pid, 0)
        sys.stdout.write("ended\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
