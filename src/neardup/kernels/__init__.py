"""Numba inner loops on plain arrays, each with an obvious reference in the tests.

Kernels release the GIL, take every parameter as an argument (Numba freezes globals) and cast at
every arithmetic step (Numba widens, NumPy wraps). They know nothing of files, specs or threads.
"""

import atexit
import os
from contextlib import ExitStack, suppress
from pathlib import Path

from neardup.announcing import listen_to_compiler
from neardup.files.temporary_folder import temporary_folder


def _find_cache() -> None:
    """Make a folder for compiled kernels where neither the package nor the home can be written to.

    Numba refuses to work without one. A folder that only this process uses is the safe choice:
    no other user can have put there a file that is loaded.
    """
    here = Path(__file__).parent
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    existing = next((p for p in (home, *home.parents) if p.exists()), here)
    writable = (here / "__pycache__", here, existing)
    if "NUMBA_CACHE_DIR" not in os.environ and not any(
        p.is_dir() and os.access(p, os.W_OK | os.X_OK) for p in writable
    ):
        until_the_end = ExitStack()
        folder = until_the_end.enter_context(temporary_folder("kernels"))
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
        atexit.register(until_the_end.close)


def _remove_stale() -> None:
    """Remove compiled kernels that are older than the newest source of a kernel.

    Numba checks the file of a kernel only, not the kernels that it calls; and before it checks, it
    loads the files that an index refers to, which may be gone.
    """
    here = Path(__file__).parent
    newest = max((path.stat().st_mtime for path in here.rglob("*.py")), default=0.0)  # in a zip
    for index in here.rglob("__pycache__/*.nbi"):
        with suppress(OSError):
            if index.stat().st_mtime < newest:
                index.unlink()


_find_cache()
_remove_stale()
listen_to_compiler(__name__)
