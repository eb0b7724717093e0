"""``neardup synth``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from neardup.cli import options as o


@o.grouped("neardup synth -n 20000 --shape astride -o notes.jsonl")
@o.option("-n", "--documents", type=int, required=True, metavar="N", help="Number of notes.")
@o.file_option("-o", "--output", what="Notes: .jsonl or .parquet, by ending.", required=True)
@o.file_option(
    "--truth",
    what="What each note was derived from, and how, as Parquet. "
    "[default: OUTPUT's stem + .truth.parquet]",
)
@o.option(
    "--kind",
    type=click.Choice(["notes", "persons"]),
    default="notes",
    help="Notes; or records of persons (.csv or .parquet), some with typing errors, swapped "
    "names and missing fields, for which only --near and --seed count.",
)
@o.option("--seed", type=int, default=0, help="Another seed, another corpus.")
@o.option(
    "--shape",
    type=click.Choice(["few", "mixed", "above", "astride", "below"]),
    default="mixed",
    help="few: 2 % exact copies. mixed: 20 % near-duplicates, 10 % exact copies, a family at 0.4. "
    "above, below: few, and a family at 0.9 or 0.4. astride: 30 % near-duplicates, 2 % exact "
    "copies, a family at 0.65 to 0.75. A family has N / 20 notes.",
)
@o.option("--near", type=float, metavar="SHARE", help="Near-duplicates. [default: by --shape]")
@o.option("--exact", type=float, metavar="SHARE", help="Exact copies. [default: by --shape]")
@o.threads_option
@o.option("--overwrite", is_flag=True, group=o.OUTPUT, help="Replace files that exist.")
@o.quiet_option
def command(
    output: Path,
    truth: Path | None,
    kind: str,
    threads: int | None,
    overwrite: bool,
    quiet: bool,
    **fields: Any,
) -> None:
    """Generate synthetic notes and their ground truth.

    The notes are like clinical ones. Near-duplicates and exact copies are derived from other notes,
    at random places. Equal options give equal notes.
    """
    if kind == "persons":
        from neardup.records.persons import PersonSpec, write_persons

        given = {name: fields[name] for name in ("documents", "seed", "near")}
        asked = PersonSpec(**{name: value for name, value in given.items() if value is not None})
        made = write_persons(asked, output, truth, overwrite)
        if not quiet:
            click.echo(f"persons: {made.output}\ntruth: {made.truth}", err=True)
        return
    from neardup.synth import SynthSpec, write

    spec = SynthSpec.shaped(**{name: v for name, v in fields.items() if v is not None})
    begin = time.perf_counter()
    written = write(spec, output, truth, overwrite, threads)
    if not quiet:
        seconds, size = time.perf_counter() - begin, written.bytes / 1e6
        counts = ", ".join(f"{count:,} {kind}" for kind, count in spec.counts.items())
        click.echo(
            f"{written.documents:,} notes ({counts}), {size:,.1f} MB in {seconds:.1f} s "
            f"({size / seconds:,.0f} MB/s)\nnotes: {written.output}\ntruth: {written.truth}",
            err=True,
        )
