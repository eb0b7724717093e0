"""``neardup synth``."""

from pathlib import Path
from typing import Any

import click

from neardup.cli import options as o


@o.grouped("neardup synth -n 20000 --near 0.3 -o notes.jsonl")
@o.option("-n", "--documents N", required=True, help="Number of notes.")
@o.file_option("-o", "--output", what="Notes: .jsonl or .parquet, by ending.", required=True)
@o.file_option(
    "--truth",
    what="What each note was derived from, and how, as Parquet. "
    "[default: OUTPUT's stem + .truth.parquet]",
)
@o.option(
    "--kind [notes|persons]",
    default="notes",
    help="Notes; or records of persons (.csv or .parquet), some with typing errors, swapped "
    "names and missing fields, for which --exact does not count.",
)
@o.option("--seed", type=int, default=0, help="Another seed, another corpus.")
@o.option("--near SHARE", default=0.2, help="Share of near-duplicates.")
@o.option("--exact SHARE", default=0.1, help="Share of exact copies.")
@o.of_output("--overwrite", help="Replace files that exist.")
@o.quiet_option
def synth(
    output: Path, truth: Path | None, kind: str, overwrite: bool, quiet: bool, **fields: Any
) -> None:
    """Generate synthetic notes and their ground truth.

    The notes are like clinical ones. Near-duplicates and exact copies are derived from other notes,
    at random places. Equal options give equal notes.
    """
    if kind == "persons":
        from neardup.records.persons import PersonSpec, write_persons

        del fields["exact"]
        made, what = write_persons(PersonSpec(**fields), output, truth, overwrite), "persons"
    else:
        from neardup.synth import NoteSpec, write

        spec = NoteSpec(**fields)
        made = write(spec, output, truth, overwrite)
        counts = ", ".join(f"{count:,} {name}" for name, count in spec.counts.items())
        what = f"{made.documents:,} notes ({counts}), {made.bytes / 1e6:,.1f} MB\nnotes"
    if not quiet:
        click.echo(f"{what}: {made.output}\ntruth: {made.truth}", err=True)
