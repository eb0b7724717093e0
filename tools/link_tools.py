"""Give Splink and recordlinkage an environment of their own, .venv-link; their pandas is older.

It sees the packages of the interpreter that runs this after its own, so that only what has to be
different is installed.

python tools/link_tools.py

Prints its interpreter. Where it can't be had, says why and ends with 3.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".venv-link"
_STAMP = FOLDER / "installed"


def requirements() -> list[str]:
    """Return what neardup needs, and what its extra `link` adds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["link"]]


def interpreter() -> Path:
    """Return the interpreter; the environment is made if it is not there.

    Raises:
        RuntimeError: It can't be had.
    """
    python = FOLDER / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wanted = "\n".join([sysconfig.get_path("purelib"), *requirements()])
    if _STAMP.is_file() and _STAMP.read_text(encoding="utf-8") == wanted:
        return python
    _call(sys.executable, "-m", "venv", "--clear", "--without-pip", str(FOLDER))
    own = Path(sysconfig.get_path("purelib", vars={"base": str(FOLDER)}))
    (own / "outer.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    _call(str(python), "-m", "pip", "install", "-q", "--no-compile", *requirements())
    _STAMP.write_text(wanted, encoding="utf-8")
    return python


def _call(*words: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"{Path(words[0]).name}: {type(error).__name__}") from error
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise RuntimeError(lines[-1] if lines else f"{words[0]} ended with {done.returncode}")


def main() -> int:
    try:
        print(interpreter())
    except RuntimeError as error:
        print(f"no environment with Splink and recordlinkage: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
