"""Arguments of public functions: shared options, and refusals that name the likely ones."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from neardup.commands import why_not
from neardup.errors import ArgumentError, SpecError, spelled
from neardup.options.option_groups import GROUPS, described, descriptions
from neardup.spec import ShingleSpec, Spec, nearest

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V", str, int, float)

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


class _Shared(NamedTuple):
    """Options of a function that stand in groups.

    Attributes:
        groups: Each group, by its keyword.
        options: The group and the field of each option, by its keyword.
    """

    groups: dict[str, type[Any]]
    options: dict[str, tuple[str, dataclasses.Field[Any]]]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> _Shared:
        annotation = str(function.__annotations__.get("options", ""))
        name = annotation.removeprefix("Unpack[").removesuffix("]")
        keys = function.__globals__[name].__optional_keys__ if annotation else ()
        groups, options = {}, {}
        for kind, group in GROUPS.items():
            for key in sorted((key for key in keys if _is(key, kind)), key=len):
                groups[key] = group
                for field in dataclasses.fields(group):
                    if (named := key.removesuffix(kind) + field.name) in keys:
                        options[named] = key, field
        return cls(groups, options)


def _is(key: str, kind: str) -> bool:
    return key == kind or key.endswith(f"_{kind}")


def expanded(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function refuse wrong arguments, and take options by themselves or in groups.

    Unknown keywords are refused by the nearest one, and values of another type. A function with
    ``**options: Unpack[SomeOptions]`` takes the keywords and the groups of that `TypedDict`, see
    `neardup.options.option_groups`, and finds the groups in ``options``, complete. Of a second
    corpus, whose options have a prefix, it finds those that were given. Signature and docstring
    show all. Arguments that are fields of a spec, see `of_specs`, are described there.
    """
    shared = _Shared.of(function)
    signature = _flat(inspect.signature(function), shared)
    parameters, called = signature.parameters, f"{function.__qualname__}()"
    defaults = {key: group() for key, group in shared.groups.items()}
    names = {key: [n for n, (of, _) in shared.options.items() if of == key] for key in defaults}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in parameters:
                check_taken(function.__qualname__, name)
                hint = _setting(name) if "spec" in parameters else ""
                hint = hint or nearest(name, [p for p in parameters if p != "self"])
                raise ArgumentError(f"{called} has no argument {name!r}", hint)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            by_name = [name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
            likely = "text" if "text" in by_name else by_name[0] if by_name else ""
            hint = f"name the others, such as {likely}=" if len(args) > 1 and likely else ""
            raise ArgumentError(f"{called}: {error}", hint) from None
        for name, value in given.items():
            _check_type(parameters[name], value, name in kwargs)
        for key, group in shared.groups.items():
            if given.get(key) is not None:
                _check_group(given, key, group, parameters, called)
            elif key in GROUPS:
                taken = {name: kwargs.pop(name) for name in names[key] if name in kwargs}
                kwargs[key] = group(**taken) if taken else defaults[key]
        return function(*args, **kwargs)

    call.__signature__ = signature  # type: ignore[attr-defined]
    specs = getattr(function, "specs", ())
    call.__doc__ = _documented(function.__doc__, parameters, shared, specs)
    return call


def check_taken(command: str, *names: str) -> None:
    """Refuse arguments that a command does not take, with the reason, see `why_not`."""
    for name in names:
        if why := why_not(command, name):
            raise ArgumentError(why, "leave it out")


def of_specs(*specs: type) -> Callable[[F], F]:
    """Return a decorator, to stand below `expanded`, by which specs describe arguments."""

    def mark(function: F) -> F:
        function.specs = specs  # type: ignore[attr-defined]
        return function

    return mark


def _flat(written: inspect.Signature, shared: _Shared) -> inspect.Signature:
    """Return the signature with all options, and annotations that are shown without quotes."""
    found = list(written.parameters.values())[: -1 if shared.groups else None]
    named = inspect.Parameter.KEYWORD_ONLY
    for name, (key, field) in shared.options.items():
        kind, default = str(field.type), field.default
        if key not in GROUPS:
            kind, default = f"{kind.removesuffix(' | None')} | None", None
        found.append(inspect.Parameter(name, named, default=default, annotation=kind))
    for key, group in shared.groups.items():
        kind = f"{group.__name__} | None"
        found.append(inspect.Parameter(key, named, default=None, annotation=kind))
    return written.replace(
        parameters=[
            p if p.annotation is p.empty else p.replace(annotation=_Bare(p.annotation))
            for p in found
        ],
        return_annotation=_Bare(written.return_annotation),
    )


def _check_type(parameter: inspect.Parameter, value: object, by_name: bool) -> None:
    """Refuse a value of another type than that of its parameter."""
    annotation = str(parameter.annotation)
    kind = annotation.removesuffix(" | None")
    may_lack = value is None and (kind != annotation or not is_given(parameter.default))
    if kind not in _TYPES or may_lack:
        return
    what, types = _TYPES[kind]
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "bool"):
        hint = "" if by_name else "name the arguments, such as threshold="
        raise ArgumentError(f"`{parameter.name}` is {spelled(value)}; expected {what}", hint)


