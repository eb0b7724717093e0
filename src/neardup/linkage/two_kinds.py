"""Pairs that were found and may be of two kinds: of one record, and such as those of siblings.

Siblings of one day of birth, a father and his son of one name, an article and its errata are equal
in all but one field. No weights can know that this field decides: a person has to say so. Where
most similar pairs are of groups, those that were found and differ in its fields are doubtful, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.linkage.deciding import MatchDecision
from neardup.linkage.decision.weights.agreement_classes import EDGES, EQUAL, MISSING
from neardup.linkage.record_files import Records

#: Classes of agreement in which two values have hardly anything in common.
_LOW = 3
#: Pairs that differ in one field only, and their share of all.
_FEWEST, _SHARE = 10, 0.1
#: Share of the pairs equal in all else that differ in this field, and so many standard deviations
#: above the share among other pairs.
_DIFFER, _SURE = 0.6, 3.0
#: A field identifies if two records agree in it by chance so seldom.
_SELDOM = 2.0**-5
_EXAMPLES = 3


def two_kinds(
    records: Records, names: list[str], decision: MatchDecision, pairs: np.ndarray
) -> Iterator[str]:
    """Yield a question for each field that may separate two kinds of pairs.

    Args:
        records: The records.
        names: Names of the fields.
        decision: How likely candidates are matches.
        pairs: int64[]: the candidates that were found.
    """
    if len(names) < 2 or len(pairs) < _FEWEST or not decision.model.views:
        return
    values, classes = decision.values, decision.agreements.classes[pairs, : len(names)]
    agree, equal = (classes == EQUAL) | (classes == MISSING), classes == EQUAL
    possible = np.maximum(values.present * (values.present - 1) / 2, 1)
    for k in np.flatnonzero(values.equal <= _SELDOM * possible).tolist():
        there, low = classes[:, k] != MISSING, (classes[:, k] >= 0) & (classes[:, k] < _LOW)
        if k in decision.groups and low.sum() >= max(_FEWEST, _SHARE * len(pairs)):
            yield _question(records, decision, names[k], pairs[low], "")
            continue
        others = np.delete(agree, k, axis=1).all(axis=1)
        others &= np.delete(equal, k, axis=1).any(axis=1)
        rows = np.flatnonzero(others & low)
        if len(rows) < max(_FEWEST, _SHARE * len(pairs)):
            continue
        share = len(rows) / (others & there).sum()
        rest = (~others & there).sum()
        among = min(float((~others & low).sum() + 1) / (rest + 2), 1.0)
        deviation = float(np.sqrt(among * (1 - among) / (others & there).sum()))
        if share >= _DIFFER and share > among + _SURE * deviation:
            yield _question(
                records, decision, names[k], pairs[rows], ", and are equal in all other fields"
            )


def _question(
    records: Records, decision: MatchDecision, name: str, rows: np.ndarray, more: str
) -> str:
    ids = [id for part in records.public_ids for id in part.to_pylist()]
    a, b = decision.agreements.a, decision.agreements.b
    shown = ", ".join(f"{ids[a[k]]!r} and {ids[b[k]]!r}" for k in rows[:_EXAMPLES].tolist())
    return (
        f"are these two kinds of pairs, such as those of siblings? {len(rows):,} have nothing in "
        f"common in {name}{more}: {shown}; if they are no matches, "
        f"`must_agree` with {name}:{EDGES[_LOW - 1]:g} separates them"
    )
