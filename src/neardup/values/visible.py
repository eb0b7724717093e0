"""Texts of strangers, made safe to look at on a terminal and in a page.

Terminals obey escape sequences, and both terminals and browsers let some characters change the
order of others or hide them. What `visible` returns has none of these.
"""

import re
from typing import Any

from neardup.values.json_values import plain_id

#: Controls but newline and tab; marks of direction; characters of no width, but the joiners that
#: some scripts are written with; separators that break lines; halves of surrogate pairs, which
#: can't be written.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e"
    "\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
    "\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return a text with every character but newline and tab visible and at its position.

    >>> visible("a\x1b[2Jb\x00\u202ec")
    'a␛[2Jb␀⟨U+202E⟩c'
    """
    return _UNSEEN.sub(_spelled, text)


def name(value: Any, longest: int | None = None) -> str:
    r"""Return an id or the name of a file in one line, without its middle where it is longer.

    >>> name("two\nlines"), name(7), name("https://example.org/one/page", 13)
    ('two␊lines', '7', 'https:…e/page')
    """
    shown = visible(str(plain_id(value))).replace("\n", "␊").replace("\t", "␉")
    if longest is None or len(shown) <= longest:
        return shown
    half = (longest - 1) // 2
    return f"{shown[:half]}…{shown[-half:]}"


def _spelled(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point < 0x20:
        return chr(0x2400 + point)
    return "␡" if point == 0x7F else f"⟨U+{point:04X}⟩"
