"""Find a Chromium for the tests of pages, or install one.

    browser.py find      print the path of one; 3 and the reason on stderr if there is none
    browser.py install   install Debian's or Ubuntu's chromium first, if there is none; needs root

A browser on the PATH is taken as it is. ``NEARDUP_BROWSER`` names another one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = 3
#: Seconds for a step of apt-get, and for the browser to say its version.
APT_SECONDS, START_SECONDS = 600, 60


class NoBrowserError(Exception):
    """There is none; the message says why."""


def find() -> str:
    """Return the path of a browser that starts.

    Raises:
        NoBrowserError: There is none.
    """
    named = os.environ.get("NEARDUP_BROWSER")
    reasons = []
    for name in [named] if named else NAMES:
        path = shutil.which(name)
        if path is None:
            continue
        # A name may stand for a package that is not installed, as chromium-browser does on Ubuntu.
        reason = _starts(path)
        if reason is None:
            return path
        reasons.append(f"{path}: {reason}")
    if reasons:
        raise NoBrowserError("; ".join(reasons))
    looked = named or ", ".join(NAMES)
    raise NoBrowserError(f"no browser on the PATH (looked for {looked}); make browser installs one")


def _starts(path: str) -> str | None:
    """Why a browser does not start; None if it does."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=START_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start ({type(error).__name__})"
    if done.returncode or not done.stdout.strip():
        return f"does not start (exit code {done.returncode})"
    return None


def install() -> str:
    """Return the path of a browser, installed if there was none.

    Raises:
        NoBrowserError: It can't be installed here.
    """
    try:
        return find()
    except NoBrowserError:
        if os.environ.get("NEARDUP_BROWSER"):
            raise
    release = Path("/etc/os-release")
    about = release.read_text(encoding="utf-8") if release.exists() else ""
    likes = {
        word
        for line in about.splitlines()
        if line.startswith(("ID=", "ID_LIKE="))
        for word in line.partition("=")[2].strip('"').split()
    }
    if not likes & {"debian", "ubuntu"} or shutil.which("apt-get") is None:
        raise NoBrowserError("no browser, and only Debian and Ubuntu are known to have one to add")
    if os.geteuid() != 0:
        raise NoBrowserError("no browser, and only root can install one: apt-get install chromium")
    _apt("update")
    _apt("install", "--yes", "--no-install-recommends", "chromium")
    return find()


def _apt(*arguments: str) -> None:
    command = ["apt-get", "--quiet", "--quiet", *arguments]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=APT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoBrowserError(f"{' '.join(command)}: {type(error).__name__}") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()[-1]
        raise NoBrowserError(f"{' '.join(command)}: {last}")


def main(arguments: list[str]) -> int:
    if arguments not in (["find"], ["install"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(find() if arguments == ["find"] else install())
    except NoBrowserError as error:
        print(f"no browser: {error}", file=sys.stderr)
        return MISSING
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
