"""``neardup plan`` and ``neardup tune``: estimates for a run and its bands."""

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import command_options as o
from neardup.cli.main import as_options
from neardup.copied_passages.passage_spec import PassageSpec
from neardup.errors import SpecError
from neardup.spec import FORMS
from neardup.values.readable import counted

if TYPE_CHECKING:
    from neardup.deduplication.job import Job


@o.grouped("neardup plan shards/ --preset clinical --memory 4GB")
@o.inputs_argument
@o.input_options
@o.spec_options
@o.resource_options
@o.of_input(
    "--check",
    help="Instead read all of INPUT, and list every file and line that dedup would refuse.",
)
@o.option(
    "--passages L",
    type=int,
    help="Instead estimate what neardup passages would do, with runs of L words.",
)
@o.shared(PassageSpec, "across", group=o.OTHER, help="With --passages, as there.")
@o.json_option
def plan(inputs: tuple[str, ...], json_: bool, **options: Any) -> None:
    """Estimate duplicates, memory and disk before running.

    INPUT is read for seven seconds, and documents are chosen by their content, with all that are
    like them, wherever these are. The plan shows which part was read, how many documents there
    are, how long they are, and how many are duplicates of each other; the bands that dedup will
    choose; memory and disk; and warnings about settings that do not suit the texts.

    With --check, the files and lines that dedup would refuse are listed, up to 1,000 of them, and
    the exit code is 1 if there are any. Ids are not compared with each other.

    With --passages, the share of copied words of the sample, memory, temporary disk and a time.
    --order-by, --within, --stem, --keep-case, --nfkc, --strip-accents and --join-hyphens mean the
    same there as in neardup passages.
    """
    from neardup.deduplication.clock import Clock
    from neardup.forecast.plan import plan

    words, across, check = (options.pop(name) for name in ("passages", "across", "check"))
    if words is not None:
        _plan_passages(inputs, words, json_, options, across)
        return
    if across:
        raise SpecError("--across is of --passages", "add --passages L")
    if check:
        options["clean"] = False  # nothing is written
        _check(o.request_of(inputs, options, Clock()).job(), json_)
        return
    from neardup.views.text.plan_text import render

    found = plan(o.request_of(inputs, options, Clock()).job())
    warnings = (replace(one, text=as_options(one.text)) for one in found.warnings)
    found = replace(found, warnings=tuple(warnings))
    click.echo(json.dumps(found.as_dict(), indent=2) if json_ else render(found))


def _plan_passages(
    inputs: tuple[str, ...], words: int, as_json: bool, options: dict[str, Any], across: str | None
) -> None:
    from neardup.corpora.corpus import InputCorpus
    from neardup.deduplication.clock import Clock
    from neardup.forecast.passage_plan import PassageLimits, plan_passages
    from neardup.options.how_read import how_read
    from neardup.views.text.plan_text import render_passages

    names = ("order_by", "within", "stem", *FORMS)
    asked = {name: options[name] for name in names} | {"across": across}
    spec = PassageSpec(words, **asked)
    request = o.request_of(inputs, options, Clock())
    how = how_read(request.reading, memory=request.resources.bytes)
    corpus = InputCorpus.open(request.source, how, spec.columns)
    limits = PassageLimits(request.resources.bytes, request.resources.threads)
    found = plan_passages(corpus, spec, limits)
    click.echo(json.dumps(found.as_dict(), indent=2) if as_json else render_passages(found))


def _check(job: "Job", as_json: bool) -> None:
    from neardup.forecast.checking import check

    found = check(job)
    problems = [as_options(problem) for problem in found.problems]
    if as_json:
        click.echo(json.dumps({"documents": found.documents, "problems": problems}, indent=2))
    else:
        click.echo("".join(f"{problem}\n" for problem in problems), nl=False)
        good = counted(found.documents, "good document")
        click.echo(f"{counted(len(problems), 'problem')}, {good}", err=True)
    if problems:
        sys.exit(1)


@o.grouped("neardup tune --at 0.5:0.99 --at 0.05:0.001")
@o.option(
    "--at SIMILARITY:PROBABILITY",
    "points",
    multiple=True,
    help="A point asked for, such as 0.5:0.99; repeat for more. From probability 0.5 on it is to "
    "be reached, below it is not to be exceeded.",
)
@o.option(
    "--num-hashes N",
    help="Length of the signature; bands times rows is at most that. [default: 128]",
)
@o.option(
    "--similarity S",
    "similarities",
    type=float,
    multiple=True,
    help="Show P(candidate) at this similarity for each number of bands; repeat for more.",
)
@o.option("--bands B", multiple=True, help="These bands only; needs --rows.")
@o.option("--rows R", multiple=True, help="Rows of these bands. Repeat both to compare several.")
@o.of_output("--all", "all_", help="Show all lines, not only ten.")
@o.json_option
def tune(points: tuple[str, ...], similarities: tuple[float, ...], **options: Any) -> None:
    """Find bands and rows for points of the S-curve.

    Pairs of similarity s become candidates with probability 1 - (1 - s^rows)^bands. All bands and
    rows that satisfy the points are shown, the cheapest first; if there are none, the complete
    signature is cut into bands, those first that come nearest to the points, and missed points
    are marked. Of each: the similarities found with probability 0.1 %, 50 % and 99 %, and the one
    at which the curve is steepest. With --similarity, all numbers of bands are shown instead, or
    those given, with their probabilities at these similarities.
    """
    from neardup.forecast.tune import tune
    from neardup.views.text.tune_text import render

    asked = {name: options[name] for name in ("num_hashes", "bands", "rows")}
    tuning = tune(points, similarity=similarities, **asked)
    if options["json_"]:
        click.echo(json.dumps(tuning.as_dict(), indent=2))
    else:
        click.echo(render(tuning, None if options["all_"] else 10))
