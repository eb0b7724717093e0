"""Group commit: any interleaving of clients, in groups of any size, is a serial order."""

from __future__ import annotations

import math
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serve_process import require_serve, serving

import neardup
from common import Tune
from neardup.api.indexes.index_folders import made_core
from neardup.errors import NeardupError, OutputError
from neardup.index.storing.catalogue import Options
from neardup.sketch.bands import recipe_for
from neardup.testing import definition

require_serve()

from neardup.serve import messages  # noqa: E402
from neardup.serve.group_commit import Decider  # noqa: E402

WORDS = [f"w{i}" for i in range(14)]
SPEC = neardup.Spec(threshold=0.5, shingle=neardup.ShingleSpec(n=2), num_bands=6, rows=2)
#: A thousand before a release; see `make kills`.
INTERLEAVINGS = int(os.environ.get("NEARDUP_INTERLEAVINGS", "12"))


def decider() -> Decider:
    options = Options(power=False)
    return Decider(made_core(None, options, SPEC, recipe_for(SPEC), True), lambda: None)


def made_text(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randrange(0, 8)))


def made_request(draw: random.Random, client: int) -> Any:
    """One request of a client; the ids of clients overlap."""
    kind, ids = draw.random(), [f"c{draw.randrange(12)}" for _ in range(draw.choice([1, 1, 1, 3]))]
    texts = [made_text(draw) for _ in ids]
    if kind < 0.6:
        return messages.New(ids if draw.random() < 0.97 else [7] * len(ids), list(texts))
    if kind < 0.75:
        return messages.Added(ids, list(texts), draw.choice(["error", "error", "skip", "replace"]))
    if kind < 0.88:
        return messages.Update(ids[0], texts[0], draw.random() < 0.5)
    return messages.Remove(list(ids))


def serially(index: neardup.Index, what: Any) -> Any:
    """Do a request by itself, in process."""
    try:
        if isinstance(what, messages.New):
            rows = index.add_if_new(what.texts, ids=what.ids).to_pylist()
            return [(row["id"], row["duplicate_of"], row["similarity"]) for row in rows]
        if isinstance(what, messages.Added):
            return index.add(what.texts, ids=what.ids, on_conflict=what.on_conflict)  # type: ignore[arg-type]
        if isinstance(what, messages.Update):
            found = index.update(what.id, what.text, if_new=what.if_new)
            return (found.kept, found.duplicate_of, found.similarity, found.released)
        return index.remove(what.ids)
    except NeardupError as error:
        return type(error).__name__, error.message


def shown(reply: messages.Reply) -> Any:
    what = reply.what
    if isinstance(what, messages.Failed):
        return what.error, what.detail
    if isinstance(what, messages.DecidedColumns):
        return list(zip(what.ids, what.duplicate_of, what.similarity, strict=True))
    return what.value


