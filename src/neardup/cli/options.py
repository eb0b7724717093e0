"""Options that several commands have, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from neardup.errors import SpecError
from neardup.spec import CLUSTERINGS, PRESETS, SCHEMES, ShingleSpec, Spec, preset

if TYPE_CHECKING:
    from neardup.run.storage import Storage

__all__ = [
    "debug_option",
    "input_options",
    "output_options",
    "pair_options",
    "paths_of",
    "quiet_notes_option",
    "quiet_option",
    "refuse_settings",
    "source_of",
    "spec_of",
    "spec_options",
    "storage_of",
    "store_options",
]

F = TypeVar("F", bound=Callable[..., Any])


def _default(name: str) -> str:
    """Say in the help what a preset gives."""
    return ", ".join(f"{key} {getattr(spec, name)}" for key, spec in PRESETS.items())


def _one_of(*names: str, choices: Sequence[str], text: str, default: str | None = None) -> Any:
    """Return the option that takes one of some words, the first one by default."""
    return click.option(
        *names,
        type=click.Choice(choices),
        default=choices[0] if default is None else default,
        show_default=True,
        help=text,
    )


#: Show where an error came from; `neardup.cli.main` looks for it before any command is read.
debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback of an error."
)
quiet_option = click.option("--quiet", is_flag=True, help="No progress, no summary.")
#: Of commands that print an answer, which they do all the same.
quiet_notes_option = click.option("--quiet", is_flag=True, help="No progress, no notes.")

_INPUT = [
    click.option(
        "--text",
        metavar="NAME[,NAME...]",
        default="text",
        show_default=True,
        help="Column(s) with the text, joined by a blank.",
    ),
    click.option(
        "--id", "id_", metavar="NAME", help="Column with your ids. [default: input position]"
    ),
    click.option(
        "--input-format",
        type=click.Choice(["jsonl", "parquet", "csv", "tsv", "arrow", "text"]),
        help="Of all inputs. [default: by the ending of each]",
    ),
    _one_of(
        "--encoding-errors",
        choices=["strict", "replace"],
        text="Refuse text that is not UTF-8, or replace what is wrong, go on and count.",
    ),
]
_SHINGLE = [
    click.option(
        "--preset",
        "preset_",
        type=click.Choice(list(PRESETS)),
        default="web",
        show_default=True,
        help="Settings to start from; the options below override them.",
    ),
    click.option(
        "--shingle",
        metavar="word:N|char:N",
        help="What is compared: N consecutive words or characters. "
        f"[default: {_default('shingle')}]",
    ),
    click.option(
        "--stem",
        metavar="LANGUAGE",
        help="Compare word stems; a Snowball language, or none. [default: clinical english]",
    ),
    click.option("--keep-case", is_flag=True, help="Don't turn to lower case."),
    click.option("--nfkc", is_flag=True, help="Unicode compatibility composition first."),
    click.option("--strip-accents", is_flag=True, help="Remove combining marks."),
    click.option("--raw", is_flag=True, help="With char:N: keep white space as it is."),
    click.option("--bag", is_flag=True, help="Count repeated shingles: multiset Jaccard."),
]
_EDGE = click.option(
    "--edge-threshold",
    metavar="T",
    type=float,
    help=f"Least similarity of a pair. [default: {_default('edge_threshold')}]",
)
_SPEC = [
    *_SHINGLE,
    _one_of("--scheme", choices=list(SCHEMES), text="Signature scheme.", default="affine32"),
    click.option("--seed", type=int, default=0, show_default=True, help="Of the hash functions."),
    _EDGE,
    click.option(
        "--tree-threshold",
        metavar="T",
        type=float,
        help="Least similarity of any two documents of a bounded cluster. "
        f"[default: {_default('tree_threshold')}]",
    ),
    click.option(
        "--recall",
        metavar="P",
        type=float,
        help="Probability that a pair at the edge threshold is found; bands and rows are chosen "
        "for it. [default: 0.99]",
    ),
    click.option("--bands", metavar="B", type=int, help="Choose the bands yourself; needs --rows."),
    click.option("--rows", metavar="R", type=int, help="Choose the rows yourself; needs --bands."),
    _one_of(
        "--method", choices=["lsh", "allpairs"], text="Banding, or the exact join of all pairs."
    ),
    _one_of(
        "--pairs",
        choices=["collapsed", "all"],
        text="Verify the pairs that clustering needs, or every pair that banding finds.",
    ),
    _one_of(
        "--cluster",
        choices=list(CLUSTERINGS),
        text="Clustering. bounded-mst and louvain verify every pair that banding finds; louvain "
        "needs neardup[graph].",
    ),
    click.option(
        "--second-round",
        is_flag=True,
        help="With bounded and bounded-mst: merge clusters that an edge joins, where every two of "
        "their documents reach the tree threshold.",
    ),
    click.option(
        "--keep",
        metavar="first|longest|max:COLUMN|min:COLUMN",
        default="first",
        show_default=True,
        help="Which of the documents that repeat each other is kept.",
    ),
]
_STORE = [
    click.option(
        "--store",
        metavar="auto|memory|sqlite[:PATH]|cassandra://HOST:PORT/KEYSPACE",
        default="auto",
        show_default=True,
        help="Where the band matrix lies; auto takes SQLite where memory does not suffice.",
    ),
    _one_of(
        "--design",
        choices=["1", "2"],
        text="A row of the store for each cell, or for each band and part.",
        default="2",
    ),
    click.option(
        "--memory",
        metavar="SIZE",
        help="Memory that may be used, such as 4GB. [default: half of what is free]",
    ),
    click.option(
        "--part-size",
        metavar="SIZE",
        default="64MiB",
        show_default=True,
        help="Input that is signed, stored and, after a crash, repeated as a whole.",
    ),
    click.option("--run", "run_", metavar="NAME", help="Name of a run in a store of many runs."),
    click.option(
        "--threads", metavar="N", type=click.IntRange(1), help="[default: the cores there are]"
    ),
]
_OUTPUT = [
    _one_of(
        "--format", "format_", choices=["parquet", "jsonl", "csv"], text="Of the clean corpus."
    ),
    _one_of("--compression", choices=["none", "lz4", "snappy", "zstd"], text="Of clean.parquet."),
    click.option("--overwrite", is_flag=True, help="Replace the files of an earlier run in OUT."),
]


def input_options(command: F) -> F:
    """How inputs are read; see `source_of`."""
    return _all(_INPUT, command)


def spec_options(command: F) -> F:
    """What is asked for; see `spec_of`."""
    return _all(_SPEC, command)


def pair_options(command: F) -> F:
    """Those of `spec_options` that two texts by themselves need; see `spec_of`."""
    return _all([*_SHINGLE, _EDGE], command)


def store_options(command: F) -> F:
    """Where things are kept, and by how many threads; see `storage_of`."""
    return _all(_STORE, command)


def output_options(command: F) -> F:
    """What is written into OUT: ``format_``, ``compression`` and ``overwrite``."""
    return _all(_OUTPUT, command)


def _all(options: Sequence[Callable[..., Any]], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def _parameters(options: Sequence[Callable[..., Any]]) -> list[click.Parameter]:
    return _all(options, click.Command("", params=[])).params


def refuse_settings(why: str) -> None:
    """Refuse options of `input_options` and `spec_options` on the command line.

    Args:
        why: What the message says.
    """
    context = click.get_current_context()
    for parameter in _parameters([*_INPUT, *_SPEC]):
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]}: {why}; leave it out")


def paths_of(options: dict[str, Any]) -> list[Path] | None:
    """Return the INPUTs of a command as paths; None where there are none."""
    return [Path(name) for name in options["inputs"]] or None


def source_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return what the options say, as the arguments that all calls of the library have.

    Args:
        options: What click gives to a command that has `input_options`, `spec_options` and
            `store_options`; its own options may be among them.

    Returns:
        ``text``, ``id``, ``input_format``, ``encoding_errors``, ``threads``, ``spec`` and
        ``storage``, as in `neardup.dedup_files`.

    Raises:
        SpecError: A setting is out of range, or two contradict each other.
    """
    return {
        "text": options["text"].split(","),
        "id": options["id_"],
        "input_format": options["input_format"],
        "encoding_errors": options["encoding_errors"],
        "threads": options["threads"],
        "spec": spec_of(options),
        "storage": storage_of(options),
    }


