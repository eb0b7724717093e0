"""Section 11: how many notes fit into 4 GB, on paper, by our plan, and as measured.

The plan (`neardup.run.memory.estimate`) is asked for the most notes with which a run stays within
the memory; what was measured is the run of bench/ten_million.
"""

from __future__ import annotations

from typing import Any

from experiments.corpus import NOTES, measured_run
from neardup.run.memory import Estimate, estimate

__all__ = ["MEMORY", "limits", "most_notes"]

MEMORY = 4 * 10**9
BANDS = 50
#: Bytes of text and of the id of a note, as those of bench/ten_million.
TEXT, ID = 2_100, 16


def limits() -> dict[str, Any]:
    """Return the most notes by store, and the run that was measured.

    Returns:
        ``plan``: notes by store; ``measured``: notes and anonymous bytes of the run, and what the
        plan says of it; ``least_per_note``: bytes that each further note takes by the plan,
        wherever the keys lie.
    """
    run = measured_run()
    record = run["record"]["bands"]
    planned = _estimate("sqlite", run["documents"], record["num_bands"])
    return {
        "memory": MEMORY,
        "bands": BANDS,
        "text_bytes": TEXT,
        "plan": {"memory": most_notes("memory"), "sqlite": most_notes("sqlite")},
        "measured": {
            "notes": run["documents"],
            "bands": f"{record['num_bands']} x {record['rows']}",
            "anonymous_bytes": run["median"]["anonymous_bytes"],
            "least_bytes": planned.least,
        },
        "least_per_note": (_least(2 * NOTES) - _least(NOTES)) // NOTES,
    }


def most_notes(store: str) -> int:
    """Return the most notes that the plan lets into the memory, to two digits, rounded down.

    Args:
        store: ``memory``: the run holds everything; else: it holds what it can't do without.
    """

    def fits(documents: int) -> bool:
        planned = _estimate(store, documents, BANDS)
        return (planned.needed if store == "memory" else planned.least) <= MEMORY

    low, high = 0, 2**31 - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    unit = 10 ** max(0, len(str(low)) - 2)
    return low // unit * unit


def _least(notes: int) -> int:
    return _estimate("sqlite", notes, BANDS).least


def _estimate(store: str, documents: int, num_bands: int) -> Estimate:
    return estimate(
        documents=documents,
        documents_exact=True,
        text=documents * TEXT,
        ids=documents * ID,
        columns=documents * (TEXT + ID),
        num_bands=num_bands,
        memory=MEMORY,
        store=store,
        threads=2,
        char=False,
        join=False,
        ordered=False,
        mapped_sets=True,
    )