@pytest.mark.parametrize("small", [False, True])
def test_any_interleaving_in_groups_is_a_serial_order(small: bool, tune: Tune) -> None:
    if small:  # the log becomes segments all the time
        tune(logged_documents=5)
    for seed in range(INTERLEAVINGS // 2):
        draw = random.Random(seed)
        clients = [[made_request(draw, c) for _ in range(8)] for c in range(4)]
        order = [c for c, requests in enumerate(clients) for _ in requests]
        draw.shuffle(order)
        arrived = [clients[c].pop(0) for c in order]
        grouped, index = decider(), neardup.Index.create(spec=SPEC)
        low = 0
        while low < len(arrived):
            high = low + draw.choice([1, 2, 5, 16])
            some = [
                messages.WriteRequest(low + i, math.inf, what)
                for i, what in enumerate(arrived[low:high])
            ]
            replies = grouped(some)
            assert [reply.number for reply in replies] == [each.number for each in some]
            for request, reply in zip(some, replies, strict=True):
                expected = serially(index, request.what)
                assert shown(reply) == expected, (seed, request)
            low = high
        core = grouped._core
        with core.reading() as state:
            ids = [row[0] for row in core.catalogue.rows("SELECT id FROM documents ORDER BY doc")]
            greatest = state.greatest
        assert ids == index.ids().to_pylist(), seed
        with index._core.reading() as state:
            assert state.greatest == greatest, seed


def test_what_waited_too_long_is_not_done() -> None:
    grouped = decider()
    late, soon = (messages.New([id_], ["a b c"]) for id_ in ("late", "soon"))
    replies = grouped(
        [
            messages.WriteRequest(1, time.monotonic() - 1, late),
            messages.WriteRequest(2, math.inf, soon),
        ]
    )
    assert isinstance(replies[0].what, messages.Failed) and replies[0].what.status == 503
    assert shown(replies[1]) == [("soon", None, None)]


def test_a_transaction_that_fails_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    grouped = decider()
    some = [
        messages.WriteRequest(i, math.inf, messages.New([f"d{i}"], [f"a{i} b c{i}"]))
        for i in range(3)
    ]

    def full(*_: object) -> None:
        raise OutputError("can't write: no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(grouped._core, "enter", full)
        for reply in grouped(some):
            assert isinstance(reply.what, messages.Failed)
            assert (reply.what.status, reply.what.error) == (507, "OutputError")
    assert [shown(reply)[0][1] for reply in grouped(some)] == [None] * 3


@pytest.mark.parametrize("error", [OutputError("no space left on device"), ValueError()])
def test_the_others_of_a_transaction_that_fails_are_done(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    grouped = decider()
    some = [
        messages.WriteRequest(i, math.inf, messages.New([f"d{i}"], [f"a{i} b c{i}"]))
        for i in range(7)
    ]
    store = grouped._core.store

    def full(ids: Any, bodies: Any) -> int:
        if "d4" in ids:
            raise error
        return store(ids, bodies)

    with monkeypatch.context() as patched:
        patched.setattr(grouped._core, "store", full)
        replies = grouped(some)
    failed = replies.pop(4).what
    assert isinstance(failed, messages.Failed)
    assert failed.status == (507 if isinstance(error, OutputError) else 500)
    assert [shown(reply) for reply in replies] == [
        [(f"d{i}", None, None)] for i in (0, 1, 2, 3, 5, 6)
    ]
    assert shown(grouped([some[4]])[0]) == [("d4", None, None)]


@pytest.mark.long
def test_clients_that_write_at_once_are_a_serial_order(tmp_path: Path) -> None:
    spec = neardup.Spec(threshold=0.5, shingle=neardup.ShingleSpec(n=2), method="allpairs")
    neardup.Index.create(tmp_path / "i", spec=spec).close()
    draw = random.Random(1)
    texts = {f"{c}-{n}": made_text(draw) for c in range(8) for n in range(60)}
    answers: dict[str, neardup.index.answers.NewAnswer] = {}  # type: ignore[name-defined]
    with serving(tmp_path / "i", "--workers", "2") as service:
        index = neardup.connect(service.url)

        def client(number: int) -> None:
            for id_ in (id_ for id_ in texts if id_.startswith(f"{number}-")):
                answers[id_] = index.add_if_new(id_, texts[id_])

        together(client, 8)
        kept = index.ids().to_pylist()
        assert index.check() == []
    sets = {
        id_: set(zip(text.split(), text.split()[1:], strict=False)) for id_, text in texts.items()
    }
    for id_, text in texts.items():
        if len(text.split()) == 1:
            sets[id_] = {(text,)}
    assert len(answers) == len(texts)
    for id_, answer in answers.items():
        similar = [k for k in kept if definition.jaccard(sets[id_], sets[k]) >= 0.5 and k != id_]
        if answer.kept:
            assert id_ in kept and not similar
        else:  # what was kept later comes later in the index
            assert answer.duplicate_of == similar[0]
            assert answer.similarity == definition.jaccard(sets[id_], sets[similar[0]])


def together(work: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
