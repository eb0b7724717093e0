"""Draw the figures of the documentation.

``make docs`` runs it: S-curves, a run over synthetic notes with its audit, the charts of results, a
picture of a report, and the summary in the README. The picture needs a browser; without one it is
left as it is.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import browser
import neardup

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT))
from bench.notes import SynthSpec, generate  # noqa: E402
from experiments import charts  # noqa: E402

TARGET = ROOT / "docs/figures"
#: So many notes show a curve whose intervals are narrow.
NOTES, SAMPLE = 30_000, 3000
#: Fewer bands than the recall asks for, so that there is something to be seen.
BANDS, ROWS, THRESHOLD = 9, 4, 0.7
#: Of the picture: notes, and pixels.
SHOWN, WIDTH, HEIGHT = 2000, 1100, 1650
SOURCES = ("letters", "wards", "clinics")
#: Few fields, by which some pairs are doubtful.
FIELDS = ["given_name", "surname", "postcode:exact"]


def main() -> None:
    os.environ.setdefault("MPLBACKEND", "agg")
    TARGET.mkdir(exist_ok=True)
    curves = charts.s_curves([(17, 4), (11, 3), (14, 9)], (THRESHOLD, 0.99))
    charts.save(curves, TARGET / "bands.svg")
    notes = generate(SynthSpec(NOTES, near=0.5, changed=(0, 0.2)))
    run = neardup.dedup(notes, id="id", spec=neardup.Spec(num_bands=BANDS, rows=ROWS))
    observed = charts.observed_curve(run.audit(sample=SAMPLE).as_dict())
    charts.save(observed, TARGET / "observed.svg")
    print("bands.svg, observed.svg")
    gallery()
    picture()
    summary()


def gallery() -> None:
    """Draw each chart of each result, of generated notes and records."""
    with tempfile.TemporaryDirectory() as folder:
        forward, people = Path(folder) / "forward.jsonl", Path(folder) / "people.csv"
        for path, kind in ((forward, "copy-forward"), (people, "persons")):
            of = ["-n", str(SHOWN), "--kind", kind, "-o", str(path), "--quiet"]
            subprocess.run([sys.executable, "-m", "neardup", "synth", *of], check=True)
        notes = generate(SynthSpec(SHOWN, near=0.3))
        sources = [SOURCES[k * k % 7 % len(SOURCES)] for k in range(SHOWN)]
        notes = notes.append_column("source", pa.array(sources))
        items = [" ".join(text.split()[:40]) for text in notes["text"].to_pylist()[:2000:100]]
        deduped = neardup.dedup(notes, id="id")
        how: dict[str, Any] = {"order_by": "date", "within": "patient", "by": "author"}
        copied = neardup.passages(forward, id="id", preset="clinical", private_ids=True, **how)
        linked = neardup.link(people, id="id", fields=FIELDS)
        matched = neardup.decontaminate(notes, items, id="id")
        results: list[tuple[Any, dict[str, dict[str, Any]]]] = [
            (deduped, {"similarity": {}, "clusters": {}, "sources": {"by": "source"}}),
            (deduped.audit(), {"recall": {}}),
            (neardup.tune(["0.5:0.99", "0.2:0.01"]), {"curve": {}}),
            (copied, {"month": {}, "year": {}, "author": {}, "share": {}}),
            (matched, {"items": {}, "containment": {}}),
            (linked, {"log_odds": {}, "weights": {}}),
            (linked, {"reliability": {"truth": people.with_suffix(".truth.parquet")}}),
        ]
        for result, kinds in results:
            for kind, of_chart in kinds.items():
                charts.save(result.plot(kind, **of_chart).figure, TARGET / f"{kind}.svg")
                print(f"{kind}.svg")


def picture() -> None:
    """Show the first screen of a report."""
    try:
        program = browser.find()
    except browser.NoBrowserError as error:
        print(f"report.png is left as it is: {error}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        page, image = Path(folder) / "report.html", Path(folder) / "report.png"
        notes = Path(folder) / "notes.parquet"
        pq.write_table(generate(SynthSpec(SHOWN)), notes)
        run = neardup.dedup(notes, id="id", out=Path(folder) / "out")
        run.audit()  # stored in the folder, where the report finds it
        run.report(page, title=f"{SHOWN:,} synthetic notes")
        subprocess.run(
            [
                *(program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *(f"--window-size={WIDTH},{HEIGHT}", "--virtual-time-budget=5000"),
                *(f"--user-data-dir={folder}/profile", f"--screenshot={image}", page.as_uri()),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )
        (TARGET / "report.png").write_bytes(image.read_bytes())
    print("report.png: the first screen of a report")


def summary() -> None:
    """Put what the first run prints into the README: the fastest of three."""
    page = ROOT / "README.md"
    text = page.read_text(encoding="utf-8")
    shown = re.search(r"```text\n(documents .*?)```", text, re.S)
    assert shown is not None
    neardup = [sys.executable, "-c", "from neardup.cli import main; main()"]
    with tempfile.TemporaryDirectory() as folder:
        here: dict[str, Any] = {"cwd": folder, "check": True, "capture_output": True, "text": True}
        subprocess.run([*neardup, "synth", "-n", "300", "-o", "notes.jsonl", "--quiet"], **here)
        dedup = [*neardup, "dedup", "notes.jsonl", "-o", "out", "--id", "id", "--overwrite"]
        printed = [subprocess.run(dedup, **here).stderr for _ in range(3)]
    best = min(printed, key=lambda lines: float(re.findall(r"^took +([\d.]+)", lines, re.M)[0]))
    page.write_text(text.replace(shown[1], best[best.index("documents") :]), encoding="utf-8")


if __name__ == "__main__":
    main()
