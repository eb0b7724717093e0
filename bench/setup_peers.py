"""Give each peer its own virtual environment in bench/.venvs, from pinned versions.

    python bench/setup_peers.py [NAME ...]

A peer that cannot be installed is reported with its reason in bench/.venvs/NAME.failed, and the
benchmark repeats that reason.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

from harness import BENCH, PEERS, peer_python, peer_version

DUPLODOCUS = "https://github.com/allenai/duplodocus"


def call(*words: str) -> None:
    """Run a command; its first error and its last line are the reason."""
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError(f"needs {words[0]}") from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith(("error", "fatal"))]
        raise RuntimeError("; ".join(dict.fromkeys([*errors[:1], *lines[-1:]])))


def install(name: str) -> None:
    folder = BENCH / ".venvs" / name
    if (folder / "installed").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    call(sys.executable, "-m", "venv", str(folder))
    requirements = str(BENCH / "peers" / f"requirements-{name}.txt")
    call(str(peer_python(name)), "-m", "pip", "install", "-q", "-r", requirements)
    if name == "duplodocus":
        try:
            source = ("--git", DUPLODOCUS, "--rev", peer_version(name))
            call("cargo", "install", "--quiet", "--root", str(folder), *source)
        except RuntimeError as error:
            shutil.rmtree(folder)
            raise RuntimeError(f"in no package registry, and from {DUPLODOCUS}: {error}") from None
    (folder / "installed").touch()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    names, failed = parser.parse_args().names or PEERS, 0
    for name in names:
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
    return 1 if failed == len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
