"""Wrong arguments are refused at once, and the message names the likely ones."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import re
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import ParamSpec, TypeVar, cast

from neardup.errors import ArgumentError, spelled
from neardup.spec import ShingleSpec, Spec, nearest

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V", str, float)

#: The name of a type in messages, and the types that are taken for it. A bool is no number.
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    **dict.fromkeys(("str", "TableName"), ("a string", (str,))),
    "bool": ("True or False", (bool,)),
    "int": ("an integer", (Integral,)),
    "float": ("a number", (Real,)),
    "int | str": ("an integer or a string", (Integral, str)),
    "str | Sequence[str]": ("a string, or several", (str, Sequence)),
    "str | ShingleSpec": ("a string or a ShingleSpec", (str, ShingleSpec)),
    "str | os.PathLike[str]": ("a path", (str, os.PathLike)),
}


_FILE_HINT = "give a pathlib.Path to read a file"
_NAME = re.compile(r"\w+")


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


def is_one_document(source: object, text: object, **several: object) -> bool:
    """Return whether a document is given by its id and its text, instead of a source.

    Args:
        source: The id, or a source.
        text: The text, or the column of a source that has it.
        several: Arguments that are for a source only.

    Raises:
        ArgumentError: One of these is given with one document.
    """
    if not isinstance(source, str | Integral) or isinstance(text, _Text):
        return False
    for name, value in several.items():
        if value is not None:
            raise ArgumentError(
                f"`{name}` is for several documents, and one was given by its id and its text",
                f"leave `{name}` out, or give lists; {_FILE_HINT}",
            )
    return True


def refuse_column(source: object, text: object) -> None:
    """Refuse one document whose id is the name of a file, and whose text may be that of a column.

    Raises:
        ArgumentError: It is so.
    """
    # Not pathlib's: names that are too long are no files to os.path.
    if isinstance(source, str) and _NAME.fullmatch(str(text)) and os.path.isfile(source):  # noqa: PTH113
        what = f"{source} is a file, and was given as the id of a document"
        raise ArgumentError(what, f"{_FILE_HINT}, or add the document in lists")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function refuse unknown keywords, by the nearest one, and values of another type."""
    signature = inspect.signature(function)
    parameters, called = signature.parameters, f"{function.__qualname__}()"

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in parameters:
                hint = _setting(name) if "spec" in parameters else ""
                hint = hint or nearest(name, [p for p in parameters if p != "self"])
                raise ArgumentError(f"{called} has no argument {name!r}", hint)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            by_name = [name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
            hint = f"name the others, such as {by_name[0]}=" if len(args) > 1 and by_name else ""
            raise ArgumentError(f"{called}: {error}", hint) from None
        for name, value in given.items():
            annotation, default = str(parameters[name].annotation), parameters[name].default
            kind = annotation.removesuffix(" | None")
            may_lack = value is None and (kind != annotation or not is_given(default))
            if kind not in _TYPES or may_lack:
                continue
            what, types = _TYPES[kind]
            if not isinstance(value, types) or (isinstance(value, bool) and kind != "bool"):
                hint = "" if name in kwargs else "name the arguments, such as threshold="
                raise ArgumentError(f"`{name}` is {spelled(value)}; expected {what}", hint)
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
    for what, kind in (("spec", Spec), ("shingle", ShingleSpec)):
        if name in {field.name for field in dataclasses.fields(kind)}:
            return f"give it in a {what}: {what}=neardup.{kind.__name__}({name}=...)"
    return ""
