"""Cards of results for notebooks: a verdict, a small table, a chart.

Only explanations have texts. Nothing is loaded, no script runs, and whatever comes from outside is
escaped.
"""

from __future__ import annotations

import dataclasses
import html
import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neardup.report import audit_text, evaluate_text, plan_text, summary_text
from neardup.report.differences import Difference, Fold, folded
from neardup.report.numbers import counted, percent
from neardup.report.views import render, view
from neardup.report.visible import visible
from neardup.results.shown import Views

if TYPE_CHECKING:
    from neardup.api.runs import Run
    from neardup.forecast.plan import Plan
    from neardup.inspect.audit import Audit
    from neardup.inspect.explain import Explanation
    from neardup.results.any_run import AnyRun

#: Equal words that are shown before and after each difference.
_CONTEXT = 20
_FULL, _LEFT, _HEIGHT = 240, 150, 20  # pixels: the longest bar, its begin, and a row


class Bar(NamedTuple):
    """A bar of a chart: its length is a share, 0 to 1, and a mark may be at another one."""

    label: str
    share: float
    note: str
    mark: float | None = None


def of_run(run: Run) -> str:
    """Return the verdict of a run, and how similar the removed documents are."""
    counts, spec = run.summary["counts"], run.spec
    removed = counts["removed"]
    head = f"{removed:,} of {counted(counts['documents'], 'document')} are duplicates."
    lines = [*summary_text.found(run.summary), summary_text.recall(run.summary)]
    lines.append(("threshold", f"{spec.threshold:g}", f"by {spec.shingle}"))
    rows = _rows(lines)
    found = run.duplicates.column("similarity").to_numpy()
    limits = np.linspace(spec.threshold, 1, 6)
    numbers = [*np.histogram(found[found < 1], limits)[0].tolist(), int((found == 1).sum())]
    labels = [f"{low:.2f} to {high:.2f}" for low, high in itertools.pairwise(limits)]
    most = max(1, *numbers)
    bars = [Bar(k, n / most, f"{n:,}") for k, n in zip([*labels, "1"], numbers, strict=True)]
    return _card(head, rows, bars if removed else (), "Removed documents by similarity")


def of_any(run: AnyRun) -> str:
    """Return the main numbers of what another command has found."""
    return _card(f"neardup {run.command}", _rows(summary_text.rows(run.record)), (), "")


def of_audit(audit: Audit) -> str:
    """Return the results of an audit, and the S-curve."""
    values = audit.as_dict()
    left = 0.0 if audit.kept_near_share is None else audit.kept_near_share
    head = f"{percent(left)} of the kept documents still have a near-duplicate among them."
    rows = [*audit_text.kept(values), *audit_text.recall(values), *audit_text.removed(values)]
    bars = []
    for line in audit.curve:
        label, share = f"{line['begin']:g} to {line['end']:g}", line["observed"]
        note = f"{percent(share)} of {counted(line['pairs'], 'pair')}"
        bars.append(Bar(label, share, note, line["predicted"]))
    return _card(head, rows, bars, "Pairs that share a bucket, by similarity; mark: predicted")


def of_plan(plan: Plan) -> str:
    """Return the estimates of a plan."""
    rows = [*plan_text.found(plan), *plan_text.taken(plan)]
    rows += [("warning", "", one.text) for one in plan.warnings]
    labels = ("exact duplicates", "near-duplicates", "compared")
    shares = [of.share for of in (plan.exact_duplicates, plan.near_duplicates, plan.compared)]
    bars = [Bar(label, n, percent(n)) for label, n in zip(labels, shares, strict=True)]
    head = f"{percent(plan.near_duplicates.share)} of the sample are near-duplicates."
    return _card(head, rows, bars, "Shares of the sample")


def of_explanation(found: Explanation) -> str:
    """Return why a document was removed or kept, with the differences marked."""
    shown, pair = view(found), found.comparison
    bars: list[Bar] = []
    if pair is not None:
        labels = ("similarity", "first in second", "second in first")
        shares = zip(labels, (pair.similarity, pair.containment_a, pair.containment_b), strict=True)
        bars = [Bar(label, one, f"{one:.4f}", pair.threshold) for label, one in shares]
    parts = [_part(part) for part in folded(shown.parts, _CONTEXT)]
    if any(part.op != "equal" for part in shown.parts):
        only = [f"only in {one}" for one in shown.names]
        legend = f"{_marked('del', only[0])} {_marked('ins', only[1])}"
        parts.insert(0, f'<span style="opacity:.7">{legend}</span>\n\n')
    texts = "".join(parts) or "".join(map(_escaped, shown.texts[:1]))
    body = f'<div style="white-space:pre-wrap;margin-top:8px">{texts}</div>' if texts else ""
    return _card(shown.head, shown.notes, bars, "Shares of shingles; mark: the threshold", body)


