"""Every example in a docstring runs, and no name of the package is promised in vain."""

from __future__ import annotations

import doctest
import importlib
import pickle
import pkgutil

import pytest

import neardup
from neardup.errors import DependencyError, NeardupError

MODULES = ["neardup"] + [
    module.name
    for module in pkgutil.walk_packages(neardup.__path__, "neardup.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except DependencyError as error:
        pytest.skip(f"{error}: {error.hint}")
    except ModuleNotFoundError as error:
        assert error.name in ("pyspark", "py4j")
        pytest.skip("pyspark is not installed")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=flags).failed == 0


def test_examples_are_found() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    names = [name for name in MODULES if "spark" not in name]  # a large extra
    tests = [test for name in names for test in finder.find(importlib.import_module(name))]
    assert sum(bool(test.examples) for test in tests) >= 15


def test_names_of_the_package() -> None:
    assert set(neardup.__all__) == set(dir(neardup))
    for name in neardup.__all__:
        assert getattr(neardup, name) is getattr(neardup, name)
    with pytest.raises(AttributeError, match="no attribute 'dedupe'"):
        _ = neardup.dedupe


def test_errors_are_one_tree_and_picklable() -> None:
    from neardup import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    kinds = [kind for kind in kinds if kind.__module__ == errors.__name__]
    assert len(kinds) > 5
    for kind in kinds:
        if issubclass(kind, Warning):
            continue
        assert issubclass(kind, NeardupError)
        again = pickle.loads(pickle.dumps(kind("what is wrong", "what helps")))
        assert (type(again), str(again), again.hint) == (kind, "what is wrong", "what helps")
