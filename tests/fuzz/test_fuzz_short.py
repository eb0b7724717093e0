"""What a search once found stays corrected, and a short new search finds nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common import core, tries
from fuzz import crashes, engines, indexes, kernels, options, readers, runner, state
from fuzz.paths import FUZZ

TRACED = shutil.which("strace") is not None
SEEDS = sorted(
    path
    for path in (FUZZ / "seeds").iterdir()
    if path.suffix != ".md" and (TRACED or not path.name.startswith("crashes-"))
)
#: The others start processes, which they kill.
QUICK = [path for path in SEEDS if not path.name.startswith("crashes-")]
#: Cases of each target, all in this process.
CASES: dict[Any, int] = {
    readers: tries(100, 400),
    kernels: tries(10, 40),
    options: tries(8, 25),
    engines: tries(3, 8),
    state: tries(8, 25),
    indexes: tries(2, 25),
    **({crashes: tries(1, 3)} if TRACED else {}),
}


@pytest.mark.parametrize("path", core(SEEDS, *QUICK), ids=lambda path: path.name)
def test_seeds(path: Path) -> None:
    runner.replay(path)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_seeds_take_little_memory() -> None:
    script = """
import sys
from pathlib import Path
from fuzz import runner
for name in sys.argv[1:]:
    runner.replay(Path(name))
# (The resources of a process count the peak of the one that started it.)
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""
    # (Crashes happen in other processes, whose memory this would not see.)
    names = [str(path) for path in QUICK]
    assert len(names) > 3
    command = [sys.executable, "-c", script, *names]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=FUZZ.parent)
    assert int(done.stdout.split()[-1]) < 800_000  # kB; one of them took 2.2 GB


@pytest.mark.parametrize(
    "module", core(CASES, readers, kernels, options), ids=lambda module: module.__name__
)
def test_short_search(module: Any, tmp_path: Path) -> None:
    for number in range(CASES[module]):
        folder = tmp_path / str(number)
        folder.mkdir()
        module.check(*module.make(np.random.default_rng([9, number])), folder)


@pytest.mark.long
def test_a_finding_is_stored_and_the_search_continues(tmp_path: Path) -> None:
    """In processes of their own: one case ends its process, one raises, one has no end."""
    limits = runner.Limits(8, 60.0, 2, case=1.0, patience=4.0)
    done, found = runner.run("broken_target", 1, limits, tmp_path)
    whys = sorted(path.with_name(path.name + ".why").read_text() for path in found)
    assert done == 8
    assert len(found) == 3
    assert sum("ended with" in why for why in whys) == 1
    assert sum("AssertionError: wrong" in why for why in whys) == 1
    assert sum("no end after" in why for why in whys) == 1
