"""Draw the figures of ``docs/method.md`` with the charts that users have too.

``make docs`` runs it: a few S-curves, and a run over made notes with its audit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import neardup
from neardup.cli.main import cli
from neardup.report import audit as audits
from neardup.report import charts

TARGET = Path(__file__).parent.parent / "docs/figures"
#: So many notes show a curve whose intervals are narrow.
NOTES, SAMPLE = 30_000, 3000
#: Fewer bands than the recall asks for, so that there is something to be seen.
BANDS, ROWS, EDGE = 9, 4, 0.7


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    draw("bands", charts.s_curves([(17, 4), (11, 3), (14, 9)], [(EDGE, 0.99)]))
    with tempfile.TemporaryDirectory() as name:
        notes, out = Path(name) / "notes.jsonl", Path(name) / "out"
        options = ["--near", "0.5", "--changed", "0:0.2", "--quiet", "-o", str(notes)]
        cli.main(["synth", "-n", str(NOTES), *options], standalone_mode=False)
        spec = neardup.Spec(num_bands=BANDS, rows=ROWS, edge_threshold=EDGE, pairs="all")
        neardup.dedup_files(notes, out, spec=spec)
        similarity = pq.read_table(out / "edges.parquet")["similarity"].to_numpy()
        counts, limits = np.histogram(similarity[similarity < 1], bins=15, range=(EDGE, 1))
        draw(
            "similarities",
            charts.similarity_histogram(counts, limits, (BANDS, ROWS), EDGE, "edges"),
        )
        draw("observed", audits.chart(neardup.audit(out, sample=SAMPLE).as_dict()))


def draw(name: str, figure: charts.Chart) -> None:
    charts.save(figure, TARGET / f"{name}.svg")
    print(f"{name}.svg: {charts.alternative(figure)}")


if __name__ == "__main__":
    main()
