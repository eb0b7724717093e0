"""Plain-Python references of the kernels that turn texts into band keys: obvious, and slow.

The definitions that the fast ones must equal, bit for bit. Tokens are strings here, texts are
strings, sets are sorted lists.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "add_replacements",
    "ascii_signs",
    "at_most",
    "band_keys",
    "behind_line_end",
    "characters",
    "classify",
    "code_points",
    "composed",
    "hash_tokens",
    "high_product",
    "kind_at",
    "load8",
    "lower",
    "mix",
    "popcount",
    "replace_known",
    "replace_rows",
    "sequence_hash",
    "shingle_tokens",
    "sign_affine",
    "sign_oph",
    "sort_sets",
    "splitmix",
    "token",
    "trailing_zeros",
    "true_signs",
    "with_signs",
    "within",
    "without_tokens",
    "without_words",
    "word_spans",
    "words",
]

_MASK = 2**64 - 1
_TOKEN_MULTIPLIER = 0x9E3779B97F4A7C15
_TOKEN_LENGTH = 0x243F6A8885A308D3
_WORD_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_SOLO_NAMES = (
    "CJK UNIFIED IDEOGRAPH-",
    "CJK COMPATIBILITY IDEOGRAPH-",
    "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC NUMBER ZERO",
    "HIRAGANA ",
    "KATAKANA ",
    "KATAKANA-HIRAGANA ",
    "HALFWIDTH KATAKANA ",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)
_SEPARATOR, _WORD, _MARK, _SOLO, _SPACE, _IGNORED = range(6)
#: Code points that are not compared, besides enclosing marks.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_LINE_END = re.compile("[ \t]*(?:\r\n|\n|\r)[ \t]*")
#: Marks in a row that are put in order together.
_ROW = 64


def load8(data: bytes, index: int) -> int:
    """Eight bytes as a number, the first byte lowest."""
    return int.from_bytes(data[index : index + 8], "little")


def mask32(data: bytes, a: int, b: int, c: int, below: int) -> int:
    """A bit for each of 32 bytes that is a, b, c or under ``below``."""
    return sum(1 << i for i, byte in enumerate(data) if byte in (a, b, c) or byte < below)


def copy32(source: bytes, start: int, target: bytes, place: int) -> bytes:
    """The target with 32 bytes of the source in it."""
    return target[:place] + source[start : start + 32] + target[place + 32 :]


def popcount(value: int) -> int:
    """Number of one bits."""
    return bin(value).count("1")


def high_product(a: int, b: int) -> int:
    """Upper 64 bits of a product of 128."""
    return a * b >> 64


def trailing_zeros(value: int) -> int:
    """Zero bits below the lowest one bit of 64; all of them for zero."""
    return next((bit for bit in range(64) if value >> bit & 1), 64)


def classify(data: bytes, lower: int) -> tuple[bytes, int]:
    """Sort bytes into what may be in a word and what separates words.

    Returns:
        (all of them, capitals in lower case; a bit for each letter, digit, ``_``, and above 127).
    """
    out = bytes(byte + lower * (65 <= byte <= 90) for byte in data)
    in_word = (byte > 127 or byte in _WORD_BYTES for byte in data)
    return out, sum(1 << place for place, there in enumerate(in_word) if there)


def mix(h: int) -> int:
    """The finaliser of a hash."""
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    h = (h ^ h >> 27) * 0x94D049BB133111EB & _MASK
    return h ^ h >> 31


def shorten(values: list[int]) -> list[int]:
    """Hashes of which 4 bytes count."""
    return [value >> 32 << 32 | mix(value >> 32) >> 32 for value in values]


def splitmix(seed: int, index: int) -> int:
    """A number of the stream of a seed."""
    return mix(seed + (index + 1) * _TOKEN_MULTIPLIER & _MASK)


def lower(text: str) -> str:
    """Lower case of each character by itself; the two lower forms of sigma become one."""
    if text.isascii():
        return text.lower()
    return "".join(char.lower() for char in text).replace("ς", "σ")


@functools.cache
def _kind(char: str) -> int:
    category, name = unicodedata.category(char), unicodedata.name(char, "")
    if category == "Me" or _IGNORABLE.match(char):
        return _IGNORED
    if category[0] == "M" or name.startswith("HALFWIDTH KATAKANA VOICED"):
        return _MARK
    if (category[0] == "L" or category == "Nl") and name.startswith(_SOLO_NAMES):
        return _SOLO
    if char.isspace():
        return _SPACE
    return _WORD if category[0] in "LN" or char == "_" else _SEPARATOR


def kind_at(data: bytes, at: int) -> int:
    """The kind of the character that begins at a byte."""
    return _kind(data[at:].decode(errors="ignore")[0])


def code_points(data: bytes) -> list[int]:
    """The code points of a text."""
    return [ord(char) for char in data.decode()]


def behind_line_end(data: bytes, at: int, last: int) -> int:
    """The byte behind a line end with blanks around it; -1 without one."""
    found = _LINE_END.match(data[at:last].decode("latin-1"))
    return at + found.end() if found else -1


def _joined(text: str, at: int) -> int:
    """The end of a soft hyphen at a line end that a part of a word follows; 0 for none."""
    found = text[at] == "\u00ad" and _LINE_END.match(text, at + 1)
    if found and found.end() < len(text) and _kind(text[found.end()]) == _WORD:
        return found.end()
    return 0


def composed(text: str, keep_case: bool = False) -> str:
    """Decompose, lower, put marks into order, compose; of a long row a part at a time."""
    apart = "".join(unicodedata.normalize("NFD", char) for char in text)
    apart = apart if keep_case else lower(apart)
    parts, row = [""], 0
    for char in apart:
        row = row + 1 if unicodedata.combining(char) else 0
        if row and row % _ROW == 1 and row > _ROW:
            parts.append("")
        parts[-1] += char
    return "".join(unicodedata.normalize("NFC", part) for part in parts)


def token(text: str, keep_case: bool = False) -> str:
    """A word as it is compared."""
    kept, i = "", 0
    while i < len(text):
        kept += text[i] * (_kind(text[i]) != _IGNORED)
        i = _joined(text, i) or i + 1
    return composed(kept, keep_case)


def word_spans(text: str, signs: bool = False) -> list[tuple[int, int]]:
    """Where words are: runs of letters, marks, digits and ``_``, with what is not compared.

    A letter of a script without spaces is a word by itself, with the marks that follow it; so is a
    sign if these are asked for.
    """
    spans: list[list[int]] = []
    inside, solo, i = False, False, 0
    while i < len(text):
        kind, end = _kind(text[i]), i + 1
        if signs and _is_sign(text, i):
            kind = _SOLO
        if kind == _IGNORED:
            end = end if solo else _joined(text, i) or end
        elif kind in (_SEPARATOR, _SPACE):
            inside = solo = False
        elif kind == _SOLO or (kind == _WORD and (solo or not inside)):
            spans.append([i, i])
            inside, solo = True, kind == _SOLO
        if inside:
            spans[-1][1] = end
        i = end
    return [(first, last) for first, last in spans]


def words(text: str, keep_case: bool = False) -> list[str]:
    """Split into tokens, in lower case and canonical composition."""
    return [token(text[first:last], keep_case) for first, last in word_spans(text)]


def characters(text: str, keep_case: bool = False, form: int = 2) -> list[int]:
    """Give the code points, in lower case: as they are, composed, or with single blanks too."""
    if form == 0:
        return [ord(c) for c in (text if keep_case else lower(text))]
    text = token(text, keep_case)
    if form == 2:
        text = "".join(" " if c.isspace() else c for c in text).strip(" ")
        while "  " in text:
            text = text.replace("  ", " ")
    return [ord(c) for c in text]


def hash_tokens(token: str) -> int:
    """Hash the UTF-8 bytes of a token, eight at a time."""
    data = token.encode()
    state = 0
    for i in range(0, len(data) // 8 * 8, 8):
        state = (state ^ int.from_bytes(data[i : i + 8], "little")) * _TOKEN_MULTIPLIER & _MASK
        state ^= state >> 32
    rest = int.from_bytes(data[len(data) // 8 * 8 :], "little")
    return mix(state ^ rest ^ len(data) * _TOKEN_LENGTH & _MASK)


def _symbol(char: str) -> bool:
    """Whether a character is a sign wherever it stands."""
    category, code = unicodedata.category(char), ord(char)
    picture = 0x2600 <= code <= 0x26FF or 0x1F000 <= code <= 0x1FAFF
    if category == "Sm":
        return char not in "|~"
    return category == "Sc" or (category == "So" and picture) or char in "#%&@\u00b0"


def _is_sign(text: str, i: int) -> bool:
    if text[i] != "-":
        return _symbol(text[i])
    before = [char for char in text[:i] if _kind(char) not in (_IGNORED, _MARK)]
    apart = not before or _kind(before[-1]) in (_SEPARATOR, _SPACE)
    return apart and unicodedata.category(text[i + 1 : i + 2] or " ") == "Nd"


def within(data: bytes, first: int, count: int) -> int:
    """A bit for each byte that is one of so many from the first on."""
    return sum(1 << i for i, byte in enumerate(data) if first <= byte < first + count)


def ascii_signs(data: bytes) -> tuple[int, int]:
    """A bit for each byte that is a sign of ASCII; and for each of these that has to be looked at.

    What is behind the last byte is not seen.
    """
    found = looked_at = 0
    for i, byte in enumerate(data):
        behind = data[i + 1] if i + 1 < len(data) else 128
        if byte in b"#$%&+<=>@" or (byte == ord("-") and (behind > 127 or chr(behind).isdigit())):
            found |= 1 << i
            looked_at |= (byte == ord("-") or behind > 127) << i
    return found, looked_at


def true_signs(text: str) -> tuple[int, int]:
    """The signs of ASCII by themselves, and those before another character: a bit for each byte."""
    signs = [0, 0]
    for i, char in enumerate(text):
        if char.isascii() and _is_sign(text, i):
            behind = text[i + 1 : i + 2]
            signs[not behind.isascii()] |= 1 << len(text[:i].encode())
    return signs[0], signs[1]


def at_most(rows: Sequence[Sequence[int]], most: int) -> list[list[int]]:
    """Rows of at most so many tokens; the last of the most stands for the rest."""
    found = []
    for tokens in rows:
        rest = len(tokens)
        for each in tokens[most - 1 :]:
            rest = mix(rest * _TOKEN_MULTIPLIER & _MASK ^ each)
        found.append([*tokens] if len(tokens) <= most else [*tokens[: most - 1], rest])
    return found


def without_tokens(texts: Sequence[str], sizes: Sequence[int]) -> list[int]:
    """Numbers of tokens, which are none where there is no word."""
    return [size * bool(word_spans(text)) for text, size in zip(texts, sizes, strict=True)]


def with_signs(
    text: str, keep_case: bool = False, most: int = 0, stem: Callable[[str], str] = str
) -> list[int]:
    """Tokens of words and signs in their order; the last of the most stands for the rest."""
    found = [(token(text[a:b], keep_case), _is_sign(text, a)) for a, b in word_spans(text, True)]
    tokens = [hash_tokens(word if sign else stem(word)) for word, sign in found]
    return at_most([tokens], most)[0] if most else tokens


def without_words(text: str, keep_case: bool = False) -> int:
    """The token of a text without words; 0 for an empty one."""
    if all(char.isspace() or _kind(char) == _IGNORED for char in text):
        return 0
    shown = text.replace("\ufe0e", "").replace("\ufe0f", "")
    parts = "".join(" " if char.isspace() else char for char in shown).split(" ")
    whole = "".join(composed(part, keep_case) for part in parts)
    return mix(hash_tokens(whole) ^ 0x5851F42D4C957F2D)


def replace_rows(
    rows: Sequence[Sequence[int]], others: Mapping[int, Sequence[int]]
) -> list[list[int]]:
    """Rows of which some are replaced."""
    return [list(others.get(i, row)) for i, row in enumerate(rows)]


def first_not_below(values: Sequence[int], low: int, value: int) -> int:
    """The first place whose value is at least as large."""
    return bisect_left(values, value, low)


def first_above(values: Sequence[int], low: int, value: int) -> int:
    """The first place whose value is larger."""
    return bisect_right(values, value, low)


def fill_order(values: Sequence[int]) -> list[int]:
    """The rows of values in ascending order, equal ones as they are."""
    return sorted(range(len(values)), key=lambda row: values[row])


def replace_known(tokens: Sequence[int], table: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Tokens with their replacements, and the places of those that have none."""
    missing = [place for place, token in enumerate(tokens) if token not in table]
    return [table.get(token, token) for token in tokens], missing


