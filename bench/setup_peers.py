"""Give each peer its own virtual environment in bench/.venvs, from pinned versions.

    python bench/setup_peers.py [NAME ...]

A peer that cannot be installed is reported with its reason in bench/.venvs/NAME.failed, and the
benchmark repeats that reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parent
PEERS = ("daft", "gaoya", "rensa", "datasketch", "text_dedup")
NEEDS_PYTHON = {"text_dedup": (3, 12)}  # 0.4.1; older Pythons get 0.4.0, another program


def find_python(version: tuple[int, int] | None) -> str:
    """A Python of at least `version`: this one, one on the path, or one of pyenv's."""
    if version is None or sys.version_info >= version:
        return sys.executable
    minors = range(version[1], version[1] + 4)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python3.{minor}" for minor in minors]
    candidates += [str(p) for minor in minors for p in pyenv.glob(f"3.{minor}.*/bin/python")]
    for candidate in candidates:
        path = shutil.which(candidate)
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    raise RuntimeError(f"needs Python {version[0]}.{version[1]} or later, and none was found")


def install(name: str) -> None:
    folder = BENCH / ".venvs" / name
    if (folder / "installed").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    python = find_python(NEEDS_PYTHON.get(name))
    requirements = str(BENCH / "peers" / f"requirements-{name}.txt")
    for command in (
        [python, "-m", "venv", str(folder)],
        [str(folder / "bin/python"), "-m", "pip", "install", "-q", "-r", requirements],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise RuntimeError(lines[0] if lines else done.stderr[-300:])
    (folder / "installed").touch()


def main() -> int:
    failed = 0
    for name in sys.argv[1:] or PEERS:
        note = BENCH / ".venvs" / f"{name}.failed"
        note.parent.mkdir(exist_ok=True)
        note.unlink(missing_ok=True)
        try:
            install(name)
            print(f"{name}: ready")
        except RuntimeError as error:
            note.write_text(str(error))
            print(f"{name}: could not be installed: {error}")
            failed += 1
    return 1 if failed == len(sys.argv[1:] or PEERS) else 0


if __name__ == "__main__":
    sys.exit(main())
