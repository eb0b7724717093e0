"""Bounds of work have one object, which tests replace by public names."""

from __future__ import annotations

import ast
import threading
from pathlib import Path

import pytest

from neardup.tuning import TUNING, Tuning

ROOT = Path(__file__).parent
#: Constants that tests may replace by name, and why they are no bounds.
OTHERS = {
    "TOKENS": "the version of a definition, which changes results",
    "_LIMIT": "a file of the system",
    "_NO_DICTIONARIES": "what an older PyArrow has not",
    "DATA": "a folder of the experiments",
}
#: Those of `neardup.copied_passages.repeated.hashed_runs`, which are no bounds of other modules.
GOING = {"_MORE", "RECENT"}


def test_bounds_are_replaced_for_all_threads_until_the_end() -> None:
    seen, before = list[int](), dict(vars(Tuning))
    with TUNING.replaced(logged_documents=3, edges=2):
        thread = threading.Thread(target=lambda: seen.append(TUNING.logged_documents))
        thread.start()
        thread.join()
        with TUNING.replaced(edges=1):
            seen.append(TUNING.edges)
        seen.append(TUNING.edges)
    assert seen == [3, 1, 2] and dict(vars(Tuning)) == before


def test_bounds_come_back_after_an_error() -> None:
    before = TUNING.edges
    with pytest.raises(ZeroDivisionError), TUNING.replaced(edges=1):
        1 / 0  # noqa: B018
    assert TUNING.edges == before != 1


@pytest.mark.parametrize("name", ["logged", "replaced", "_edges"])
def test_a_bound_that_is_not_there(name: str) -> None:
    with pytest.raises(TypeError, match=f"no bounds: {name}"), TUNING.replaced(**{name: 1}):
        pass
    with pytest.raises(AttributeError):
        TUNING.edges = 1  # type: ignore[misc]


def test_no_test_replaces_a_constant() -> None:
    """By `setattr`, or by an assignment to a name of a module."""
    replaced = set[str]()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "setattr":
                first, *rest = node.args
                name = rest[0] if len(rest) == 2 else first
                found = [name.value] if isinstance(name, ast.Constant) else []
            elif isinstance(node, ast.Assign):
                found = [part.attr for part in _targets(node) if isinstance(part, ast.Attribute)]
            else:
                continue
            names = {str(value).rpartition(".")[2] for value in found}
            replaced |= {name for name in names if name.isupper()}
    assert replaced - GOING == set(OTHERS)


def _targets(node: ast.Assign) -> list[ast.expr]:
    return [part for target in node.targets for part in getattr(target, "elts", [target])]