def add_replacements(
    table: Mapping[int, int], tokens: Sequence[int], replacements: Sequence[int]
) -> dict[int, int]:
    """A table with some more replacements."""
    return {**table, **dict(zip(tokens, replacements, strict=True))}


def shingle_tokens(tokens: Sequence[int], n: int) -> list[int]:
    """Hash every ``n`` consecutive tokens; all of them where they are fewer."""
    if not tokens:
        return []
    size = min(n, len(tokens))
    out = []
    for first in range(len(tokens) - size + 1):
        h = 0
        for token in tokens[first : first + size]:
            h = h * _TOKEN_MULTIPLIER + token & _MASK
        out.append(mix(h ^ size * _TOKEN_LENGTH & _MASK))
    return out


def sequence_hash(tokens: Sequence[int]) -> tuple[int, int]:
    """Hash a whole token sequence to 128 bits."""
    a, b = 0, len(tokens)
    for token in tokens:
        a = a * _TOKEN_MULTIPLIER + token & _MASK
        b = (b ^ token) * 0xD6E8FEB86659FD93 & _MASK
        b ^= b >> 29
    return mix(a ^ len(tokens) * _TOKEN_LENGTH & _MASK), mix(b)


def sort_sets(values: Sequence[int], bag: bool = False) -> list[int]:
    """Sort shingles into a set; as a bag, later occurrences become values of their own."""
    if not bag:
        return sorted(set(values))
    seen: dict[int, int] = {}
    out = []
    for value in values:
        i = seen[value] = seen.get(value, -1) + 1
        out.append(mix(value + i * _TOKEN_LENGTH & _MASK) if i else value)
    return sorted(out)


