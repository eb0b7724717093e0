"""``neardup warmup`` leaves compiled kernels where it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from numba import config

from neardup.cli.main import cli


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="kernels are plain functions")
def test_it_names_the_folder_of_compiled_kernels(kernels: None) -> None:
    done = CliRunner().invoke(cli, ["warmup"])
    assert done.exit_code == 0, done.output
    found = re.search(r"kernels +(\d+) +in (.+)", done.stderr)
    assert found is not None
    there = list(Path(found[2]).rglob("*.nbc"))
    assert len(there) == int(found[1]) > 50
    assert any("passages" in path.parts for path in there)
    assert CliRunner().invoke(cli, ["warmup", "--quiet"]).stderr == ""
