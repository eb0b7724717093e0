"""What differs between what was asked for and what was asked for before, for messages."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["difference"]


def difference(now: Any, before: Any, name: str = "") -> str:
    """Name the first thing in which two JSON values differ; empty where they don't."""
    if isinstance(now, dict) and isinstance(before, dict):
        for key, value in now.items():
            inner = f"{name}.{key}" if name else key
            if key not in before:
                return f"{inner} was not there before"
            found = difference(value, before[key], inner)
            if found:
                return found
        return ""
    if isinstance(now, list) and isinstance(before, list) and name == "inputs":
        return _other_inputs(now, before)
    return "" if now == before else f"{name} was {_shown(before)} and is {_shown(now)}"


def _other_inputs(now: list[Any], before: list[Any]) -> str:
    if len(now) != len(before):
        return f"there were {len(before)} input files and are {len(now)}"
    for new, old in zip(now, before, strict=True):
        if new[0] != old[0]:
            return f"an input was {old[0]} and is {new[0]}"
        if new != old:
            return f"{new[0]} has changed since"
    return ""


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
