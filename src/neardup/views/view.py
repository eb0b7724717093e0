"""Views of a result: in a terminal, in a notebook, as a chart and as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from neardup.options.option_groups import PageForm
from neardup.values.shown import Chart, Curves

if TYPE_CHECKING:
    from neardup.deduplication.clock import Listener
    from neardup.views.cards import Card
    from neardup.views.page.page_model import Page


class Row(NamedTuple):
    """A number with its name and a remark; ``kind`` is that of a share, whose colour it has."""

    label: str
    number: str = ""
    remark: str = ""
    kind: str = ""


class PageOptions(NamedTuple):
    """Content of a page.

    Attributes:
        form: How it is written.
        show: Columns of the input that are shown next to ids.
        by: A column for a table of whose documents are duplicates of whose.
        context: Equal words before and after each difference.
        threads: Threads that read.
        listener: Called with notes for the user.
        evaluation: How the result agrees with a truth.
        min_group: Documents of the smallest group that is shown by itself.
    """

    form: PageForm = PageForm()
    show: Sequence[str] = ()
    by: str | None = None
    context: int = 40
    threads: int | None = None
    listener: Listener | None = None
    evaluation: dict[str, Any] | None = None
    min_group: int = 10

    @property
    def title(self) -> str | None:
        """Heading; by the input or the folder without it."""
        return self.form.title

    @property
    def most(self) -> int:
        """Items that are listed with all that is known of them, at most."""
        return self.form.max_items

    @property
    def texts(self) -> bool:
        """Whether texts of documents may be in it."""
        return self.form.texts


class View(NamedTuple):
    """The looks of a kind of result.

    Attributes:
        text: In a terminal, as ``print`` and the command show it.
        card: In a notebook.
        charts: What ``plot`` draws, by its names; the first one without a name.
        page: In a browser.
    """

    text: Callable[[Any], str] | None = None
    card: Callable[[Any], Card] | None = None
    charts: Mapping[str, Callable[..., Chart | Curves]] = {}
    page: Callable[[Any, PageOptions], Page] | None = None

    def draw(self, chart: Chart | Curves, ax: Any) -> Any:
        """Draw a chart on axes, or on new ones where they are None."""
        from neardup.views.drawing import draw

        return draw(chart, ax)
