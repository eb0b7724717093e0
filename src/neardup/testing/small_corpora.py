"""Corpora of some hundreds of documents in which the steps of an engine can go wrong."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.spec import PRESETS, ShingleSpec, Spec, preset

#: Rules of keeping.
KEEPS = ("first", "longest", "max:quality", "min:quality")
ORDERS = ("rank", "-rank", "length", "-length")
#: Ids by their kind, in ascending order.
IDS: dict[str, Callable[[int], pa.Array[Any]]] = {
    "int": lambda n: pa.array([3 * i - 7 for i in range(n)], pa.int64()),
    "large uint64": lambda n: pa.array([2**63 + 5 * i for i in range(n)], pa.uint64()),
    "numeric text": lambda n: pa.array([str(7 * i) for i in range(n)]),
    "hex": lambda n: pa.array([f"{0xABC000 + i:x}" for i in range(n)]),
    "uuid": lambda n: pa.array([str(uuid.UUID(int=(i << 100) + 99)) for i in range(n)]),
    "binary": lambda n: pa.array([i.to_bytes(3, "big") + b"\xff" for i in range(n)], pa.binary()),
}
#: Combinations of both: all kinds of ids, and all rules.
CASES = [(kind, "first") for kind in IDS] + [("int", keep) for keep in KEEPS[1:]]
#: How `random_spec` makes shingles.
SHINGLES = (
    ShingleSpec(),
    ShingleSpec(n=2),
    ShingleSpec(n=1),
    ShingleSpec(n=3, stem="english"),
    ShingleSpec(unit="char", n=3),
    ShingleSpec(unit="char", n=5, keep_case=True),
    ShingleSpec(n=2, bag=True),
    ShingleSpec(n=2, keep_case=True),
)
#: Texts in `noisy` documents that may be ignored.
_IGNORE = (r"\d{1,2}\.\d{1,2}\.\d{4}", r"#[0-9a-f]+")
_HEAD = "Klinik Süd\nAbteilung für Innere Medizin"
_WORDS = [f"{a}{b}" for a in "abcdefgh" for b in ("lo", "ri", "tan", "us")]
_OTHERS = ["größe", "naïve", "病院", "の検査", "αβγς", "İstanbul", "x_1", "42", "e\u0301t", "ไทย"]


def _texts() -> list[str | None]:
    """Return pairs near the threshold, exact copies, a family, short and empty texts."""
    rng = np.random.default_rng(27)
    found: list[str | None] = [None, "", "one two", "One, two!"]
    for number in range(150):
        words = [f"w{v}" for v in rng.integers(0, 5000, 60)]
        found.append(" ".join(words))
        changed = list(words)
        for at in rng.choice(60, rng.integers(0, 4), replace=False):
            changed[at] = f"x{rng.integers(0, 5000)}"
        found.append(" ".join([*changed, "more"] if number % 3 else changed).upper())
    template = [f"t{i}" for i in range(50)]
    for _ in range(60):
        for at in rng.choice(50, 2, replace=False):
            template[at] = f"y{rng.integers(0, 50)}"
        found.append(" ".join(template))
    return [found[i] for i in rng.permutation(len(found))]


def similar_texts(kind: str = "int") -> pa.Table:
    """Return 364 documents: ``id`` of a kind of `IDS`, ``text``, ``quality`` (int) and ``group``.

    There are pairs with a similarity near 0.7, exact copies, a family, short and empty texts.
    """
    texts = _texts()
    rng = np.random.default_rng(5)
    quality = rng.integers(0, 40, len(texts))
    columns: dict[str, Any] = {
        "text": texts,
        "quality": pa.array(quality),
        "group": _groups(rng, len(texts)),
    }
    return pa.table({"id": IDS[kind](len(texts)), **columns})


def template_texts(documents: int) -> list[str]:
    """Return a family near the threshold, in buckets too large to list all pairs; 50 come twice."""
    rng = np.random.default_rng(8)
    template = " ".join(f"w{i}" for i in range(40))
    texts = [
        f"{template} " + " ".join(f"x{v}" for v in rng.integers(0, 20, 6)) for _ in range(documents)
    ]
    return texts + [text.upper() for text in texts[-50:]]


def ignoring() -> Spec:
    """Return settings with which `noisy` documents have the result of those without noise."""
    return Spec().replace(ignore=_IGNORE, stop_passages=(_HEAD,))


def noisy(documents: pa.Table) -> pa.Table:
    """Return documents with text that is ignored between the words, and before them."""
    rng = np.random.default_rng(5)

    def with_noise(text: str | None) -> str | None:
        words = (text or "").split()
        for _ in range(int(rng.integers(0, 12))):
            noise = (f"{rng.integers(1, 28)}.{rng.integers(1, 12)}.2020", f"#{rng.integers(10**6)}")
            words.insert(int(rng.integers(0, len(words) + 1)), noise[int(rng.integers(0, 2))])
        head = _HEAD.upper() if rng.random() < 0.5 else ""
        return f"{head}\n{' '.join(words)}"

    texts = [with_noise(text) for text in documents.column("text").to_pylist()]
    return documents.set_column(documents.column_names.index("text"), "text", pa.array(texts))


def random_texts(rng: np.random.Generator, documents: int) -> list[str | None]:
    """Return texts of which many are similar to others; of many scripts, and some are empty."""
    template = list(rng.choice(_WORDS, 25))
    made: list[str | None] = []
    for _ in range(documents):
        kind = rng.random()
        if kind < 0.05:
            made.append(["", None, " \n", "...", "?!"][rng.integers(5)])
            continue
        if kind < 0.12:
            made.append(" ".join(rng.choice(_WORDS, rng.integers(1, 4))))
            continue
        sources = [t for t in made if t and len(t) > 20]
        if sources and kind < 0.3:
            copy = sources[rng.integers(len(sources))]
            made.append([copy, copy.upper(), copy.replace(" ", ",  ")][rng.integers(3)])
            continue
        if sources and kind < 0.6:
            words = sources[rng.integers(len(sources))].split()
        elif kind < 0.8:
            words = list(template)
        else:
            words = list(rng.choice(_WORDS, rng.integers(5, 40)))
        for _ in range(rng.integers(0, 6)):
            at = rng.integers(len(words) + 1)
            words.insert(at, str(rng.choice(_OTHERS if rng.random() < 0.3 else _WORDS)))
            if len(words) > 3 and rng.random() < 0.7:
                del words[rng.integers(len(words))]
        made.append(" ".join(words))
    return made


def random_documents(rng: np.random.Generator, documents: int) -> pa.Table:
    """Return random texts with ids in random order.

    Columns are ``id`` (string), ``text``, ``quality`` (float64, with nulls), ``rank`` (int64), and
    ``group`` (string, with nulls and empty ones).
    """
    ids = [f"id-{n:04}" for n in rng.permutation(documents)]
    quality = rng.integers(0, 5, documents).astype(float)
    return pa.table(
        {
            "id": ids,
            "text": pa.array(random_texts(rng, documents), pa.string()),
            "quality": pa.array(quality, mask=rng.random(documents) < 0.1),
            "rank": pa.array(rng.permutation(documents), pa.int64()),
            "group": pa.array(_groups(rng, documents), pa.string()),
        }
    )


def _groups(rng: np.random.Generator, documents: int) -> list[str | None]:
    return [("a", "a", "a", "b", "b", "7", "", None)[k] for k in rng.integers(0, 8, documents)]


def random_spec(rng: np.random.Generator) -> Spec:
    """Return random settings, for `random_documents`."""

    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    if rng.random() < 0.2:
        base = preset(one_of(*PRESETS))
        return base.replace(keep=one_of("first", "max:quality"), order_by=one_of(None, "rank"))
    spec = Spec(
        shingle=SHINGLES[rng.integers(len(SHINGLES))],
        scheme=one_of("affine32", "oph32"),
        seed=int(rng.integers(5)),
        threshold=float(one_of(0.3, 0.5, 0.7, 0.7, 0.8, 1.0)),
        keep=one_of("first", "first", "longest", "max:quality", "min:quality"),
        order_by=one_of(None, None, None, *ORDERS),
        within=one_of(None, None, "group"),
        method=one_of("lsh", "lsh", "lsh", "allpairs"),
        pairs=one_of("kept", "kept", "all"),
        cluster=one_of("star", "star", "star", "bounded", "components"),
    )
    if spec.method == "lsh" and spec.cluster == "bounded":
        spec = replace(spec, cluster=one_of("bounded", "disjoint-sets"))
    if spec.method == "lsh" and rng.random() < 0.5:
        spec = replace(spec, num_bands=int(rng.integers(1, 12)), rows=int(rng.integers(1, 4)))
    return spec
