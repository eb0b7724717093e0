"""The store and the engine of the page about contracts pass them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import DOCS, blocks

PAGE = DOCS / "howto" / "contracts.md"


@pytest.mark.long
def test_the_examples_pass_the_contracts(tmp_path: Path, kernels: None) -> None:
    names = re.findall(r"In a file `(\w+\.py)`:", PAGE.read_text(encoding="utf-8"))
    codes = [block.code for block in blocks(PAGE) if "Contract):" in block.code]
    assert len(codes) == 2
    for name, code in zip(names, codes, strict=True):
        (tmp_path / name).write_text(code, encoding="utf-8")
    (command,) = (block.code.split() for block in blocks(PAGE) if block.language == "console")
    assert command == ["pytest", *names]
    done = subprocess.run(
        [sys.executable, "-m", *command, "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d{2} passed", done.stdout.splitlines()[-1]), done.stdout
