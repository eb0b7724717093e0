"""``neardup dedup``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from neardup.cli.progress import progress
from neardup.errors import SpecError
from neardup.spec import PRESETS, SCHEMES, ShingleSpec, Spec, preset

__all__ = ["dedup", "spec_of"]


def _default(name: str) -> str:
    """Say in the help what a preset gives."""
    return ", ".join(f"{key} {getattr(spec, name)}" for key, spec in PRESETS.items())


@click.command(no_args_is_help=True)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option("-o", "--output", "out", metavar="OUT", required=True, help="Folder to make.")
@click.option(
    "--text",
    metavar="NAME[,NAME...]",
    default="text",
    show_default=True,
    help="Column(s) with the text, joined by a blank.",
)
@click.option("--id", "id_", metavar="NAME", help="Column with your ids. [default: input position]")
@click.option(
    "--input-format",
    type=click.Choice(["jsonl", "parquet", "csv", "tsv", "arrow", "text"]),
    help="Of all inputs. [default: by the ending of each]",
)
@click.option(
    "--encoding-errors",
    type=click.Choice(["strict", "replace"]),
    default="strict",
    show_default=True,
    help="Refuse text that is not UTF-8, or replace what is wrong, go on and count.",
)
@click.option(
    "--preset",
    "preset_",
    type=click.Choice(list(PRESETS)),
    default="web",
    show_default=True,
    help="Settings to start from; the options below override them.",
)
@click.option(
    "--shingle",
    metavar="word:N|char:N",
    help=f"What is compared: N consecutive words or characters. [default: {_default('shingle')}]",
)
@click.option(
    "--stem",
    metavar="LANGUAGE",
    help="Compare word stems; a Snowball language, or none. [default: clinical english]",
)
@click.option("--keep-case", is_flag=True, help="Don't turn to lower case.")
@click.option("--nfkc", is_flag=True, help="Unicode compatibility composition first.")
@click.option("--strip-accents", is_flag=True, help="Remove combining marks.")
@click.option("--raw", is_flag=True, help="With char:N: keep white space as it is.")
@click.option("--bag", is_flag=True, help="Count repeated shingles: multiset Jaccard.")
@click.option(
    "--scheme",
    type=click.Choice(list(SCHEMES)),
    default="affine32",
    show_default=True,
    help="Signature scheme.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the hash functions.")
@click.option(
    "--edge-threshold",
    metavar="T",
    type=float,
    help=f"Least similarity of a pair. [default: {_default('edge_threshold')}]",
)
@click.option(
    "--tree-threshold",
    metavar="T",
    type=float,
    help="Least similarity of any two documents of a bounded cluster. "
    f"[default: {_default('tree_threshold')}]",
)
@click.option(
    "--recall",
    metavar="P",
    type=float,
    help="Probability that a pair at the edge threshold is found; bands and rows are chosen for "
    "it. [default: 0.99]",
)
@click.option("--bands", metavar="B", type=int, help="Choose the bands yourself; needs --rows.")
@click.option("--rows", metavar="R", type=int, help="Choose the rows yourself; needs --bands.")
@click.option(
    "--method",
    type=click.Choice(["lsh", "allpairs"]),
    default="lsh",
    show_default=True,
    help="Banding, or the exact join of all pairs.",
)
@click.option(
    "--pairs",
    type=click.Choice(["collapsed", "all"]),
    default="collapsed",
    show_default=True,
    help="Verify the pairs that clustering needs, or every pair that banding finds.",
)
@click.option(
    "--cluster",
    type=click.Choice(["bounded", "star", "components"]),
    default="bounded",
    show_default=True,
    help="Clustering.",
)
@click.option(
    "--keep",
    metavar="first|longest|max:COLUMN|min:COLUMN",
    default="first",
    show_default=True,
    help="Which of the documents that repeat each other is kept.",
)
@click.option(
    "--threads", metavar="N", type=click.IntRange(1), help="[default: the cores there are]"
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["parquet", "jsonl", "csv"]),
    default="parquet",
    show_default=True,
    help="Of the clean corpus.",
)
@click.option(
    "--compression",
    type=click.Choice(["none", "lz4", "snappy", "zstd"]),
    default="none",
    show_default=True,
    help="Of clean.parquet.",
)
@click.option("--overwrite", is_flag=True, help="Replace the files of an earlier run in OUT.")
@click.option("--quiet", is_flag=True, help="No progress, no summary.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def dedup(
    inputs: tuple[str, ...],
    out: str,
    text: str,
    id_: str | None,
    input_format: str | None,
    encoding_errors: str,
    threads: int | None,
    format_: str,
    compression: str,
    overwrite: bool,
    quiet: bool,
    debug: bool,
    **settings: Any,
) -> None:
    """Write what repeats what in the INPUTs, and a clean corpus, to OUT.

    INPUT is a file, a folder, a pattern or - for standard input: JSON lines, Parquet, CSV, TSV,
    Arrow IPC or plain text; the textual ones also as .gz and .zst. A folder of plain text files is
    one document a file, with its path as its id.

    OUT gets clusters.parquet (one row per document: its cluster, whether it is kept, and the kept
    document that it repeats), edges.parquet (verified pairs), clean.FORMAT (the kept documents)
    and run.json (what was done).
    """
    spec = spec_of(settings)
    # Arrow's allocator gives memory back to the system so eagerly that getting it again costs more
    # than what is done with it; this process uses it again within milliseconds.
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "100")
    from neardup.run.outputs import check_output

    folder = Path(out)
    check_output(folder, format_, overwrite)
    with progress(quiet) as listener:
        import neardup

        result = neardup.dedup(
            [Path(i) for i in inputs],
            text=text.split(","),
            id=id_,
            spec=spec,
            threads=threads,
            input_format=input_format,
            encoding_errors=encoding_errors,
            on_event=listener,
        )
        record = result.write(
            folder,
            format=format_,
            compression=compression,
            overwrite=overwrite,
        )
    if not quiet:
        from neardup.report.summary import render

        click.echo(render(record, out, format_), err=True)


def spec_of(settings: dict[str, Any]) -> Spec:
    """Return the preset with what the options override.

    Args:
        settings: Options by name; None, or False for a flag, leaves the preset's value.

    Raises:
        SpecError: A setting is out of range, or two contradict each other.
    """
    changes = {key: value for key, value in settings.items() if value is not None}
    spec = preset(changes.pop("preset_"))
    inner: dict[str, Any] = {
        name: True
        for name in ("keep_case", "nfkc", "strip_accents", "raw", "bag")
        if changes.pop(name, False)
    }
    shingle = changes.pop("shingle", None)
    if shingle is not None:
        parsed = ShingleSpec.parse(shingle)
        inner.update(unit=parsed.unit, n=parsed.n)
        if parsed.unit == "char":
            inner["stem"] = None
    stem = changes.pop("stem", None)
    if stem is not None:
        inner["stem"] = None if stem == "none" else stem
    if "bands" in changes:
        changes["num_bands"] = changes.pop("bands")
    if "recall" in changes and ("num_bands" in changes or "rows" in changes):
        raise SpecError("--recall and --bands with --rows exclude each other", "leave one out")
    tree = changes.get("tree_threshold", spec.tree_threshold)
    edge = changes.get("edge_threshold", spec.edge_threshold)
    if "tree_threshold" not in changes and 0 < edge < tree:
        raise SpecError(
            f"the edge threshold {edge} is below the preset's tree threshold {tree}",
            "give a --tree-threshold too, not above the edge threshold",
        )
    return spec.replace(**changes, **inner)
