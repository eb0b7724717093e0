"""Any page as one HTML file, which needs nothing else: JSON, one script, one style sheet."""

import json
import re
from typing import Any

from neardup import __version__
from neardup.views.page.page_model import Listing, Page
from neardup.views.visible import html_page

_STYLES = (
    "base",
    "result",
    "figures",
    "found",
    "list",
    "opened",
    "texts",
    "sides",
    "narrow",
    "print",
)
_SCRIPTS = (
    *("text", "items", "cluster", "list", "found", "review", "opened", "open_cluster"),
    *("open_texts", "open_fields", "examples", "page"),
)
#: Characters that could end the element around the JSON, or change how the page is parsed.
_UNSAFE = re.compile("[<>&\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def html_of(page: Page) -> str:
    """Return a page as one HTML file; without anything in its list it has no script."""
    data = _data(page, page.listing) if page.listing else {}
    with_script = bool(data and (data["items"] or data.get("brief")))
    return html_page(
        "page/page.html.jinja",
        [f"page/{name}.css" for name in _STYLES],
        [f"page/{name}.js" for name in _SCRIPTS] if with_script else [],
        version=__version__,
        page=page,
        with_script=with_script,
        data=as_json(data),
    )


def _data(page: Page, listing: Listing) -> dict[str, Any]:
    judge = None if page.judge is None else page.judge._asdict()
    settings = {"one": listing.one, "many": listing.many, "judge": judge, **listing.settings}
    chosen = page.filters.data if page.filters else {}
    return {"settings": settings, **chosen, **listing.more, "items": listing.items}


def as_json(value: Any) -> str:
    """Return JSON that may stand in a ``<script>`` of a data type."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
