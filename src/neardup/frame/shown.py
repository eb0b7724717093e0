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


#: Loads the table of views by command and kind, when the first result is shown. `neardup.api` sets
#: it, since results know nothing of views.
load_views: Callable[[], Mapping[tuple[str, str], Any]] = dict


class Shown:
    """Base of a result; its view comes from `load_views`.

    A plain shell shows its text, and `print` prints it.
    """

    __slots__ = ()

    @property
    def shown_as(self) -> tuple[str, str]:
        """Command and kind of the result, such as ``("dedup", "audit")``."""
        raise NotImplementedError

    def __str__(self) -> str:
        view = _view(self)
        return object.__repr__(self) if view is None else str(view.text(self))

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
        view = _view(self)
        if view is None or view.chart is None:
            raise SpecError(f"there is no chart of these results ({type(self).__name__})")
        return _drawn(view.chart(self), ax)

    def _repr_html_(self) -> str | None:
        view = _view(self)
        return None if view is None or view.card is None else str(view.card(self).html())


def _view(shown: Shown) -> Any:
    """Return the view of a result; None where views are not loaded."""
    return load_views().get(shown.shown_as)


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
