"""Base of results that print as the command shows them, and that a notebook shows as a card."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Views(NamedTuple):
    """How a kind of result is shown."""

    text: Callable[[Any], str]
    html: Callable[[Any], str]


#: Loads the views by the name of the class of a result, when the first one is shown. `neardup.api`
#: sets it, since results know nothing of reports.
load_views: Callable[[], Mapping[str, Views]] = dict


class Shown:
    """Base of a result; its views come from `load_views`.

    Its text is what a plain shell shows, and what `print` prints.
    """

    __slots__ = ()

    def __str__(self) -> str:
        views = _views(self)
        return object.__repr__(self) if views is None else views.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        views = _views(self)
        return None if views is None else views.html(self)


def _views(shown: Shown) -> Views | None:
    known = load_views()
    names = (kind.__name__ for kind in type(shown).__mro__)
    return next((known[name] for name in names if name in known), None)
