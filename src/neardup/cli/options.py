"""Options that several commands have, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from neardup.errors import SpecError
from neardup.spec import PRESETS, SCHEMES, ShingleSpec, Spec, preset

__all__ = [
    "input_options",
    "refuse_settings",
    "spec_of",
    "spec_options",
    "storage_of",
    "store_options",
]

F = TypeVar("F", bound=Callable[..., Any])


def _default(name: str) -> str:
    """Say in the help what a preset gives."""
    return ", ".join(f"{key} {getattr(spec, name)}" for key, spec in PRESETS.items())


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
    click.option(
        "--encoding-errors",
        type=click.Choice(["strict", "replace"]),
        default="strict",
        show_default=True,
        help="Refuse text that is not UTF-8, or replace what is wrong, go on and count.",
    ),
]
_SPEC = [
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
    click.option(
        "--scheme",
        type=click.Choice(list(SCHEMES)),
        default="affine32",
        show_default=True,
        help="Signature scheme.",
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Of the hash functions."),
    click.option(
        "--edge-threshold",
        metavar="T",
        type=float,
        help=f"Least similarity of a pair. [default: {_default('edge_threshold')}]",
    ),
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
    click.option(
        "--method",
        type=click.Choice(["lsh", "allpairs"]),
        default="lsh",
        show_default=True,
        help="Banding, or the exact join of all pairs.",
    ),
    click.option(
        "--pairs",
        type=click.Choice(["collapsed", "all"]),
        default="collapsed",
        show_default=True,
        help="Verify the pairs that clustering needs, or every pair that banding finds.",
    ),
    click.option(
        "--cluster",
        type=click.Choice(["bounded", "star", "components"]),
        default="bounded",
        show_default=True,
        help="Clustering.",
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
    click.option(
        "--design",
        type=click.Choice(["1", "2"]),
        default="2",
        show_default=True,
        help="A row of the store for each cell, or for each band and part.",
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


def input_options(command: F) -> F:
    """How inputs are read."""
    return _all(_INPUT, command)


def spec_options(command: F) -> F:
    """What is asked for; see `spec_of`."""
    return _all(_SPEC, command)


def store_options(command: F) -> F:
    """Where things are kept; see `storage_of`."""
    return _all(_STORE, command)


def _all(options: Sequence[Callable[..., Any]], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def refuse_settings(why: str) -> None:
    """Refuse options of `input_options` and `spec_options` on the command line.

    Args:
        why: What the message says.
    """
    context = click.get_current_context()
    ours = click.Command("", params=[])
    for option in (*_INPUT, *_SPEC):
        option(ours)
    for parameter in ours.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]}: {why}; leave it out")


def storage_of(
    store: str,
    design: str,
    memory: str | None,
    part_size: str,
    run_: str | None,
    **more: Any,
) -> Any:
    """Return the `neardup.Storage` of the options of `store_options`, and of some more.

    Raises:
        SpecError: A setting is out of range.
    """
    from neardup.run.memory import parse_size
    from neardup.run.storage import Storage

    return Storage(
        store=store,
        design=int(design),
        memory=None if memory is None else parse_size(memory),
        part_bytes=parse_size(part_size),
        name=run_,
        **more,
    )


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
