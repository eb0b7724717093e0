"""A page as plain values: numbers, charts, and a list whose items open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from neardup.views.view import Row


class Step(NamedTuple):
    """Something that was done, and the options of the command line that ask for it."""

    name: str
    says: str
    options: str = ""


class Bars(NamedTuple):
    """Bars from left to right, below each other: label, number, and a length from 0 to 1."""

    name: str
    says: str
    rows: Sequence[tuple[str, str, float]]


class Histogram(NamedTuple):
    """Bars next to each other: label and number, drawn on a logarithmic scale.

    ``ticks`` are labels below it, from its left end to its right end; ``line`` is where a
    threshold is, from 0 to 1.
    """

    name: str
    says: str
    bars: Sequence[tuple[str, int]]
    ticks: Sequence[str]
    line: float


class LineChart(NamedTuple):
    """Shares along time as a line, with the number of documents of each below it.

    ``points`` are label, remark, share from 0 to 1 or None where it is not shown, and documents;
    ``top`` is the share at the upper end.
    """

    name: str
    says: str
    points: Sequence[tuple[str, str, float | None, int]]
    top: float
    broad: bool = True


class PageBar(NamedTuple):
    """A cell with a bar: from the left, or with ``against`` from the middle to both sides."""

    length: float
    against: float | None = None


class NumberCell(NamedTuple):
    """A cell with a number in words, such as a share."""

    text: str


class SmallTable(NamedTuple):
    """A table that is shown as it is; a ``broad`` one has the width of the page."""

    name: str
    says: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str | int | NumberCell | PageBar]]
    broad: bool = False


class Figures(NamedTuple):
    """A section of charts and tables; with ``folded``, its label, it is closed at first."""

    title: str
    short: str  # its name at the top of the page
    shown: Sequence[Bars | Histogram | LineChart | SmallTable]
    folded: str = ""
    printed: bool = True


class HeatMap(NamedTuple):
    """Whose documents are duplicates of whose; its numbers filter the list."""

    column: str  # whose values are compared
    names: list[str]  # the commonest values, and the label of the others
    counts: Sequence[Sequence[int]]  # documents, by the values of the removed and the kept one
    cells: np.ndarray  # int64[documents]: ``100 * removed + kept`` of each removed one; -1 else
    steps: dict[int, list[int]]  # removed ones of each cell, from each step of the slider on


class Filters(NamedTuple):
    """A slider, bars of a histogram and cells of a table, which filter the list."""

    data: Mapping[str, Any]  # as the script takes it, see `neardup.views.page.page_charts`
    says: str  # a remark below the bars
    heat: HeatMap | None = None


class Mark(NamedTuple):
    """Marked characters of a text, and the text that they lead to, their source.

    Attributes:
        name: Of the source, for the legend.
        heading: Of the source; without it they lead nowhere.
        about: A sentence on it.
        kind: ``"copy"``, ``"within"``, ``"boilerplate"`` or ``"match"``.
        colour: Number of the source among those of the text; each has another colour.
        here: Where the characters are, where the page has no texts.
        text: Of the source, before, in and behind the same words; None without texts.
    """

    name: str
    heading: str
    about: str
    kind: str
    colour: int = 0
    here: str = ""
    text: Sequence[str] | None = None


@dataclass(frozen=True)
class Texts:
    """A text with marked parts.

    Attributes:
        heading: Its name.
        about: A sentence on it.
        parts: Text, number of its mark or -1, and whether it is changed; None without texts.
        marks: The marks.
        cut: Whether only the beginning is there.
    """

    heading: str
    about: str
    parts: Sequence[tuple[str, int, bool]] | None
    marks: Sequence[Mark] = ()
    cut: bool = False

    def data(self) -> dict[str, Any]:
        marks = [mark._asdict() for mark in self.marks]
        parts = None
        if self.parts is not None:
            parts = [[text, mark, int(changed)] for text, mark, changed in self.parts]
        found = {"kind": "texts", "heading": self.heading, "about": self.about, "parts": parts}
        return {**found, "marks": marks, "cut": self.cut}


@dataclass(frozen=True)
class ComparedFields:
    """A table of values: of the fields of two records, or of the records of a cluster.

    Attributes:
        heading: Its name.
        about: A sentence on it.
        heads: Names of the columns.
        rows: Cells of each row.
        numbers: Columns of numbers.
        soft: Rows at the end that are sums.
        pair: Number and id of both records, where a person can judge them.
    """

    heading: str
    about: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int] = ()
    soft: int = 0
    pair: Sequence[tuple[int, str]] = ()

    def data(self) -> dict[str, Any]:
        return {"kind": "fields", **vars(self)}


@dataclass(frozen=True)
class Item:
    """A line of the list, and what opens from it.

    Attributes:
        detail: What opens.
        name: An id or so.
        says: Remarks, such as numbers.
        text: A text whose beginning is shown.
        also: More names that are searched.
        group: Number of its group.
        sort: Its key in orders but the first, ascending.
        values: Values of columns by which the list is filtered and sorted, by their names.
    """

    detail: Texts | ComparedFields
    name: str = ""
    says: Sequence[str] = ()
    text: str = ""
    also: Sequence[str] = ()
    group: int = 0
    sort: Mapping[str, float | str] = field(default_factory=dict)
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """Return it as the script takes it."""
        found = {**vars(self), **self.detail.data()}
        del found["detail"]
        return found


class Judging(NamedTuple):
    """A question on two documents; the file has ``id_a``, ``id_b`` and ``duplicate``.

    Attributes:
        question: The question.
        right: The button for yes.
        wrong: The button for no.
        file: Name of the file.
        keys: The keys of both buttons.
        key: Of the marks in the browser: equal for pages of the same result.
    """

    question: str
    right: str
    wrong: str
    file: str
    key: str
    keys: str = "yn"


def by_columns(columns: Sequence[str]) -> list[tuple[str, str]]:
    """Return the orders of a list by the values of columns."""
    return [(f"column {k}", f"By {name}") for k, name in enumerate(columns)]


class Listing(NamedTuple):
    """The list of a page.

    Attributes:
        title: Heading.
        one: Name of an item; ``many`` of them.
        lead: How many there are, and whether some are left out.
        search: Label of the field for words.
        nothing: A sentence that is shown where nothing is open.
        items: The items, each as the script takes it.
        orders: Names and labels of orders; the first one is that of the items.
        groups: Numbers and labels of groups, after that of all, whose number is empty.
        columns: Names of columns whose values items have.
        settings: More for the script.
        more: More data for the script.
        examples: Which of them are printed.
    """

    title: str
    one: str
    many: str
    lead: str
    search: str
    nothing: str
    items: Sequence[dict[str, Any]]
    orders: Sequence[tuple[str, str]] = ()
    groups: Sequence[tuple[str, str]] = ()
    columns: Sequence[str] = ()
    settings: Mapping[str, Any] = {}
    more: Mapping[str, Any] = {}
    examples: str = ""


@dataclass(frozen=True)
class Page:
    """All that a page shows.

    Attributes:
        title: Heading.
        date: When the result was made.
        verdict: The result in a few sentences.
        shares: Kinds and sizes of parts that have colours: ``"kept"``, ``"near"``, ``"words"``,
            ``"exact"``.
        numbers: The main numbers.
        remarks: Warnings.
        figures: Charts and tables before the list.
        filters: Of the list.
        listing: The list; None where there is none.
        steps: How it was done, below ``method``.
        paragraph: The same for the methods of a paper, and references.
        charts: Charts and tables after the list.
        judge: The question on pairs; None where none is judged.
        footer: A sentence at the end.
    """

    title: str
    date: str
    verdict: str = ""
    shares: Sequence[tuple[str, int]] = ()
    numbers: Sequence[Row] = ()
    remarks: Sequence[str] = ()
    figures: Figures | None = None
    filters: Filters | None = None
    listing: Listing | None = None
    method: str = "How it was done"
    steps: Sequence[Step] = ()
    paragraph: Sequence[str] = ()
    charts: Figures | None = None
    judge: Judging | None = None
    footer: str = ""