def _rows(rows: Iterable[summary_text.Row]) -> list[tuple[str, ...]]:
    return [(label, value, _in_python(remark)) for label, value, remark in rows]


def _text_of_run(run: AnyRun) -> str:
    return _in_python(summary_text.aligned(run.record))


def _in_python(remark: str) -> str:
    return remark.replace("neardup audit", "run.audit()").replace("--max-bucket", "max_bucket")


def _pre(text: str) -> str:
    return f"<pre>{_escaped(text)}</pre>"


def _text_of_explanation(found: Explanation) -> str:
    return render(dataclasses.replace(view(found), texts=()))


#: By class of result: the text that print() and the command show, and the card of a notebook.
VIEWS = {
    "Run": Views(_text_of_run, of_run),
    "Against": Views(_text_of_run, of_any),
    "FromSpark": Views(_text_of_run, of_any),
    "Decontamination": Views(_text_of_run, of_any),
    "PassageRun": Views(_text_of_run, of_any),
    "PassageExplanation": Views(lambda found: found.render(), lambda found: _pre(found.render())),
    "Audit": Views(lambda audit: audit_text.render(audit.as_dict()), of_audit),
    "Plan": Views(plan_text.render, of_plan),
    "Explanation": Views(_text_of_explanation, of_explanation),
    "Evaluation": Views(
        evaluate_text.render,
        lambda found: _pre(evaluate_text.render(found)),
    ),
}


def _card(
    head: str, rows: Iterable[tuple[str, ...]], bars: Iterable[Bar], title: str, more: str = ""
) -> str:
    cells = "".join(f"<tr>{_cells(*row)}</tr>" for row in rows)
    return (
        f'<div style="max-width:60em"><b>{_escaped(head)}</b><table>{cells}</table>'
        f"{_chart(list(bars), title)}{more}</div>"
    )


def _cells(label: str, value: str, remark: str | None = None) -> str:
    """Return the cells of a row; a remark on a number has a separate cell."""
    cells = [("left;opacity:.7", label), ("left" if remark is None else "right", value)]
    cells += [] if remark is None else [("left", remark)]
    return "".join(f'<td style="text-align:{how}">{_escaped(what)}</td>' for how, what in cells)


def _chart(bars: list[Bar], title: str) -> str:
    """Return horizontal bars; nothing without bars."""
    if not bars:
        return ""
    lines = []
    for row, bar in enumerate(bars):
        y, width = row * _HEIGHT, round(_FULL * bar.share, 1)
        middle = y + 14
        lines.append(
            f'<text x="{_LEFT - 8}" y="{middle}" text-anchor="end">{_escaped(bar.label)}</text>'
            f'<rect x="{_LEFT}" y="{y + 3}" width="{width}" height="14" fill="#2a9d8f"/>'
            f'<text x="{_LEFT + _FULL + 8}" y="{middle}">{_escaped(bar.note)}</text>'
        )
        if bar.mark is not None:
            x = _LEFT + round(_FULL * bar.mark, 1)
            lines.append(f'<path d="M{x} {y + 1}v18" stroke="#e76f51" stroke-width="2"/>')
    return (
        f'<div style="opacity:.7;margin-top:8px">{_escaped(title)}</div>'
        f'<svg width="620" height="{len(bars) * _HEIGHT}" role="img" aria-label="{_escaped(title)}"'
        f' font-size="12" fill="currentColor">{"".join(lines)}</svg>'
    )


def _part(part: Difference | Fold) -> str:
    if isinstance(part, Fold):
        return f"<i>[... {counted(part.words, 'equal word')} ...]</i>"
    if part.op == "equal":
        return _escaped(part.text_b)
    return _marked("del", part.text_a) + _marked("ins", part.text_b)


def _marked(tag: str, text: str) -> str:
    return f"<{tag}>{_escaped(text)}</{tag}>" if text else ""


def _escaped(text: str) -> str:
    return html.escape(visible(text))
