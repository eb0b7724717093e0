"""Base of results that print as the command shows them, and that a notebook shows as a card."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from neardup.errors import DependencyError, SpecError


class Bar(NamedTuple):
    """A bar of a chart: its length is a share, 0 to 1, and a mark may be at another one."""

    label: str
    share: float
    note: str
    mark: float | None = None


class Chart(NamedTuple):
    """A chart of horizontal bars."""

    title: str
    bars: Sequence[Bar]


class Views(NamedTuple):
    """How a kind of result is shown."""

    text: Callable[[Any], str]
    html: Callable[[Any], str]
    chart: Callable[[Any], Chart] | None = None


#: Loads the views by the name of the class of a result, when the first one is shown. `neardup.api`
#: sets it, since results know nothing of reports.
load_views: Callable[[], Mapping[str, Views]] = dict


class Shown:
    """Base of a result; its views come from `load_views`.

    A plain shell shows its text, and `print` prints it.
    """

    __slots__ = ()

    def __str__(self) -> str:
        views = _views(self)
        return object.__repr__(self) if views is None else views.text(self)

    __repr__ = __str__

    def plot(self, ax: Any = None) -> Any:
        """Draw the chart that a notebook shows with it, by Matplotlib.

        Args:
            ax: Axes to draw on; new ones without it.

        Returns:
            The axes.

        Raises:
            DependencyError: Matplotlib is not installed.
            SpecError: There is no chart of these results.
        """
        views = _views(self)
        if views is None or views.chart is None:
            raise SpecError(f"there is no chart of these results ({type(self).__name__})")
        return _drawn(views.chart(self), ax)

    def _repr_html_(self) -> str | None:
        views = _views(self)
        return None if views is None else views.html(self)


def _views(shown: Shown) -> Views | None:
    known = load_views()
    names = (kind.__name__ for kind in type(shown).__mro__)
    return next((known[name] for name in names if name in known), None)


def _drawn(chart: Chart, ax: Any) -> Any:
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise DependencyError(
                "Matplotlib is not installed", "pip install matplotlib"
            ) from error
        ax = pyplot.subplots(figsize=(7, 1 + 0.35 * len(chart.bars)))[1]
    rows = range(len(chart.bars))
    ax.barh(rows, [bar.share for bar in chart.bars], color="#2a9d8f")
    for row, bar in zip(rows, chart.bars, strict=True):
        ax.annotate(bar.note, (bar.share, row), (4, 0), textcoords="offset points", va="center")
        if bar.mark is not None:
            ax.plot([bar.mark] * 2, [row - 0.4, row + 0.4], color="#e76f51")
    ax.set_yticks(rows, [bar.label for bar in chart.bars])
    ax.invert_yaxis()
    ax.set_xticks([])
    ax.set_xlim(0, 1.3)
    ax.set_title(chart.title, loc="left")
    return ax
