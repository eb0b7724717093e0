"""Two texts side by side as a page that needs nothing else, for any browser."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape

from neardup.report.differences import Difference
from neardup.report.explain import View
from neardup.report.visible import visible

__all__ = ["page"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #d0d5db;
  --del: #ffd9d6; --ins: #cdf2d4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e6ea; --paper: #15181c; --line: #3a4149;
  --del: #64211d; --ins: #17492a; } }
body { margin: 2rem auto; max-width: 90rem; padding: 0 1rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
.texts { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
section { min-width: 0; }
pre { border: 1px solid var(--line); border-radius: .4rem; padding: .8rem; margin: 0;
  white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate;
  font: .95rem/1.6 system-ui, sans-serif; }
del { background: var(--del); color: inherit; }
ins { background: var(--ins); color: inherit; }
@media (max-width: 45rem) { .texts { grid-template-columns: 1fr; } }
"""


def page(shown: View) -> str:
    """Return a page with a headline, facts, and the texts with what differs marked in each.

    Nothing in it is loaded or run: it has no script, and its policy forbids all but its own style.
    """
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    if len(shown.texts) == 2:
        texts = [_side(shown.parts, "text_a", "del"), _side(shown.parts, "text_b", "ins")]
    else:
        texts = [_html(text) for text in shown.texts]
    columns = "".join(
        f'<section><h2>{_html(name)}</h2><pre dir="auto" tabindex="0">{text}</pre></section>\n'
        for name, text in zip(shown.names, texts, strict=False)
    )
    facts = "".join(
        f"<dt>{_html(label)}</dt><dd>{_html(told)}</dd>\n" for label, told in shown.facts
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_html(shown.head)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{_html(shown.head)}</h1>\n<dl>\n{facts}</dl>\n"
        + (f'<div class="texts">\n{columns}</div>\n' if columns else "")
        + "</main>\n</body>\n</html>\n"
    )


def _side(parts: Sequence[Difference], side: str, tag: str) -> str:
    """One of the texts, with what the other has not in a tag."""
    shown = []
    for part in parts:
        own = _html(getattr(part, side))
        shown.append(f"<{tag}>{own}</{tag}>" if own and part.op != "equal" else own)
    return "".join(shown)


def _html(text: str) -> str:
    return escape(visible(text))