def _check_group(
    given: Mapping[str, Any],
    key: str,
    group: type[Any],
    parameters: Mapping[str, inspect.Parameter],
    called: str,
) -> None:
    """Refuse anything but a group; and one that has, or is given with, options of a call."""
    found, default = given[key], group()
    if not isinstance(found, group):
        expected = f"expected a neardup.{group.__name__}"
        raise ArgumentError(f"`{key}` is {spelled(found)}; {expected}")
    for field in dataclasses.fields(group):
        name = next(key.removesuffix(k) for k in GROUPS if _is(key, k)) + field.name
        differs = getattr(found, field.name) != getattr(default, field.name)
        if differs and name not in parameters:
            what = f"`{field.name}` of `{key}` does not apply to {called}"
            raise SpecError(what, "leave it out")
        option = name in parameters and parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        if name in given and (option or differs):
            raise SpecError(f"`{key}` and `{name}` are both given", f"give `{name}` in `{key}`")


def _documented(
    doc: str | None, names: Iterable[str], shared: _Shared, specs: Iterable[type]
) -> str | None:
    """Return a docstring whose arguments are all that the signature shows, in its order."""
    if doc is None or not (shared.groups or specs) or "Args:" not in doc:
        return doc
    known = dict[str, str]()
    told = {key: described(group) for key, group in shared.groups.items()}
    for name, (key, field) in shared.options.items():
        if key in GROUPS:
            known[name] = told[key][field.name]
    for key, group in shared.groups.items():
        known[key] = f"A `neardup.{group.__name__}`, instead of its options one by one."
    return with_arguments(inspect.cleandoc(doc), names, known, specs)


def with_arguments(
    doc: str, names: Iterable[str], more: Mapping[str, str], specs: Iterable[type]
) -> str:
    """Return a docstring that describes more arguments.

    Args:
        doc: The docstring, without indentation.
        names: All arguments, in their order.
        more: Descriptions of some that it does not describe.
        specs: What describes others, each as a field.
    """
    known = {**more}
    for spec in specs:
        known |= described(spec)
    known |= descriptions(doc)
    wrap = functools.partial(
        textwrap.fill, width=96, initial_indent=" " * 4, subsequent_indent=" " * 8
    )
    rows = [wrap(f"{name}: {known[name]}") for name in names if name in known]
    head, args, rest = doc.partition("\nArgs:\n")
    _, gap, rest = rest.partition("\n\n")
    return "".join([head, args, "\n".join(rows), gap, rest])


def _setting(name: str) -> str:
    """How a setting is given that is no argument; empty if there is none of that name."""
    for what, kind in (("spec", Spec), ("shingle", ShingleSpec)):
        if name in {field.name for field in dataclasses.fields(kind)}:
            return f"give it in a {what}: {what}=neardup.{kind.__name__}({name}=...)"
    return ""
