"""No public kernel without a reference in plain Python, and a test that compares the two."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from numba import config
from numba.core.dispatcher import Dispatcher

import neardup.kernels
from neardup.kernels import bits

TESTS = Path(__file__).parents[1]
#: References of other names.
NAMES = {
    "find": "Tree",
    "gather_values": "unescape",
    "decode": "code_points",
    "enter": "composed",
    "settle": "composed",
    "composition": "composed",
    "finish": "hash_tokens",
    "push_code": "hash_tokens",
    "sort_first": "unite_roots",
    "split_sets": "tally_pairs",
    "split_jaccard": "tally_pairs",
}
#: Kernels of passages are compared together, with the definition of a passage in plain Python.
MODULES = [
    module.name
    for module in pkgutil.walk_packages(neardup.kernels.__path__, "neardup.kernels.")
    if not module.ispkg and ".passages." not in module.name
]


def defined(path: str) -> list[str]:
    """What a module defines that other modules may call."""
    body = ast.parse(Path(path).read_text()).body
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    made = [node.targets for node in body if isinstance(node, ast.Assign)]
    names += [target.id for targets in made for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def public_kernels(module: str) -> list[str]:
    """Names without an underscore that are compiled."""
    found = importlib.import_module(module)
    compiled = (Dispatcher, type(bits.load8))
    return [
        name
        for name in defined(found.__file__ or "")
        if isinstance(getattr(found, name), compiled)
        and (not inspect.isfunction(getattr(found, name)) or config.DISABLE_JIT)
    ]


@functools.cache
def references() -> set[str]:
    """Functions of all modules of references."""
    return {
        node.name
        for path in TESTS.rglob("reference_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


@functools.cache
def called() -> set[str]:
    """References that tests take from a module: ``reference.words``; and what these call."""
    found = set()
    for path in TESTS.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        aliases = {
            alias.asname or alias.name
            for node in nodes
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name.startswith("reference_")
        }
        found |= {
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in aliases
        }
        if path.name.startswith("reference_"):
            calls = (node.func for node in nodes if isinstance(node, ast.Call))
            found |= {function.id for function in calls if isinstance(function, ast.Name)}
    return found


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="kernels are plain functions")
def test_there_are_kernels() -> None:
    found = {name for module in MODULES for name in public_kernels(module)}
    assert {"words", "classify", "sign_affine", "against_kept", "probe", "json_lines"} <= found
    assert len(found) > 30


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="kernels are plain functions")
@pytest.mark.parametrize("module", MODULES)
def test_every_public_kernel_has_a_reference_that_a_test_calls(module: str) -> None:
    names = {NAMES.get(name, name) for name in public_kernels(module)}
    assert names - references() == set()
    assert names - called() == set()


@functools.cache
def taken() -> dict[str, set[tuple[Path, str]]]:
    """What other rooms import from each module of kernels, and where."""
    found: dict[str, set[tuple[Path, str]]] = {}
    for path in Path(neardup.kernels.__file__).parents[1].rglob("*.py"):
        if Path(neardup.kernels.__file__).parent in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = {(path, alias.name) for alias in node.names}
                found.setdefault(node.module or "", set()).update(names)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_what_other_rooms_call_is_public(module: str) -> None:
    """So that no kernel escapes the list."""
    names = taken().get(module, set())
    assert [(path, name) for path, name in names if name.startswith("_")] == []


def test_what_other_rooms_call_is_found() -> None:
    assert "hash_tokens" in {name for _, name in taken()["neardup.kernels.text.tokens"]}
