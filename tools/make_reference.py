"""Write signatures and docstrings into ``docs/reference``: ``make_reference.py [--check]``.

Each page names what it describes in lines ``<!-- ::: neardup.dedup -->``; what follows up to
``<!-- /::: -->`` is replaced. A new name may also be written as ``::: neardup.dedup``.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Set
from dataclasses import fields
from pathlib import Path
from typing import Any

import griffe

from neardup.options.arguments import with_arguments
from neardup.options.option_groups import GROUPS, descriptions

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
_MARK = re.compile(r"^<!-- ::: (\S+) -->\n(?:(?:(?!^<!-- ::: ).)*?^<!-- /::: -->\n)?", re.M | re.S)
_TITLES = {"other parameters": "Settings", "parameters": "Arguments"}
#: Longest signature that stays on one line.
_WIDTH = 88


def page(path: Path, code: griffe.Module) -> str:
    """Return a page with its generated parts."""

    def described(found: re.Match[str]) -> str:
        name = found[1]
        text = "\n".join(described_object(_member(code, name), name, 2)).rstrip()
        return f"<!-- ::: {name} -->\n{text}\n<!-- /::: -->\n"

    text = re.sub(r"^::: (\S+)$", r"<!-- ::: \1 -->", path.read_text(encoding="utf-8"), flags=re.M)
    return _MARK.sub(described, text)


def load() -> griffe.Module:
    """Return the package, with what its lazy names are resolved to."""
    code = griffe.load("neardup", search_paths=[ROOT / "src"], docstring_parser="google")
    assert isinstance(code, griffe.Module)
    return code


def _member(code: griffe.Module, name: str) -> Any:
    """Return an object by its public name."""
    found: Any = code[name.partition(".")[2]]
    return found.final_target if found.is_alias else found


def described_object(found: Any, name: str, level: int) -> Iterator[str]:
    """Yield the lines of a function, class or attribute, and of what a class has."""
    yield f'<a id="{name}"></a>\n'
    yield f"{'#' * level} `{name.rpartition('.')[2] if level > 2 else name}`\n"
    options: list[str] = []
    if found.is_function:
        options = with_options(found)
        yield f"```text\n{signature(found)}\n```\n"
    elif found.is_attribute and found.annotation is not None:
        yield f"```text\n{found.name}: {found.annotation}\n```\n"
    elif found.is_class:
        bases = ", ".join(str(base) for base in found.bases)
        yield f"```text\nclass {found.name}{f'({bases})' if bases else ''}\n```\n"
    yield from docstring(found, options)
    if found.is_module:
        for each, member in found.members.items():
            own = not member.is_alias and (member.is_class or member.is_function)
            if own and not each.startswith("_"):
                yield from described_object(member, f"{name}.{each}", level + 1)
    if found.is_class:
        yield from members(found, name, level + 1)


def members(found: Any, name: str, level: int) -> Iterator[str]:
    """Yield the public members of a class, inherited ones too, with a docstring; but no tests."""
    seen = set()
    for each, member in found.all_members.items():
        target = member.final_target if member.is_alias else member
        private = each.startswith(("_", "test_")) or target.docstring is None
        if private or each in seen or not (target.is_function or target.is_attribute):
            continue
        seen.add(each)
        yield from described_object(target, f"{name}.{each}", level)


def with_options(found: Any) -> list[str]:
    """Give a function the arguments that it has when it runs; return the rows of its groups."""
    if not any("Unpack" in str(one.annotation) for one in found.parameters):
        return []
    made: Any = importlib.import_module(found.module.path)
    for part in found.path.removeprefix(f"{found.module.path}.").split("."):
        made = getattr(made, part)
    parameters = inspect.signature(made).parameters
    found.parameters = griffe.Parameters(
        *(
            griffe.Parameter(
                one.name,
                kind=getattr(griffe.ParameterKind, one.kind.name.lower()),
                annotation=str(one.annotation),
                default=None if one.default is one.empty else repr(one.default),
            )
            for one in parameters.values()
        )
    )
    doc = inspect.cleandoc(found.docstring.value)
    if specs := getattr(made, "specs", ()):
        doc = found.docstring.value = with_arguments(doc, parameters, {}, specs)
    unwritten = parameters.keys() - descriptions(doc).keys()
    return [_group_row(key, unwritten) for key in GROUPS if key in parameters]


def _group_row(key: str, unwritten: Set[str]) -> str:
    """Return the row of a group, with its options that a docstring does not describe."""
    name = GROUPS[key].__name__
    options = ", ".join(f"`{one.name}`" for one in fields(GROUPS[key]) if one.name in unwritten)
    page = f"[`neardup.{name}`](options.md#neardup.{name})"
    return f"* `{key}`: A {page}, {f'or one by one {options}' if options else 'or its options'}."


def signature(found: Any) -> str:
    """Return a call with names, types and defaults; a line for each argument if it is long."""
    parts = []
    named = False
    for one in found.parameters:
        if one.name in ("self", "cls"):
            continue
        if one.kind is griffe.ParameterKind.keyword_only and not named:
            parts.append("*")
            named = True
        stars = {"variadic positional": "*", "variadic keyword": "**"}
        text = stars.get(one.kind.value if one.kind else "", "") + one.name
        named = named or text.startswith("*")
        text += f": {one.annotation}" if one.annotation is not None else ""
        if one.default is not None and not text.startswith("*"):
            default = re.sub(r"by_preset\((.*)\)", r"\1", str(one.default))
            text += f" = {default}" if one.annotation is not None else f"={default}"
        parts.append(text)
    returned = f" -> {found.returns}" if found.returns is not None else ""
    line = f"{found.name}({', '.join(parts)}){returned}"
    if len(line) <= _WIDTH:
        return line
    return f"{found.name}(\n    " + ",\n    ".join(parts) + f",\n){returned}"


def docstring(found: Any, options: list[str]) -> Iterator[str]:
    """Yield the sections of a docstring, and the rows of options after those of arguments."""
    if found.docstring is None:
        return
    for section in found.docstring.parse("google", warnings=False, returns_multiple_items=False):
        kind = section.kind.value
        if kind == "text":
            yield _prose(section.value) + "\n"
        elif kind == "examples":
            code = "\n".join(text for _, text in section.value)
            yield f"**Examples**\n\n```text\n{code}\n```\n"
        elif kind == "admonition":
            yield f"**{section.title}**\n\n{_prose(section.value.description)}\n"
        else:
            yield f"**{_TITLES.get(kind, kind.capitalize())}**\n"
            more = options if kind == "parameters" else []
            yield "\n".join([*map(_row, section.value), *more]) + "\n"


def _row(one: Any) -> str:
    """Return a row of a list of arguments, errors or results."""
    name = getattr(one, "name", "") or str(one.annotation or "")
    text = _prose(one.description)
    return f"* `{name}`: {text}" if name and name not in ("None", "-") else f"* {text}"


def _prose(text: str) -> str:
    """Return text whose names of code are those of Markdown, in paragraphs of one line each."""
    text = text.replace("``", "`")
    if re.search(r"^ {4}|^\* |^- ", text, re.M):
        return text
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def main() -> None:
    code = load()
    for path in PAGES:
        made = page(path, code)
        if "--check" not in sys.argv[1:]:
            path.write_text(made, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != made:
            raise SystemExit(f"{path.name} is not what the code says; run `make docs`")


if __name__ == "__main__":
    main()
