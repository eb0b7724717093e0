"""Any page as one HTML file, which needs nothing else: JSON, one script, one style sheet."""

import json
import re
from dataclasses import replace
from itertools import accumulate
from typing import Any

from neardup import __version__
from neardup.memory_plan import show_size
from neardup.options.option_groups import PageForm
from neardup.values.readable import counted
from neardup.views.html_page import html_page
from neardup.views.page.page_model import Listing, Page

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


#: Bytes of a page besides its list: script, styles, charts.
FRAME = 250_000


def html_of(page: Page, form: PageForm) -> str:
    """Return a page as one HTML file; without anything in its list it has no script."""
    page = _within(page, int(form.max_size))
    data = _data(page, page.listing) if page.listing else {}
    with_script = bool(data and (data["items"] or data.get("brief")))
    return html_page(
        "page/page.html.jinja",
        [f"page/{name}.css" for name in _STYLES],
        [f"page/{name}.js" for name in _SCRIPTS] if with_script else [],
        version=__version__,
        page=page,
        printed=form.printed,
        with_script=with_script,
        data=as_json(data),
    )


def _within(page: Page, size: int) -> Page:
    """Return a page of about so many bytes, which says what of its list was left out."""
    listing = page.listing
    if listing is None:
        return page
    left = size - FRAME - len(as_json(listing.more).encode())
    sizes = accumulate(len(as_json(item).encode()) for item in listing.items)
    fits = sum(one <= left for one in sizes)
    if fits == len(listing.items):
        return page
    says = f"{listing.lead} Only the first {counted(fits, listing.one)}"
    says += f" are in this file, which may have {show_size(size)}; --max-size {larger(size)} "
    says += "leaves out less."
    return replace(page, listing=listing._replace(items=listing.items[:fits], lead=says))


def larger(size: int) -> str:
    """Return a larger size, as an option has it.

    >>> larger(10_000_000)
    '40MB'
    """
    return f"{max(1, 4 * size // 1_000_000)}MB"


def _data(page: Page, listing: Listing) -> dict[str, Any]:
    judge = None if page.judge is None else page.judge._asdict()
    settings = {
        "one": listing.one,
        "many": listing.many,
        "judge": judge,
        "columns": listing.columns,
        **listing.settings,
    }
    chosen = page.filters.data if page.filters else {}
    return {"settings": settings, **chosen, **listing.more, "items": listing.items}


def as_json(value: Any) -> str:
    """Return JSON that may stand in a ``<script>`` of a data type."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
