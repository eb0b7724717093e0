"""Pages that load nothing: values are escaped, and the browser runs only our scripts."""

import base64
import hashlib
import html
import math
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

from neardup.errors import DependencyError
from neardup.values.readable import percent
from neardup.values.visible import visible


def need_jinja() -> None:
    """Refuse, before any work, what ends in a page if Jinja is not installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise DependencyError("pages need Jinja", "pip install 'neardup[report]'") from error


def html_page(path: str, styles: Sequence[str], scripts: Sequence[str] = (), **values: Any) -> str:
    """Render the page of a template, that needs nothing else.

    Its policy names the one script and the one style sheet that are in it by their digests.
    Templates, styles and scripts are files of this folder; values are escaped and made visible.
    """
    need_jinja()
    import jinja2

    style = "\n".join(map(_asset, styles))
    script = '"use strict";\n(() => {\n' + "\n".join(map(_asset, scripts)) + "})();\n"
    policy = ["default-src 'none'", f"style-src {_digest(style)}"]
    if scripts:
        policy += [f"script-src {_digest(script)}", "require-trusted-types-for 'script'"]
    policy += ["img-src data:", "base-uri 'none'", "form-action 'none'"]
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        loader=jinja2.FunctionLoader(_asset),
    )
    environment.filters |= {"log1p": math.log1p, "number": "{:,}".format, "unbroken": _unbroken}
    environment.filters |= {"share": percent, "path": _path, "options": _options}
    values |= {"policy": "; ".join(policy), "style": style, "script": script}
    return environment.get_template(path).render(values)


def _asset(path: str) -> str:
    return resources.files("neardup.views").joinpath(path).read_text(encoding="utf-8")


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def _path(line: Any) -> str:
    """Return the path of a line of shares, with gaps where there is none, in hundredths."""
    width, drawn, found = 100 / len(line.points), False, []
    for k, (*_, share, _count) in enumerate(line.points):
        if share is not None:
            at = f"{width * (k + 0.5):.3f} {100 - 100 * share / line.top:.2f}"
            found.append(f"{'L' if drawn else 'M'}{at}")
            if not drawn:  # a point by itself is seen too
                found.append("h0.01")
        drawn = share is not None
    return "".join(found)


def _options(text: str) -> str:
    """Return a text as HTML, in which the name of an option is not broken."""
    return re.sub(r"--[a-z-]+", r'<span class="option">\g<0></span>', html.escape(visible(text)))


def _unbroken(text: str) -> str:
    """Keep numbers and their units on one line."""
    # Escapes stay.
    return type(text)(re.sub(r"(?<=\d) (?=%|B\b|[kMGT]B\b)", "\u00a0", text))
