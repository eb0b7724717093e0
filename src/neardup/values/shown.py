"""Base of results that print as the command shows them, and that a notebook shows as a card."""

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

from neardup.commands import imported
from neardup.errors import SpecError, spelled


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


class Curve(NamedTuple):
    """Points of a line, or by themselves: their positions and heights; None is a gap."""

    name: str
    at: Sequence[float]
    heights: Sequence[float | None]
    points: bool = False


class CurveSplit(NamedTuple):
    """A position, and names of the areas under a curve before it and over the curve behind it."""

    at: float
    below: str
    above: str


class Curves(NamedTuple):
    """A chart of curves. ``ticks`` are positions and labels; those of numbers without them.

    The areas of a ``split`` are those of the first curve, of a probability.
    """

    title: str
    across: str  # label of the horizontal axis
    up: str
    curves: Sequence[Curve]
    ticks: Sequence[tuple[float, str]] = ()
    logarithmic: bool = False
    split: CurveSplit | None = None


class Shown:
    """Base of a result; its view is loaded when it is shown.

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

    def plot(
        self, kind: str | None = None, ax: Any = None, *, by: str | None = None, truth: Any = None
    ) -> Any:
        """Draw a chart of the result, by Matplotlib.

        Args:
            kind: Its name; the first one by default. An unknown name is refused with those that
                there are.
            ax: Axes to draw on; new ones without it.
            by: Column of the input, for ``"sources"``.
            truth: Known duplicates, for ``"reliability"``.

        Returns:
            The axes; a notebook shows the figure, and no text.

        Raises:
            DependencyError: Matplotlib is not installed.
            SpecError: There is no such chart of these results, or it does not take ``by`` or
                ``truth``.
        """
        view = _view(self)
        charts = {} if view is None else view.charts
        if not charts:
            raise SpecError(f"there is no chart of these results ({type(self).__name__})")
        if kind is None:
            kind = next(iter(charts))
        if not isinstance(kind, str) or kind not in charts:
            raise SpecError(
                f"there is no chart {spelled(kind)}; expected one of {', '.join(charts)}"
            )
        of = {name: it for name, it in (("by", by), ("truth", truth)) if it is not None}
        for name in of:
            if name not in inspect.signature(charts[kind]).parameters:
                raise SpecError(f"`{name}` does not apply to the chart {kind!r}", "leave it out")
        return view.draw(charts[kind](self, **of), ax)

    def _repr_html_(self) -> str | None:
        view = _view(self)
        return None if view is None or view.card is None else str(view.card(self).html())


def _view(shown: Shown) -> Any:
    """Return the view of a result, None if it has none; results know nothing of views."""
    return imported("neardup.views.all_views:VIEWS").get(shown.shown_as)