def storage_of(options: dict[str, Any]) -> Storage:
    """Return the storage that `store_options` ask for, and ``--resume`` and ``--keep-run``.

    Args:
        options: By name; a command without the last two may leave them out.

    Raises:
        SpecError: A setting is out of range.
    """
    from neardup.run.memory import parse_size
    from neardup.run.storage import Storage

    memory = options["memory"]
    return Storage(
        store=options["store"],
        design=int(options["design"]),
        memory=None if memory is None else parse_size(memory),
        part_bytes=parse_size(options["part_size"]),
        name=options["run_"],
        resume=options.get("resume", False),
        keep_run=options.get("keep_run", False),
    )


def spec_of(options: dict[str, Any]) -> Spec:
    """Return the preset with what the options override.

    Args:
        options: By name; what `spec_options` does not have is passed over. None, or False for a
            flag, leaves the preset's value.

    Raises:
        SpecError: A setting is out of range, or two contradict each other.
    """
    ours = [parameter.name or "" for parameter in _parameters(_SPEC)]
    changes = {name: options[name] for name in ours if options.get(name) is not None}
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
    if "tree_threshold" not in options:  # two texts by themselves make no clusters
        changes["tree_threshold"] = min(edge, tree) if edge > 0 else tree
    elif "tree_threshold" not in changes and 0 < edge < tree:
        raise SpecError(
            f"the edge threshold {edge} is below the preset's tree threshold {tree}",
            "give a --tree-threshold too, not above the edge threshold",
        )
    return spec.replace(**changes, **inner)
