"""Public functions and classes: typed, documented, thin."""

from collections.abc import Mapping

from neardup.frame import shown


def _views() -> Mapping[str, shown.Views]:
    from neardup.api.finished.notebook import VIEWS

    return VIEWS


shown.load_views = _views
