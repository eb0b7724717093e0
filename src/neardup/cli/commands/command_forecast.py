"""``neardup plan`` and ``neardup tune``: what a run and its bands will do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from neardup.cli import options as o
from neardup.cli.main import as_options
from neardup.cli.showing import check_plot, plot_option


@o.grouped("neardup plan shards/ --preset clinical --memory 4GB")
@o.inputs_argument
@o.input_options
@o.spec_options
@o.resource_options
@o.json_option
def plan(inputs: tuple[str, ...], json_: bool, **options: Any) -> None:
    """Estimate duplicates, memory, disk and time before running.

    Some 20,000 documents from all over INPUT are looked at: how many documents there are, how long
    they are, and how many are duplicates of each other; the bands that dedup will choose; memory,
    disk, and a range for the time on this machine; and warnings about settings that do not suit the
    texts.
    """
    from neardup.engines.clock import Clock
    from neardup.forecast.plan import plan
    from neardup.report.plan_text import render

    found = plan(o.request_of(inputs, options).job(Clock()))
    warnings = (replace(one, text=as_options(one.text)) for one in found.warnings)
    found = replace(found, warnings=tuple(warnings))
    click.echo(json.dumps(found.as_dict(), indent=2) if json_ else render(found))


@o.grouped("neardup tune --at 0.5:0.99 --at 0.05:0.001")
@o.option(
    "--at",
    "points",
    multiple=True,
    metavar="SIMILARITY:PROBABILITY",
    help="A point asked for, such as 0.5:0.99; repeat for more. From probability 0.5 on it is to "
    "be reached, below it is not to be exceeded.",
)
@o.option(
    "--num-hashes",
    type=int,
    default=128,
    metavar="N",
    help="Length of the signature; bands times rows is at most that.",
)
@o.json_option
@plot_option("the curves of the first choices")
def tune(points: tuple[str, ...], num_hashes: int, json_: bool, plot: Path | None) -> None:
    """Find bands and rows for points of the S-curve.

    Pairs of similarity s become candidates with probability 1 - (1 - s^rows)^bands. Bands and rows
    that satisfy the points are shown, the cheapest first; if there are none, the whole signature is
    cut into bands, those first that come nearest to the points, and what they miss is marked. Of
    each: the similarities found with probability 0.1 %, 50 % and 99 %, and the one at which the
    curve is steepest.
    """
    check_plot(plot)
    from neardup.forecast.tune import tune
    from neardup.report.tune_text import by_rows, render

    tuning = tune(points, num_hashes)
    if plot is not None:
        from neardup.report.charts import s_curves, save

        drawn = [(group[0].num_bands, group[0].rows) for group in by_rows(tuning)][:4]
        save(s_curves(drawn, [(p.similarity, p.probability) for p in tuning.points]), plot)
    click.echo(json.dumps(tuning.as_dict(), indent=2) if json_ else render(tuning))
