"""What no type checker sees: programs outside the package import modules and names that exist."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _names(module: str) -> set[str] | None:
    """The names that a module of the package has, by its source; None where there is none."""
    path = ROOT / "src" / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.exists():
        return None
    found = {inner.stem for inner in path.iterdir()} if path.is_dir() else set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


@pytest.mark.parametrize("folder", ["bench", "experiments", "fuzz", "tools"])
def test_imports_of_the_package_exist(folder: str) -> None:
    missing = []
    checked = 0
    for path in sorted((ROOT / folder).rglob("*.py")):
        if ".venvs" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module is None or module.partition(".")[0] != "neardup":
                continue
            names = _names(module)
            checked += 1
            wanted = {alias.name for alias in node.names}
            if names is None or not wanted <= names:
                missing.append(f"{path.name}:{node.lineno}: {module} {wanted - (names or set())}")
    assert not missing
    assert checked


def test_programs_of_the_benchmark_find_each_other() -> None:
    """They are called by their paths: their folder is on the path, and not that of the project."""
    programs = [path for path in (ROOT / "bench").glob("*.py") if path.name != "__init__.py"]
    found = [
        f"{path.name}:{node.lineno}"
        for path in programs
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "bench"
    ]
    assert programs
    assert not found
