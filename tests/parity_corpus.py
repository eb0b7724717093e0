"""One corpus, settings, and what the definition says of them: each engine must find just that."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pyarrow as pa

import oracle
from neardup.sketch.bands import recipe_for
from neardup.sketch.sketcher import Sketcher
from neardup.sketch.tokenising import shingle_sets
from neardup.spec import Spec

#: A row of an answer: id, kept, duplicate_of, similarity.
Row = tuple[Any, bool, Any, float | None]

KEEPS = ("first", "longest", "max:quality", "min:quality")
#: Ids by their kind; in ascending order, on one machine and on Spark.
IDS: dict[str, Any] = {
    "int": lambda n: pa.array([3 * i - 7 for i in range(n)], pa.int64()),
    "large uint64": lambda n: pa.array([2**63 + 5 * i for i in range(n)], pa.uint64()),
    "numeric text": lambda n: pa.array([str(7 * i) for i in range(n)]),
    "hex": lambda n: pa.array([f"{0xABC000 + i:x}" for i in range(n)]),
    "uuid": lambda n: pa.array([str(uuid.UUID(int=(i << 100) + 99)) for i in range(n)]),
    "binary": lambda n: pa.array([i.to_bytes(3, "big") + b"\xff" for i in range(n)], pa.binary()),
}
#: What may be ignored in `noisy` texts.
_IGNORE = (r"\d{1,2}\.\d{1,2}\.\d{4}", r"#[0-9a-f]+")
_HEAD = "Klinik Süd\nAbteilung für Innere Medizin"
#: What is combined: all kinds of ids, and all rules of what is kept.
CASES = [(kind, "first") for kind in IDS] + [("int", keep) for keep in KEEPS[1:]]


def texts() -> list[str | None]:
    """Pairs of a similarity around the threshold, exact copies, a family, short and empty texts."""
    rng = np.random.default_rng(27)
    found: list[str | None] = [None, "", "one two", "One, two!"]
    for number in range(150):
        words = [f"w{v}" for v in rng.integers(0, 5000, 60)]
        found.append(" ".join(words))
        changed = list(words)
        for place in rng.choice(60, rng.integers(0, 4), replace=False):
            changed[place] = f"x{rng.integers(0, 5000)}"
        found.append(" ".join([*changed, "more"] if number % 3 else changed).upper())
    template = [f"t{i}" for i in range(50)]
    for _ in range(60):
        for place in rng.choice(50, 2, replace=False):
            template[place] = f"y{rng.integers(0, 50)}"
        found.append(" ".join(template))
    return [found[i] for i in rng.permutation(len(found))]


def template_texts(documents: int) -> list[str]:
    """A family around the threshold, in buckets too large to list all pairs; some come twice."""
    rng = np.random.default_rng(8)
    template = " ".join(f"w{i}" for i in range(40))
    texts = [
        f"{template} " + " ".join(f"x{v}" for v in rng.integers(0, 20, 6)) for _ in range(documents)
    ]
    return texts + [text.upper() for text in texts[-50:]]


def table(kind: str) -> pa.Table:
    rows = texts()
    quality = np.random.default_rng(5).integers(0, 40, len(rows))
    return pa.table({"id": IDS[kind](len(rows)), "text": rows, "quality": pa.array(quality)})


def expected(rows: pa.Table, keep: str = "first", old: pa.Table | None = None) -> list[Row]:
    """What the definition says with default settings; the documents of an old corpus stay."""
    every = rows if old is None else pa.concat_tables([old, rows])
    first = 0 if old is None else old.num_rows
    given = [text or "" for text in every.column("text").to_pylist()]
    spec = Spec(keep=keep)
    sketches = Sketcher(recipe_for(spec))(pa.array(given, pa.large_string()))
    by = {
        "first": [0] * len(given),
        "longest": [-len(text) for text in given],
        "max:quality": [-value for value in every.column("quality").to_pylist()],
        "min:quality": every.column("quality").to_pylist(),
    }[keep]
    order = sorted(range(len(given)), key=lambda i: (i >= first, by[i] if i >= first else 0, i))
    filled = [i for i in order if sketches.tokens[i]]
    values, offsets = shingle_sets(given)
    sets = [set(part.tolist()) for part in np.split(values, offsets[1:-1])]
    names = [list(enumerate(sketches.keys[i].tolist())) for i in filled]
    edges = oracle.edges([sets[i] for i in filled], oracle.pairs_in_buckets(names), spec.threshold)
    stay = sum(i < first for i in filled)
    target, similarity = oracle.resolve(len(filled), edges, stay)
    ids = every.column("id").to_pylist()
    answers = {
        i: (ids[filled[of]], how)
        for i, of, how in zip(filled, target, similarity, strict=True)
        if of >= 0
    }
    return [
        (ids[i], i not in answers, *answers.get(i, (None, None))) for i in range(first, len(ids))
    ]


def found(clusters: pa.Table, names: tuple[str, ...] = ("doc_id",)) -> list[Row]:
    """The answer in a table, as rows that can be compared."""
    columns = (*names, "kept", "duplicate_of", "similarity")
    return list(zip(*(clusters.column(name).to_pylist() for name in columns), strict=True))


def ignoring() -> Spec:
    """Settings by which a `noisy` corpus has the answer of the corpus without noise."""
    return Spec().replace(ignore=_IGNORE, stop_passages=(_HEAD,))


def noisy(rows: pa.Table) -> pa.Table:
    """The rows, their texts with what is ignored between words and before them."""
    rng = np.random.default_rng(5)

    def with_noise(text: str | None) -> str | None:
        words = (text or "").split()
        for _ in range(int(rng.integers(0, 12))):
            noise = (f"{rng.integers(1, 28)}.{rng.integers(1, 12)}.2020", f"#{rng.integers(1e6)}")
            words.insert(int(rng.integers(0, len(words) + 1)), noise[int(rng.integers(0, 2))])
        head = _HEAD.upper() if rng.random() < 0.5 else ""
        return f"{head}; {' '.join(words)}"

    texts = [with_noise(text) for text in rows.column("text").to_pylist()]
    return rows.set_column(rows.schema.get_field_index("text"), "text", pa.array(texts))
