"""An index of the first half of a file, to which the rest came, next to one linkage of the file.

    python bench/growing.py [SET ...]

Of each set of one file in bench/records.py: the agreement of both clusterings (F1 of the pairs
within clusters, and B-cubed), and the highest F1 that any rule reaches which leaves the records of
the first half where they are. Writes the table of docs/howto/records.md.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import neardup
from neardup.cluster.agreement import b_cubed, pair_counts
from records import ROOT, SETS, TWO_FILES, load

PAGE = ROOT / "docs/howto/records.md"
_BEGIN, _END = "<!-- growing -->", "<!-- end of growing -->"


def labels_of(clusters: Any) -> np.ndarray:
    """Return int64[records]: the cluster of each, by its id, which is its position."""
    found = np.empty(clusters.num_rows, np.int64)
    found[clusters["id"].to_numpy().astype(np.int64)] = clusters["cluster"].to_numpy()
    return found


def bound(half: np.ndarray, every: np.ndarray) -> float:
    """Return the highest F1 with ``every``, int64[records], if the first records keep ``half``.

    The new records of a cluster join one old cluster, or none: together, as all of them gain the
    same by it. That those of two clusters which join the same one are then together is left out,
    so no rule reaches more.
    """
    first, new = every[: len(half)], every[len(half) :]
    true, best = pair_counts(every, every).true, 0.0
    kept = pair_counts(half, first)
    size_of = dict(zip(*(x.tolist() for x in np.unique(half, return_counts=True)), strict=True))
    while True:  # maximise 2 shared - best * (given + true), until that is 0
        shared, given = kept.shared, kept.given
        for cluster, count in zip(*np.unique(new, return_counts=True), strict=True):
            joined, common = np.unique(half[first == cluster], return_counts=True)
            sizes = np.array([size_of[of] for of in joined.tolist()] or [0])
            gains = 2 * np.append(common, 0)[: len(sizes)] - best * sizes
            which = int(np.argmax(gains))
            with_old = count if gains[which] > 0 else 0
            shared += count * (count - 1) // 2 + (with_old and with_old * common[which])
            given += count * (count - 1) // 2 + with_old * sizes[which]
        found = 2 * shared / max(1, given + true)
        if found <= best + 1e-12:
            return float(found)
        best = found


def measure(name: str) -> tuple[float, float, float, float, float]:
    """Return F1 and B-cubed of the agreement, the bound, and F1 of both with the truth."""
    frame, true = load(name)
    fields = SETS[name].split()
    half = len(frame) // 2
    one = labels_of(neardup.link(frame, id="unique_id", fields=fields).clusters)
    run = neardup.link(frame[:half], id="unique_id", fields=fields)
    with tempfile.TemporaryDirectory() as folder:
        index = run.index(str(Path(folder) / "index"))
        neardup.link(frame[half:], against=index)
        grown = labels_of(index.clusters)
        index.close()
    truth = np.arange(len(frame))
    for a, b in sorted(true):
        truth[truth == truth[b]] = truth[a]
    scores = [pair_counts(grown, one).scores()["f1"], b_cubed(grown, one)["f1"]]
    scores += [bound(grown[:half], one)]
    scores += [pair_counts(labels, truth).scores()["f1"] for labels in (grown, one)]
    return tuple(float(score or 0) for score in scores)  # type: ignore[return-value]


def main(names: list[str]) -> None:
    lines = [
        "| set | F1 of pairs | at most | B-cubed | truth, grown | truth, one linkage |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in names or [name for name in SETS if name not in TWO_FILES]:
        agreed, cubed, most, *truth = (f"{value:.3f}" for value in measure(name))
        lines.append(f"| {' | '.join([name, agreed, most, cubed, *truth])} |")
        print(lines[-1], flush=True)
    if not names:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
        table = "\n".join(lines)
        after = rest.partition(_END)[2]
        PAGE.write_text(f"{before}{_BEGIN}\n\n{table}\n\n{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET")
    main(parser.parse_args().sets)
