"""Public functions and classes: typed, documented, thin."""

from collections.abc import Mapping
from typing import Any

from neardup.frame import shown


def _views() -> Mapping[tuple[str, str], Any]:
    from neardup.views.all_views import VIEWS

    return VIEWS


shown.load_views = _views