def sign_affine(values: Sequence[int], a: Sequence[int], b: Sequence[int]) -> list[int]:
    """Minima of ``a * x + b`` mod 2**32 over the upper halves of the values."""
    return [
        min(((x >> 32) * p + q & 0xFFFFFFFF for x in values), default=0xFFFFFFFF)
        for p, q in zip(a, b, strict=True)
    ]


def sign_oph(values: Sequence[int], num_hashes: int, seed: int) -> list[int]:
    """Fast Similarity Sketching: bins filled round by round, the last rounds bin by bin."""
    out: list[int | None] = [None] * num_hashes
    for turn in range(2 * num_hashes if values else 0):
        salt = mix(seed + turn * _TOKEN_MULTIPLIER & _MASK)
        new: dict[int, int] = {}
        for value in values:
            h = mix(value ^ salt)
            place = (h & 0xFFFFFFFF) * num_hashes >> 32 if turn < num_hashes else turn - num_hashes
            new[place] = min(h >> 32, 0xFFFFFFFE, new.get(place, 0xFFFFFFFE))
        for place, minimum in new.items():
            if out[place] is None:
                out[place] = minimum
        if None not in out:
            break
    return [0xFFFFFFFF if value is None else value for value in out]


def band_keys(signature: Sequence[int], num_bands: int, rows: int) -> list[int]:
    """Hash each band of a signature."""
    keys = []
    for band in range(num_bands):
        h = band
        for value in signature[band * rows : (band + 1) * rows]:
            h = (h ^ value) * _TOKEN_MULTIPLIER & _MASK
            h ^= h >> 32
        keys.append(mix(h))
    return keys


def find_sequences(
    documents: Sequence[Sequence[int]], sequences: Sequence[Sequence[int]]
) -> list[tuple[int, int]]:
    """Position over all documents, and number, of every occurrence of some sequences."""
    found, first = [], 0
    for tokens in documents:
        for at in range(len(tokens)):
            for number, wanted in enumerate(sequences):
                if wanted and list(tokens[at : at + len(wanted)]) == list(wanted):
                    found.append((first + at, number))
        first += len(tokens)
    return found
