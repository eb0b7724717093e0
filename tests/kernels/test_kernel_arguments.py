"""Every kernel that others call says of each argument what it is, with shape and type."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import neardup

KERNELS = sorted((Path(neardup.__file__).parent / "kernels").rglob("*.py"))


def functions() -> list[ast.FunctionDef]:
    nodes = [node for path in KERNELS for node in ast.parse(path.read_text("utf-8")).body]
    return [
        node
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and any(ast.unparse(each) == "kernel" for each in node.decorator_list)
    ]


@pytest.mark.parametrize("function", functions(), ids=lambda function: function.name)
def test_arguments_have_shapes(function: ast.FunctionDef) -> None:
    _, _, given = (ast.get_docstring(function) or "").partition("Args:\n")
    found = dict(re.findall(r"^    (\w+(?:, \w+)*): (.*)$", given, re.MULTILINE))
    named = {name: text for names, text in found.items() for name in names.split(", ")}
    for argument in function.args.args:
        assert named.get(argument.arg), argument.arg


def test_functions_are_found() -> None:
    assert len(functions()) > 50
