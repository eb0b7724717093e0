"""An audit stays within the memory it is given, or refuses."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import neardup
from common import write_lines
from neardup.errors import SpecError
from neardup.run import auditing
from neardup.synth import SynthSpec, write

NEARDUP = [sys.executable, "-c", "from neardup.cli import main; main()"]


def test_a_sample_of_long_texts_that_does_not_fit(
    tmp_path: Path, kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = write_lines(tmp_path / "a.jsonl", [{"text": " ".join(map(str, range(5000)))}] * 3)
    neardup.dedup_files(lines, tmp_path / "out", storage=neardup.Storage(part_bytes=4_000))
    monkeypatch.setattr(auditing, "_room", lambda *_: 500_000)
    with pytest.raises(SpecError, match=r"14,988 shingles and more, which take 1\.1 MB"):
        neardup.audit(tmp_path / "out")
    # Nothing more is read once it is known: two of the three are not.
    monkeypatch.setattr(auditing, "_room", lambda *_: 50_000)
    with pytest.raises(SpecError, match=r"4,996 shingles and more, which take 80 kB"):
        neardup.audit(tmp_path / "out")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_it_stays_within_memory(tmp_path: Path, kernels: None) -> None:
    write(SynthSpec(documents=20_000, words=(20, 200)), tmp_path / "notes.jsonl")
    neardup.dedup_files(tmp_path / "notes.jsonl", tmp_path / "out", id="id")
    command = [*NEARDUP, "audit", str(tmp_path / "out"), "--threads", "2", "--json"]
    refused = subprocess.run(
        [*command, "--memory", "200MB"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2 and "need at least " in refused.stderr
    least = math.ceil(float(refused.stderr.partition("need at least ")[2].split()[0])) + 1
    done = subprocess.run(
        [*command, "--memory", f"{least}MB"], capture_output=True, text=True, check=True
    )
    audit = json.loads(done.stdout)
    assert audit["sampled"] == 1000
    assert 0 < audit["peak_anonymous"] < least * 1_000_000
