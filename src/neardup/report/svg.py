"""SVG as Matplotlib writes it, made fit to stand inside a page."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from xml.etree import ElementTree

__all__ = ["tidy"]

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_LONG = re.compile(r"-?\d+\.\d{3,}")
_LENGTH = re.compile(r"([\d.]+)pt")

Element = ElementTree.Element


def tidy(svg: bytes, title: str, description: str, colours: Mapping[str, str]) -> str:
    """Return the ``<svg>`` element with a title and a description, and without what a page forbids.

    Style sheets and metadata go, style attributes become attributes of their own, so that a page
    may refuse inline styles. Only ids that are referred to stay; they get names that begin with a
    digest of the content.

    Args:
        svg: A document as Matplotlib writes it.
        title, description: Plain text.
        colours: Colours to be replaced, as ``#rrggbb``.
    """
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(svg)
    _drop_sheets(root)
    for element in root.iter():
        _plain(element, colours)
    _rename(root, "n")  # those of Matplotlib differ each time
    digest = hashlib.sha256(ElementTree.tostring(root) + f"\0{title}\0{description}".encode())
    prefix = "n" + digest.hexdigest()[:10]
    _rename(root, prefix)
    _describe(root, prefix, title, description)
    return ElementTree.tostring(root, encoding="unicode")


def _drop_sheets(root: Element) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    # What the style sheet said of all elements.
    root.set("stroke-linejoin", "round")
    root.set("stroke-linecap", "butt")


def _plain(element: Element, colours: Mapping[str, str]) -> None:
    """Styles as attributes, links without a name space, numbers with two decimals."""
    for part in element.attrib.pop("style", "").split(";"):
        name, _, value = part.partition(":")
        if name.strip():
            element.set(name.strip(), value.strip())
    link = element.attrib.pop(_LINK, None)
    if link is not None:
        element.set("href", link)
    for name, value in element.attrib.items():
        if name in ("fill", "stroke"):
            element.set(name, colours.get(value, value))
        elif name in ("d", "x", "y"):
            element.set(name, _LONG.sub(lambda n: f"{float(n[0]):.2f}", value))


def _rename(root: Element, prefix: str) -> None:
    used: dict[str, str] = {}
    for element in root.iter():
        for name, value in element.attrib.items():
            found = [value[1:]] if name == "href" else _REFERENCE.findall(value)
            for old in found:
                used.setdefault(old, f"{prefix}-{len(used)}")
    for element in root.iter():
        old = element.attrib.pop("id", None)
        if old in used:
            element.set("id", used[old])
        for name, value in element.attrib.items():
            if name == "href":
                element.set(name, "#" + used[value[1:]])
            else:
                element.set(name, _REFERENCE.sub(lambda r: f"url(#{used[r[1]]})", value))


def _describe(root: Element, prefix: str, title: str, description: str) -> None:
    for name in ("width", "height"):  # points to pixels
        points = _LENGTH.fullmatch(root.get(name, ""))
        if points:
            root.set(name, f"{float(points[1]) * 4 / 3:.0f}")
    root.set("role", "img")
    for at, (tag, words, relation) in enumerate(
        (("title", title, "aria-labelledby"), ("desc", description, "aria-describedby"))
    ):
        if words:
            child = ElementTree.Element(f"{{{_SVG}}}{tag}", id=f"{prefix}-{tag}")
            child.text = words
            root.insert(at if root.find(f"{{{_SVG}}}title") is not None else 0, child)
            root.set(relation, f"{prefix}-{tag}")
