"""``neardup synth``."""

from pathlib import Path
from typing import Any

import click

from neardup.cli import command_options as o
from neardup.errors import SpecError


@o.grouped(
    "neardup synth -n 20000 --near 0.3 -o notes.jsonl\n"
    "neardup synth -n 20000 --kind copy-forward -o notes.jsonl\n"
    "neardup synth -n 3000 --kind citations -o refs.ris\n"
    "neardup synth -n 200000 --shape paper -o notes.jsonl"
)
@o.option("-n", "--documents N", required=True, help="Number of notes or records.")
@o.file_option(
    "-o",
    "--output",
    what="Notes, .jsonl or .parquet by ending; or records, .csv, and .parquet for persons.",
    required=True,
)
@o.file_option(
    "--truth",
    what="Source of each note, and how it was derived, or group of each record, as Parquet. "
    "[default: OUTPUT's stem + .truth.parquet]",
)
@o.option(
    "--kind [notes|copy-forward|persons|citations|contacts|households]",
    default="notes",
    help="Notes; notes of patients, with dates and authors, in which parts of earlier notes are "
    "copied forward; or records: persons with typing errors, swapped names and missing fields; "
    "citations of three databases, as .ris, .bib and .csv of one name, with errata and articles in "
    "two parts; contacts of companies; or households with siblings, also of one birthday, and "
    "sons with the name of their father.",
)
@o.option(
    "--shape [shares|paper]",
    default="shares",
    help="Of notes: shares of copies, or the clusters of the 10 million clinical notes of Shenoy "
    "et al. (2017), scaled by N; those have copies by themselves.",
)
@o.option("--seed", type=int, default=0, help="Another seed, another corpus.")
@o.option(
    "--near SHARE",
    default=0.2,
    help="Share of near-duplicates, or of further records of one; not of copy-forward.",
)
@o.option("--exact SHARE", default=0.1, help="Share of exact copies, of notes.")
@o.option(
    "--edits SHARE", default=0.02, help="Share of copied words that are changed, of copy-forward."
)
@o.option("--templates SHARE", default=0.3, help="Share of notes with a template, of copy-forward.")
@o.of_output("--overwrite", help="Replace files that exist.")
@o.quiet_option
def synth(
    output: Path, truth: Path | None, kind: str, overwrite: bool, quiet: bool, **fields: Any
) -> None:
    """Generate synthetic notes or records, and their ground truth.

    The notes are like clinical ones. Near-duplicates and exact copies are derived from other notes,
    at random positions. Of copy-forward, the truth has a row for each stretch of words that was
    copied from one of the patient's last notes, or is a template. Equal options give equal notes.
    """
    forward = {name: fields.pop(name) for name in ("edits", "templates")}
    if kind != "notes" and fields.pop("shape") != "shares":
        raise SpecError(f"--shape is for notes, and --kind is {kind}", "leave one out")
    if kind in ("citations", "contacts", "households"):
        from neardup.synth import people
        from neardup.synth.citations import citations
        from neardup.synth.linked_records import RecordSpec, write_linked

        del fields["exact"]
        make = citations if kind == "citations" else getattr(people, kind)
        made, what = write_linked(make(RecordSpec(**fields)), output, truth, overwrite), kind
    elif kind == "persons":
        from neardup.synth.persons import PersonSpec, write_persons

        del fields["exact"]
        made, what = write_persons(PersonSpec(**fields), output, truth, overwrite), "persons"
    elif kind == "copy-forward":
        from neardup.synth import copy_forward

        asked = copy_forward.CopySpec(fields["documents"], fields["seed"], **forward)
        made = copy_forward.write(asked, output, truth, overwrite)
        what = f"{made.documents:,} notes, {made.bytes / 1e6:,.1f} MB\nnotes"
    else:
        from neardup.synth import NoteSpec, write

        spec = NoteSpec(**fields)
        made = write(spec, output, truth, overwrite)
        counts = ", ".join(f"{count:,} {name}" for name, count in spec.counts.items())
        what = f"{made.documents:,} notes ({counts}), {made.bytes / 1e6:,.1f} MB\nnotes"
    if not quiet:
        click.echo(f"{what}: {made.output}\ntruth: {made.truth}", err=True)
