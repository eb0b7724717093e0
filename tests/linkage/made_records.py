"""Records that tests make, and the obvious similarities in plain Python."""

from __future__ import annotations

import math
import re
from typing import Any

import pyarrow as pa

from neardup.synth.persons import FIELDS, PersonSpec, person_truth, persons

__all__ = ["NAMES", "fields_similarity", "grams", "made_persons", "true_pairs"]

NAMES = ["given_name", "surname", "birth:digits", "street", "suburb", "postcode", "phone:digits"]


def made_persons(count: int, seed: int = 0, **more: Any) -> tuple[pa.Table, pa.Table]:
    """Persons and their truth."""
    spec = PersonSpec(count, seed, **more)
    return persons(spec), person_truth(spec)


def true_pairs(truth: pa.Table) -> set[tuple[str, str]]:
    """All pairs of ids of one group, the lower id first."""
    groups: dict[str, list[str]] = {}
    for id, group in zip(*(truth[name].to_pylist() for name in ("id", "group")), strict=True):
        groups.setdefault(group, []).append(id)
    return {
        (x, y) for ids in groups.values() for i, x in enumerate(sorted(ids)) for y in ids if x < y
    }


def grams(value: str, n: int) -> set[str]:
    """N-grams of a value with its borders, or all of it where it is shorter; none of nothing."""
    plain = re.sub(r"[\W_]+", " ", value.lower()).strip()
    if not plain:
        return set()
    text = f"\x02{plain}\x03"
    return {text[i : i + n] for i in range(max(1, len(text) - n + 1))}


def fields_similarity(rows: list[dict[str, str]], a: int, b: int) -> float:
    """The mean over the fields that both have, weighted by the log of their distinct values."""
    weight = agreed = 0.0
    for name in rows[0]:
        x, y = (grams(rows[k][name], 2) for k in (a, b))
        if x and y:
            distinct = {re.sub(r"[\W_]+", " ", row[name].lower()).strip() for row in rows} - {""}
            weight += math.log(len(distinct))
            agreed += math.log(len(distinct)) * len(x & y) / len(x | y)
    return agreed / weight if weight else 0.0


assert set(FIELDS) >= {name.partition(":")[0] for name in NAMES}
