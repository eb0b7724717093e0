"""After the first use nothing is left to compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
from numba.core.dispatcher import Dispatcher
from neardup.run.events import Stages
from neardup.run.warm import warm
from neardup.spec import Spec
events = []
warm(Spec(), Stages(events.append))
assert any("once" in e.note for e in events), events
events.clear()
warm(Spec(second_round=True), Stages(events.append))
# Those of a format are compiled when an input of that format comes.
of_formats = "neardup.kernels.csvcut"
for name, module in list(sys.modules.items()):
    if name.startswith("neardup.kernels.") and not name.endswith(".synth"):
        for kernel in vars(module).values():
            if isinstance(kernel, Dispatcher) and kernel.__module__ == name:
                inlined = kernel.targetoptions.get("inline") == "always"
                if not kernel.signatures and not inlined and name != of_formats:
                    print(name, kernel.__name__)
assert any("once" in e.note for e in events), events
"""


def test_the_first_use_compiles_all_kernels_and_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
