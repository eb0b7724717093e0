"""Cards of results for notebooks: a verdict, a small table, a chart.

Only explanations have texts. Nothing is loaded, no script runs, and whatever comes from outside is
escaped.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neardup.values.readable import counted, percent
from neardup.values.shown import Bar, Chart
from neardup.values.visible import visible
from neardup.views.compared import view
from neardup.views.differences import Difference, Fold, differences, folded
from neardup.views.page.link_page import odds_histogram
from neardup.views.page.page_charts import by_similarity
from neardup.views.text import audit_text, cluster_text, link_text, plan_text, summary_text
from neardup.views.view import Row

if TYPE_CHECKING:
    from neardup.api.finished.link_runs import LinkRun
    from neardup.api.finished.runs import DedupRun
    from neardup.forecast.plan import Plan
    from neardup.frame.run import Run
    from neardup.inspect.audit import Audit
    from neardup.inspect.compare import Comparison
    from neardup.inspect.explain import Explanation
    from neardup.inspect.one_cluster import Cluster, Member

_OF_SHINGLES = "Shares of shingles; mark: the threshold"
_EQUAL = (
    "to the kept document: all shingles are the same, though those of some stand in another order"
)
#: Equal words that are shown before and after each difference.
_CONTEXT = 20
_FULL, _LEFT, _HEIGHT = 240, 150, 20  # pixels: the longest bar, its begin, and a row


class Card(NamedTuple):
    """A verdict, a small table, a chart, and texts as HTML."""

    head: str = ""
    rows: Sequence[Row] = ()
    chart: Chart | None = None
    texts: str = ""

    def html(self) -> str:
        """Return it as HTML, in which nothing is active."""
        style = "max-width:60em" if self.rows else "overflow-x:auto"
        head = f"<b>{_escaped(self.head)}</b>" if self.head else ""
        # A remark on a number has a cell by itself.
        numbered = any(row.number for row in self.rows)
        rows = "".join(f"<tr>{_cells(row, numbered)}</tr>" for row in self.rows)
        table = f"<table>{rows}</table>" if rows else ""
        chart = "" if self.chart is None else _chart(*self.chart)
        return f'<div style="{style}">{head}{table}{chart}{self.texts}</div>'


def text_of_run(run: Run[Any]) -> str:
    """Return the main numbers of a run as the command shows them, in the words of Python."""
    return _in_python(summary_text.aligned(run.summary))


def of_dedup(run: DedupRun) -> Card:
    """Return the verdict of a run, and how similar the removed documents are."""
    counts, spec = run.summary["counts"], run.spec
    removed = counts["removed"]
    head = f"{removed:,} of {counted(counts['documents'], 'document')} are duplicates."
    lines = list(summary_text.found(run.summary))
    if not spec.only_same:
        lines.append(summary_text.recall(run.summary))
        lines.append(Row("threshold", f"{spec.threshold:g}", f"by {spec.shingle}"))
    equal = int((run.duplicates.column("similarity").to_numpy() == 1).sum())
    if equal != counts["same"] + counts["equal_words"]:
        lines.append(Row("similarity 1", f"{equal:,}", _EQUAL))
    return Card(head, _rows(lines), chart_of_dedup(run) if removed else None)


def chart_of_dedup(run: DedupRun) -> Chart:
    """Return how similar the removed documents are."""
    found = np.asarray(run.duplicates.column("similarity").to_numpy())
    labels, numbers = by_similarity(found, run.spec.threshold)
    most = max(1, *numbers)
    bars = [Bar(k, n / most, f"{n:,}") for k, n in zip(labels, numbers, strict=True)]
    return Chart("Removed documents by similarity", bars)


def of_run(run: Run[Any]) -> Card:
    """Return the main numbers of a run."""
    return Card(f"neardup {run.command}", _rows(summary_text.rows(run.summary)))


def of_audit(audit: Audit) -> Card:
    """Return the results of an audit, and the S-curve."""
    values = audit.as_dict()
    left = 0.0 if audit.kept_near_share is None else audit.kept_near_share
    head = f"{percent(left)} of the kept documents still have a near-duplicate among them."
    rows = [*audit_text.kept(values), *audit_text.recall(values), *audit_text.removed(values)]
    return Card(head, rows, chart_of_audit(audit))


def chart_of_audit(audit: Audit) -> Chart:
    """Return the S-curve, observed and predicted."""
    bars = []
    for line in audit.curve:
        label, share = f"{line['begin']:g} to {line['end']:g}", line["observed"]
        note = f"{percent(share)} of {counted(line['pairs'], 'pair')}"
        bars.append(Bar(label, share, note, line["predicted"]))
    return Chart("Pairs that share a bucket, by similarity; mark: predicted", bars)


def of_plan(plan: Plan) -> Card:
    """Return the estimates of a plan."""
    rows = [*plan_text.found(plan), *plan_text.taken(plan)]
    rows += [Row("warning", "", one.text) for one in plan.warnings]
    near = plan_text.range_of(plan.near_duplicates)
    head = f"{near} of the documents with different words are near-duplicates."
    return Card(head, rows, chart_of_plan(plan))


def chart_of_plan(plan: Plan) -> Chart:
    """Return the shares of the sample."""
    labels = ("equal words", "near-duplicates", "compared")
    shares = [of.share for of in (plan.equal_tokens, plan.near_duplicates, plan.compared)]
    bars = [Bar(label, n, percent(n)) for label, n in zip(labels, shares, strict=True)]
    return Chart("Shares of the sample", bars)


def of_explanation(found: Explanation) -> Card:
    """Return why a document was removed or kept, with the differences marked."""
    shown = view(found)
    parts = [_part(part) for part in folded(shown.parts, _CONTEXT)]
    if any(part.op != "equal" for part in shown.parts):
        only = [f"only in {one}" for one in shown.names]
        legend = f"{_marked('del', only[0])} {_marked('ins', only[1])}"
        parts.insert(0, f'<span style="opacity:.7">{legend}</span>\n\n')
    texts = "".join(parts) or "".join(map(_escaped, shown.texts[:1]))
    body = f'<div style="white-space:pre-wrap;margin-top:8px">{texts}</div>' if texts else ""
    chart = None if found.comparison is None else chart_of_explanation(found)
    return Card(shown.head, shown.notes, chart, body)


def chart_of_explanation(found: Explanation) -> Chart:
    """Return what two documents share."""
    if found.comparison is None:
        return Chart(_OF_SHINGLES, [])
    return chart_of_comparison(found.comparison)


def of_comparison(found: Comparison) -> Card:
    """Return what two texts share."""
    head = "Duplicates" if found.duplicates else "No duplicates"
    rows = [Row("shared", f"{found.shared:,}", "shingles of both")]
    rows += [
        Row(f"only in the {which}", f"{number:,}", f"of {counted(tokens, 'token')}")
        for which, number, tokens in (
            ("first", found.only_a, found.tokens_a),
            ("second", found.only_b, found.tokens_b),
        )
    ]
    rows += [Row("note", "", found.note)] if found.note else []
    head = f"{head}: similarity {found.similarity:.4f}, threshold {found.threshold:g}."
    return Card(head, rows, chart_of_comparison(found))


def chart_of_comparison(pair: Comparison) -> Chart:
    """Return what two texts share."""
    labels = ("similarity", "first in second", "second in first")
    shares = zip(labels, (pair.similarity, pair.containment_a, pair.containment_b), strict=True)
    return Chart(
        _OF_SHINGLES, [Bar(label, one, f"{one:.4f}", pair.threshold) for label, one in shares]
    )


def of_cluster(found: Cluster) -> Card:
    """Return the texts of a cluster side by side, with their differences from the first marked."""
    cells = [(cluster_text.about(one), _side(found, one)) for one in found.members]
    style = "vertical-align:top;text-align:left;min-width:20em"
    heads = "".join(f'<td style="{style}"><b>{_escaped(head)}</b></td>' for head, _ in cells)
    texts = "".join(f'<td style="{style};white-space:pre-wrap">{text}</td>' for _, text in cells)
    table = f"<table><tr>{heads}</tr><tr>{texts}</tr></table>"
    return Card(cluster_text.headline(found), texts=table)


def _side(found: Cluster, member: Member) -> str:
    """Return a text, with the words marked that differ from those of the first one."""
    if member is found.members[0]:
        return _escaped(member.text)
    shown = ""
    for part in differences(found.members[0].text, member.text):
        shown += _escaped(part.text_b) if part.op == "equal" else _marked("ins", part.text_b)
    return shown


#: Options and commands in remarks, and the same in Python.
_CALLS = {
    "neardup audit": "run.audit()",
    "--max-bucket": "max_bucket",
    "--min-words ": "min_words=",
    "neardup pairs OUT --texts": "run.pairs()",
    "--signs all and --keep-case": "signs='all' and keep_case=True",
}


def _rows(rows: Iterable[Row]) -> list[Row]:
    return [row._replace(remark=_in_python(row.remark)) for row in rows]


def _in_python(remark: str) -> str:
    for command, call in _CALLS.items():
        remark = remark.replace(command, call)
    return remark


def in_lines(text: Callable[[Any], str]) -> Callable[[Any], Card]:
    """Return what shows the text of a result as it is."""
    return lambda result: Card(texts=_pre(text(result)))


def of_linkage(run: LinkRun) -> Card:
    """Return the main numbers and the histogram, without values of records."""
    counts = np.log1p([count for _, count in odds_histogram(run._linked)])
    bars = 80 * counts / max(1.0, counts.max())
    rects = "".join(
        f'<rect x="{k * 10}" y="{80 - bar:.1f}" width="9" height="{bar:.1f}" fill="#2a9d8f"/>'
        for k, bar in enumerate(bars.tolist())
    )
    text = _pre(link_text.render(run.summary, False))
    size = f'width="{10 * len(bars)}" height="80"'
    chart = f'<svg {size} role="img" aria-label="Candidates by log odds">{rects}</svg>'
    return Card(texts=text + chart)


def _pre(text: str) -> str:
    return f"<pre>{_escaped(text)}</pre>"


def _cells(row: Row, numbered: bool) -> str:
    cells = [("left;opacity:.7", row.label), ("right", row.number), ("left", row.remark)]
    del cells[1 : 1 if numbered else 2]
    return "".join(f'<td style="text-align:{how}">{_escaped(what)}</td>' for how, what in cells)


def _chart(title: str, bars: Sequence[Bar]) -> str:
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
