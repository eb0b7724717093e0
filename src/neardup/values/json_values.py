"""JSON values, and the differences of two of them, in words."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

#: A value that JSON can represent. Tuples are lists once they are read back.
JSON: TypeAlias = "Mapping[str, JSON] | Sequence[JSON] | str | int | float | bool | None"

_FIELDS = 4  # to show; the others are counted
_LENGTH = 60  # characters of a value


def plain_id(value: Any) -> int | str:
    """Return an id as a value that JSON has; bytes as the text that they are, as far as possible.

    >>> plain_id(7), plain_id(b"A-7"), plain_id(b"7\\xff")
    (7, 'A-7', '7\\\\xff')
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, int | str) else str(value)


def differences(old: Mapping[str, JSON], new: Mapping[str, JSON]) -> str:
    """Describe in one line how a stored manifest or recipe differs from the requested one.

    >>> differences({"threshold": 0.7, "seed": 1}, {"threshold": 0.8, "seed": 1})
    'threshold was 0.7 and is 0.8'
    >>> differences({"shingle": {"n": 3}}, {"shingle": {"n": 5, "unit": "word"}})
    'shingle.n was 3 and is 5; shingle.unit was absent and is "word"'
    >>> differences({"inputs": [["a.csv", 5]]}, {"inputs": [["a.csv", 6]]})
    'inputs: a.csv has changed'
    >>> differences({"inputs": [["a.csv", 5]]}, {"inputs": [["b.csv", 6]]})
    'inputs[0] was a.csv and is b.csv'
    """
    found = list(_compared(json.loads(json.dumps(old)), json.loads(json.dumps(new)), ""))
    more = len(found) - _FIELDS
    return "; ".join(found[:_FIELDS]) + (f"; and {more} more" if more > 0 else "")


def _compared(old: JSON, new: JSON, name: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*new, *old)):
            inner = f"{name}.{key}" if name else str(key)
            if key in old and key in new:
                yield from _compared(old[key], new[key], inner)
            else:
                was, now = (_shown(d[key]) if key in d else "absent" for d in (old, new))
                yield f"{inner} was {was} and is {now}"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            path = _path(after)
            if path and path == _path(before) and before != after:
                yield f"{name}: {path} has changed"
            elif path and _path(before) and before != after:
                yield f"{name}[{number}] was {_path(before)} and is {path}"
            else:
                yield from _compared(before, after, f"{name}[{number}]")
    elif isinstance(old, list) and isinstance(new, list):
        yield f"{name} had {len(old)} items and has {len(new)}"
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield f"{name} was {_shown(old)} and is {_shown(new)}"


def _path(item: JSON) -> str:
    """Return the path of an item of a list of files; empty for other items."""
    first = item.get("path") if isinstance(item, dict) else item
    first = item[0] if isinstance(item, list) and item else first
    return first if isinstance(first, str) and not isinstance(item, str) else ""


def _shown(value: JSON) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LENGTH else text[: _LENGTH - 3] + "..."
