"""Names of synthetic persons: given names with their short forms, and invented surnames."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import accumulate

from neardup.synth.synthetic_words import make_words

_FORMS = (
    "William Bill Will, Robert Bob Rob, Richard Dick Rick, James Jim Jamie, John Jack, "
    "Margaret Maggie Peggy, Elizabeth Liz Betty, Katherine Kate Kathy, Edward Ed Ted, "
    "Thomas Tom, Michael Mike, Christopher Chris, Joseph Joe, Charles Charlie Chuck, "
    "Daniel Dan, Matthew Matt, Anthony Tony, Patricia Pat Trish, Jennifer Jen Jenny, "
    "Susan Sue, Deborah Deb Debbie, Barbara Barb, Rebecca Becky, Samantha Sam, Alexander Alex, "
    "Benjamin Ben, Nicholas Nick, Gregory Greg, Stephen Steve, Andrew Andy Drew, David Dave, "
    "Kenneth Ken, Ronald Ron, Timothy Tim, Lawrence Larry, Frederick Fred, Eleanor Ellie Nell, "
    "Theresa Terry, Victoria Vicky, Abigail Abby, Josephine Josie Jo, Jacqueline Jackie, "
    "Anna, Maria, Laura, Emma, Sofia, Olga, Ingrid, Ruth, Alice, Clara, Nora, Helen, Paula, "
    "Peter, Martin, Oskar, Felix, Hugo, Simon, Adam, Lucas, Omar, Ivan, Kofi, Rajesh, Wei, Yuki"
)
#: Given names, each with its short forms.
GIVEN = [forms.split() for forms in _FORMS.split(", ")]


def surname(draw: random.Random) -> str:
    """Return a surname; the frequency of one is 1 / (rank + 10), and a few have two parts."""
    names, weights = _surnames()
    name = draw.choices(names, cum_weights=weights)[0]
    form = draw.random()
    if form < 0.02:
        return f"van der {name}"
    return f"{name}-{draw.choices(names, cum_weights=weights)[0]}" if form < 0.04 else name


@lru_cache
def _surnames() -> tuple[list[str], list[float]]:
    names = [word.capitalize() for word in make_words(6000)[1000:] if word.isalpha()]
    return names, [*accumulate(1 / (rank + 10) for rank in range(len(names)))]


def mistyped(value: str, draw: random.Random) -> str:
    """Return a value in which one character is another one, missing, or before its neighbour."""
    if len(value) < 2:
        return value
    at, kind = draw.randrange(len(value) - 1), draw.randrange(3)
    if kind == 0:
        letter = draw.choice("0123456789" if value[at].isdigit() else "abcdefghijklmnopqrstuvwxyz")
        return value[:at] + letter + value[at + 1 :]
    if kind == 1:
        return value[:at] + value[at + 1 :]
    return value[:at] + value[at + 1] + value[at] + value[at + 2 :]
