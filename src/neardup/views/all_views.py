"""The views of all results in one table, and their pages as files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from neardup.commands import COMMANDS
from neardup.errors import OutputError
from neardup.output.outfile import check_file, write_file
from neardup.views import cards, charts
from neardup.views.compared import explained
from neardup.views.html_page import need_jinja
from neardup.views.page.dedup_page import dedup_page
from neardup.views.page.index_page import index_page
from neardup.views.page.link_page import link_page
from neardup.views.page.listed_page import listed_page
from neardup.views.page.passages_page import passages_page
from neardup.views.page.write import html_of
from neardup.views.text import (
    audit_text,
    cluster_text,
    evaluate_text,
    link_text,
    passage_text,
    plan_text,
    tune_text,
)
from neardup.views.text.methods_text import methods_of
from neardup.views.view import PageOptions, View

#: Endings that no page has.
_FILES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx", ".pdf", ".png", ".docx")

_DEDUP = View(cards.text_of_run, cards.of_dedup, charts.OF_DEDUP, dedup_page)
_PASSAGES = View(cards.text_of_run, cards.of_run, charts.OF_PASSAGES, passages_page)
_LISTED = View(cards.text_of_run, cards.of_run, page=listed_page)

#: By command and kind of result.
VIEWS: dict[tuple[str, str], View] = {
    **{(command, "run"): View(cards.text_of_run, cards.of_run) for command in COMMANDS},
    ("dedup", "run"): _DEDUP,
    ("recluster", "run"): _DEDUP,
    ("dedup", "run on spark"): _DEDUP._replace(page=listed_page),
    ("dedup --against", "run"): _LISTED._replace(charts=charts.OF_AGAINST),
    ("decontaminate", "run"): _LISTED._replace(charts=charts.OF_MATCHES),
    ("passages", "run"): _PASSAGES,
    ("passages", "run on spark"): _PASSAGES,
    ("link", "run"): View(
        lambda run: link_text.render(run.summary, False),
        cards.of_linkage,
        charts.OF_LINKAGE,
        link_page,
    ),
    ("index", "run"): View(page=index_page),
    ("dedup", "plan"): View(plan_text.render, cards.of_plan, {"shares": cards.chart_of_plan}),
    ("passages", "plan"): View(plan_text.render_passages),
    ("dedup", "audit"): View(
        lambda audit: audit_text.render(audit.as_dict()), cards.of_audit, charts.OF_AUDIT
    ),
    ("dedup", "evaluate"): View(evaluate_text.render, cards.in_lines(evaluate_text.render)),
    ("dedup", "explain"): View(
        explained, cards.of_explanation, {"shares": cards.chart_of_explanation}
    ),
    ("dedup", "cluster"): View(cluster_text.render, cards.of_cluster),
    ("passages", "explain"): View(passage_text.render, cards.in_lines(passage_text.render)),
    **{
        ("link", kind): View(text, cards.in_lines(text))
        for kind, text in (
            ("explain", link_text.render_pair),
            ("compare", link_text.render_fields),
            ("record", link_text.render_record),
            ("evaluate", link_text.render_evaluation),
        )
    },
    ("compare", "texts"): View(str, cards.of_comparison, {"shares": cards.chart_of_comparison}),
    ("tune", "bands"): View(tune_text.shown, cards.in_lines(tune_text.shown), charts.OF_TUNING),
    ("bands", "choice"): View(str, cards.in_lines(str), charts.OF_BANDS),
}


def write_report(
    result: Any,
    path: str | os.PathLike[str],
    options: PageOptions,
    inputs: Iterable[str | os.PathLike[str]] = (),
    given: Iterable[str | os.PathLike[str]] = (),
) -> Path:
    """Write the page of a result; only its owner can read it.

    Args:
        result: A run, or an index.
        path: File to write; it appears when complete.
        options: Its content.
        inputs: Files that are never replaced.
        given: Files and folders that were read, in which nothing is written.

    Returns:
        The path.

    Raises:
        DependencyError: Jinja is not installed.
        InputError: A table is damaged; or the input is gone, or has changed, and is needed.
        OutputError: The file exists, or can't be written.
        SpecError: A setting is out of range, or does not apply.
    """
    need_jinja()
    target = check_file(path, inputs, options.form.overwrite, given)
    if Path(path).suffix.lower() in _FILES:
        raise OutputError(
            f"{path} is named as a file of another kind; expected an HTML page",
            "name it .html; a browser prints it as PDF",
        )
    make = VIEWS[result.shown_as].page
    assert make is not None
    page = make(result, options)
    if not page.paragraph:
        page = replace(page, paragraph=methods_of(result.summary).lines)
    return write_file(target, html_of(page, options.form).encode())
