"""Texts of strangers, made safe to look at: what can't be seen, or moves what can, is spelled out.

Terminals obey escape sequences, and both terminals and browsers let some characters turn the order
of others around or hide them. What is returned here has none of these.
"""

from __future__ import annotations

import re
from typing import Any

from neardup.run.ids import plain_id

__all__ = ["name", "visible"]

#: Controls but newline and tab; marks of direction; what takes no room, but for the joiners that
#: some scripts are written with; separators that break lines; halves of surrogate pairs, which
#: can't be written.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e"
    "\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
    "\ud800-\udfff]"
)
#: Characters of a name that are shown.
_LONGEST = 100


def visible(text: str) -> str:
    r"""Return a text in which every character but newline and tab is seen, and stays in its place.

    >>> visible("a\x1b[2Jb\x00\u202ec")
    'a␛[2Jb␀⟨U+202E⟩c'
    """
    return _UNSEEN.sub(_spelled, text)


def name(value: Any) -> str:
    r"""Return an id or the name of a file in one line, shortened.

    >>> name("two\nlines"), name(7)
    ('two␊lines', '7')
    """
    shown = visible(str(plain_id(value))).replace("\n", "␊").replace("\t", "␉")
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."


def _spelled(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point < 0x20:
        return chr(0x2400 + point)
    return "␡" if point == 0x7F else f"⟨U+{point:04X}⟩"
