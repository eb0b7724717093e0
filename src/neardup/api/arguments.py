"""Wrong arguments are refused at once, and the message names what was probably meant."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from neardup.errors import SpecError
from neardup.spec import ShingleSpec, Spec, nearest

P = ParamSpec("P")
R = TypeVar("R")


class ArgumentError(SpecError, TypeError):
    """A keyword that a function does not have."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function refuse unknown keywords, by the nearest one, and what is no string."""
    signature = inspect.signature(function)
    known = list(signature.parameters)
    texts = {name: p.annotation for name, p in signature.parameters.items()}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                hint = _setting(name) if "spec" in known else ""
                message = f"{function.__name__}() has no argument {name!r}"
                raise ArgumentError(message, hint or nearest(name, known))
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            wrong = value is not None or texts[name] == "str"
            if wrong and texts[name] in ("str", "str | None") and not isinstance(value, str):
                raise SpecError(f"`{name}` is {value!r}; expected a string")
        return function(*args, **kwargs)

    return call


def _setting(name: str) -> str:
    """How a setting is given that is no argument; empty if there is none of that name."""
    if name in {field.name for field in dataclasses.fields(Spec)}:
        return f"give it in a spec: spec=neardup.Spec({name}=...)"
    if name in {field.name for field in dataclasses.fields(ShingleSpec)}:
        return f"give it in a shingle: shingle=neardup.ShingleSpec({name}=...)"
    return ""
