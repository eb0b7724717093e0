"""``neardup synth``."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.options import grouped, quiet_option

if TYPE_CHECKING:
    from neardup.synth import Family


def _range(number: type[int] | type[float]) -> Callable[[str], tuple[float, float]]:
    """Return what reads ``LOW:HIGH``, two numbers of one type."""

    def read(text: str) -> tuple[float, float]:
        low, _, high = text.partition(":")
        try:
            return number(low), number(high)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not LOW:HIGH, two numbers") from None

    return read


def _family(text: str) -> Family | None:
    """Read ``SIZE[:LOW[:HIGH]]``; None for a size of 0."""
    from neardup.synth import Family

    size, *ends = text.split(":")
    try:
        members, range_ = int(size), [float(end) for end in ends]
    except ValueError:
        range_ = [0.0] * 3
    if len(range_) > 2:
        raise click.BadParameter(f"{text!r} is not SIZE, SIZE:LOW or SIZE:LOW:HIGH")
    return Family(members, *range_) if members else None


def _by_shape(text: str) -> dict[str, Any]:
    """Return what an option without a default has in common: the shape decides."""
    return {"default": None, "show_default": "by --shape", "help": text}


@grouped("neardup synth -n 20000 --shape astride -o notes.jsonl", show_default=True)
@click.option("-n", "--documents", type=int, required=True, metavar="N", help="Number of notes.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="Notes: .jsonl, .jsonl.gz, .jsonl.zst or .parquet, by ending.",
)
@click.option(
    "--truth",
    type=click.Path(path_type=Path),
    show_default="OUTPUT's stem + .truth.parquet",
    help="What each note was derived from, and how, as Parquet.",
)
@click.option(
    "--kind",
    type=click.Choice(["notes", "persons"]),
    default="notes",
    help="Notes; or records of persons (.csv or .parquet), some with typing errors, swapped "
    "names and missing fields, for which only --near and --seed count.",
)
@click.option("--seed", type=int, default=0, help="Another seed, another corpus.")
@click.option(
    "--shape",
    type=click.Choice(["few", "mixed", "above", "astride", "below"]),
    default="mixed",
    help="few: 2 % exact copies. mixed: 20 % near-duplicates, 10 % exact copies, a family at 0.4. "
    "above, below: few, and a family at 0.9 or 0.4. astride: 30 % near-duplicates, 2 % exact "
    "copies, a family at 0.65 to 0.75. A family has N / 20 notes.",
)
@click.option("--near", type=float, metavar="SHARE", **_by_shape("Share of near-duplicates."))
@click.option("--exact", type=float, metavar="SHARE", **_by_shape("Share of exact copies."))
@click.option(
    "--changed",
    type=_range(float),
    default="0:0.2",
    metavar="LOW:HIGH",
    help="Share of its source's words that a near-duplicate changes.",
)
@click.option(
    "--family",
    "families",
    type=_family,
    multiple=True,
    metavar="SIZE[:LOW[:HIGH]]",
    **_by_shape(
        "A family of notes that fill in one template; LOW to HIGH is the similarity of two of "
        "them, as Jaccard on 5-word shingles, 0.4 if not given. Repeat for more; 0 for none."
    ),
)
@click.option(
    "--words",
    type=_range(int),
    default="50:800",
    metavar="LOW:HIGH",
    help="Words of a note that is in no family; the mean is at a third of the range.",
)
@click.option(
    "--vocabulary", type=int, default=50_000, metavar="N", help="Different words, Zipf-distributed."
)
@click.option(
    "--threads",
    type=int,
    metavar="N",
    show_default="all available cores",
    help="Threads; the notes do not depend on it.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
@quiet_option
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
        from neardup.synth.persons import PersonSpec, write_persons

        given = {name: fields[name] for name in ("documents", "seed", "near")}
        asked = PersonSpec(**{name: value for name, value in given.items() if value is not None})
        made = write_persons(asked, output, truth, overwrite)
        if not quiet:
            click.echo(f"persons: {made.output}\ntruth: {made.truth}", err=True)
        return
    from neardup.synth import SynthSpec, write

    fields["families"] = tuple(filter(None, fields["families"])) if fields["families"] else None
    spec = SynthSpec.shaped(**{name: v for name, v in fields.items() if v is not None})
    begin = time.perf_counter()
    shown = sys.stderr if not quiet and sys.stderr.isatty() else io.StringIO()
    with click.progressbar(length=spec.documents, label="notes", file=shown) as bar:
        written = write(
            spec, output, truth, overwrite, threads, lambda done: bar.update(done - bar.pos)
        )
    if not quiet:
        seconds, size = time.perf_counter() - begin, written.bytes / 1e6
        counts = ", ".join(f"{count:,} {kind}" for kind, count in spec.counts.items())
        click.echo(
            f"{written.documents:,} notes ({counts}), {size:,.1f} MB in {seconds:.1f} s "
            f"({size / seconds:,.0f} MB/s)\nnotes: {written.output}\ntruth: {written.truth}",
            err=True,
        )
