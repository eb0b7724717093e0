"""``neardup warmup`` leaves compiled kernels where it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from numba import config

from neardup.cli.main import cli

pytestmark = pytest.mark.long


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="kernels are plain functions")
def test_it_names_the_folder_of_compiled_kernels(
    kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = CliRunner().invoke(cli, ["warmup"])
    assert done.exit_code == 0, done.output
    found = re.search(r"kernels +(\d+) +in (.+)", done.stderr)
    assert found is not None
    there = list(Path(found[2]).rglob("*.nbc"))
    assert len(there) == int(found[1]) > 50
    assert any("passages" in path.parts for path in there)
    # All is compiled; that it says nothing takes no second look at the kernels.
    monkeypatch.setattr("neardup.api.warmup.warmup", lambda: None)
    quiet = CliRunner().invoke(cli, ["warmup", "--quiet"])
    assert (quiet.exit_code, quiet.stderr) == (0, "")


#: After warm-up, calls of indexes with any settings add no signature to a kernel.
ANY_INDEX = """
import sys
import neardup
from neardup.api.indexes.index_warming import warm
from neardup.api.warmup import warmup
from neardup.sketch.bands import recipe_for
from neardup.spec import PRESETS, ShingleSpec, Spec

def signatures():
    modules = [m for name, m in sorted(sys.modules.items()) if name.startswith("neardup.kernels")]
    each = [value for module in modules for value in vars(module).values()]
    kernels = [value for value in each if hasattr(value, "py_func")]
    return {(kernel.py_func.__qualname__, str(kernel.signatures)) for kernel in kernels}

warmup()
before = signatures()
shingles = [
    ShingleSpec(), ShingleSpec(unit="char", n=3), ShingleSpec(unit="item"), ShingleSpec(bag=True),
    ShingleSpec(hash_bytes=4), ShingleSpec(stop_passages=("w0 w1 w2",)), ShingleSpec(nfkc=True),
    ShingleSpec(unit="char", raw=True), ShingleSpec(ignore=("w1",)), ShingleSpec(stem="english"),
]
specs = [*PRESETS.values(), *map(Spec, shingles), Spec(scheme="oph32"), Spec(method="allpairs")]
for spec in specs:
    spec = spec.replace(cluster="star")
    warm(spec, recipe_for(spec))
neardup.dedup(["C++", "<", "a text of more words than a shingle has"])
print(len(before), sorted(signatures() - before))
"""


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="kernels are plain functions")
def test_an_index_of_any_settings_compiles_nothing_after_it(kernels: None) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ANY_INDEX], capture_output=True, text=True, check=True
    )
    count, more = done.stdout.split(maxsplit=1)
    assert int(count) > 50 and more == "[]\n"
