"""After the first use of each kind nothing is left to compile."""

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
from neardup.spec import ShingleSpec, Spec
said = []
for spec in (
    Spec(),
    Spec(scheme="affine32", second_round=True),
    Spec(scheme="oph32"),
    Spec(cluster="star", shingle=ShingleSpec(unit="char", n=3, bag=True)),
    Spec(cluster="components", shingle=ShingleSpec(stem="english")),
    Spec(method="allpairs", cluster="star"),
):
    events = []
    warm(spec, Stages(events.append))
    said.append(any("once" in e.note for e in events))
assert said[:5] == [True] * 5, said
events = []
warm(Spec(), Stages(events.append))
assert not any(e.note for e in events), events  # not again
# Those of a format are compiled when an input of that format comes, those of audits by them.
later = ("neardup.kernels.csvcut",)
of_audits = ("share_a_band", "unite")
for name, module in list(sys.modules.items()):
    if name.startswith("neardup.kernels.") and not name.endswith(".synth"):
        for kernel in vars(module).values():
            if isinstance(kernel, Dispatcher) and kernel.__module__ == name:
                inlined = kernel.targetoptions.get("inline") == "always"
                later_on = name in later or kernel.__name__ in of_audits
                if not kernel.signatures and not inlined and not later_on:
                    print(name, kernel.__name__)
"""


def test_the_first_use_of_each_kind_compiles_its_kernels_and_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
