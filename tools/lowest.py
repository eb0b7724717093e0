"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

Of each, the last patch of the lowest minor version: of some, the first has no wheel.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_FLOOR = re.compile(r"([A-Za-z0-9_.\-]+)(?:\[[^\]]*\])?>=([0-9.]+)")


def floors() -> Iterator[tuple[str, str]]:
    """Yield the name and the floor of each requirement, of the extras too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    for requirement in [*project["dependencies"], *(one for extra in extras for one in extra)]:
        found = _FLOOR.fullmatch(requirement)
        if found:
            yield found[1], found[2]


def main() -> None:
    for name, floor in sorted(set(floors())):
        major, _, minor = floor.partition(".")
        print(f"{name}=={major}.{minor or 0}.*")


if __name__ == "__main__":
    main()
