"""Wrong arguments are refused at once, and the message names what was probably meant."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable
from numbers import Integral, Real
from typing import ParamSpec, TypeVar, cast

from neardup.errors import SpecError
from neardup.spec import ShingleSpec, Spec, nearest

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V", str, float)

#: What is said of a type, and what is taken for it. A bool is no number.
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "str": ("a string", (str,)),
    "bool": ("True or False", (bool,)),
    "int": ("a whole number", (Integral,)),
    "float": ("a number", (Real,)),
}
_PATHS = ("str | os.PathLike[str]", "str | os.PathLike[str] | None")


class ArgumentError(SpecError, TypeError):
    """A keyword that a function does not have, or a value that can't be what it stands for."""


class _Text(str):
    __slots__ = ()


class _Number(float):
    __slots__ = ()


class _Bare(str):
    """An annotation that help() and notebooks show without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def by_preset(value: V) -> V:
    """Return a default that is shown as it is, and that another preset or a spec replaces.

    >>> by_preset(0.7), is_given(by_preset(0.7)), is_given(0.7)
    (0.7, False, True)
    """
    kind = _Text if isinstance(value, str) else _Number
    return cast(V, kind(value))


def is_given(value: object) -> bool:
    """Return whether a caller gave a value: it is neither None nor a default of `by_preset`."""
    return value is not None and not isinstance(value, _Text | _Number)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function refuse unknown keywords, by the nearest one, and values of another type."""
    signature = inspect.signature(function)
    parameters = signature.parameters
    known = list(parameters)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                hint = _setting(name) if "spec" in known else ""
                message = f"{function.__name__}() has no argument {name!r}"
                raise ArgumentError(message, hint or nearest(name, known))
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            by_name = [name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
            hint = f"name the others, such as {by_name[0]}=" if len(args) > 1 and by_name else ""
            raise ArgumentError(f"{function.__name__}(): {error}", hint) from None
        for name, value in given.items():
            annotation = str(parameters[name].annotation)
            if annotation in _PATHS and not isinstance(value, str | os.PathLike | None):
                hint = "" if name in kwargs else "name the arguments, such as threshold="
                raise ArgumentError(f"`{name}` is {value!r}; expected a path", hint)
            kind, _, rest = annotation.partition(" | ")
            default = parameters[name].default
            may_lack = value is None and not is_given(default)
            if kind not in _TYPES or rest not in ("", "None") or may_lack:
                continue
            what, types = _TYPES[kind]
            if not isinstance(value, types) or (isinstance(value, bool) and kind != "bool"):
                raise SpecError(f"`{name}` is {value!r}; expected {what}")
        return function(*args, **kwargs)

    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            p if p.annotation is p.empty else p.replace(annotation=_Bare(p.annotation))
            for p in parameters.values()
        ],
        return_annotation=_Bare(signature.return_annotation),
    )
    return call


def _setting(name: str) -> str:
    """How a setting is given that is no argument; empty if there is none of that name."""
    if name in {field.name for field in dataclasses.fields(Spec)}:
        return f"give it in a spec: spec=neardup.Spec({name}=...)"
    if name in {field.name for field in dataclasses.fields(ShingleSpec)}:
        return f"give it in a shingle: shingle=neardup.ShingleSpec({name}=...)"
    return ""
