"""CONTRIBUTING and the workflows name what there is: folders of tests, targets of make, paths."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from doc_pages import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def made(text: str) -> set[str]:
    """Return the targets of make that a text names."""
    return set(re.findall(r"(?:^|`|- run: )make ([a-z-]+)", text, re.M))


def test_each_folder_of_tests_is_named() -> None:
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert set(re.findall(r"^\| `tests/(\w+)` \|", PAGE, re.M)) == folders


def test_targets_exist() -> None:
    assert {"lint", "test", "kernels", "docs", "release"} <= made(PAGE) <= TARGETS


def test_paths_exist() -> None:
    first = r"src|tests|tools|docs|bench|\.github"
    named = set(re.findall(rf"(?<![\w./])(?:{first})/[\w./-]*\w", PAGE))
    assert len(named) > 40
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_there_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert f"`.github/workflows/{path.name}`" in PAGE
    assert made(text) <= TARGETS
    assert re.search(r"^permissions:\n  contents: read$", text, re.M)


def test_versions_of_python_are_those_of_the_workflows() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    tested = set(re.findall(r'"(3\.\d+)"', texts))
    named = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if ":: Python :: 3." in one]
    assert set(named) == tested
    assert PROJECT["requires-python"] == f">={named[0]}"
