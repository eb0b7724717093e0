"""Candidates are what the real Splink and recordlinkage take, in an environment of their own."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from made_records import made_persons

import neardup

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


def interpreter() -> str:
    """The interpreter that has both; this one, or that of tools/link_tools.py."""
    if all(importlib.util.find_spec(name) for name in ("splink", "recordlinkage")):
        return sys.executable
    tool = [sys.executable, str(ROOT / "tools" / "link_tools.py")]
    done = subprocess.run(tool, capture_output=True, text=True)
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("hand") / "answers.json"
    script = Path(__file__).with_name("hand_over.py")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [interpreter(), str(script), str(out)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def test_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs/howto/splink.md").read_text(encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    python = interpreter()
    (line,) = re.findall(r"```sh\n(neardup .*)\n```", page)
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    for command in ([*("-m", "neardup"), *line.split()[1:]], ["-c", code]):
        done = subprocess.run(
            [python, *command], cwd=tmp_path, capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("files", ["one", "two"])
@pytest.mark.parametrize("tool", ["splink", "recordlinkage"])
def test_all_candidates_are_scored_and_no_others(
    answers: dict[str, Any], files: str, tool: str
) -> None:
    found = answers[files]
    assert len(found["pairs"]) > 100
    scored = {frozenset(row[:2]) for row in found[tool]}
    assert scored == {frozenset(pair) for pair in found["pairs"]}
    assert len(found[tool]) == len(found["pairs"])


@pytest.mark.parametrize("tool", ["splink", "recordlinkage"])
def test_true_pairs_have_higher_scores(answers: dict[str, Any], tool: str) -> None:
    group = dict(zip(*answers["truth"].values(), strict=True))
    scores = defaultdict(list)
    for a, b, score in answers["one"][tool]:
        scores[group[a] == group[b]].append(score)
    assert len(scores[True]) > 50
    false = sorted(scores[False])
    assert sorted(scores[True])[len(scores[True]) // 2] > false[len(false) * 19 // 20]


def test_keys_of_two_files() -> None:
    table, _ = made_persons(300, seed=11)
    found = neardup.blocks(
        table.slice(0, 150), table.slice(150), id="id", fields=["surname", "birth"]
    )
    keys = found.to_splink(("left", "right"))
    assert keys["join_key_l"][0].as_py() == "left-__-" + found.pairs["id_a"][0].as_py()
    assert keys["join_key_r"][0].as_py() == "right-__-" + found.pairs["id_b"][0].as_py()
    for names in (("a", "a"), ("a",), ("a", "")):
        with pytest.raises(neardup.NeardupError, match="two different names"):
            found.to_splink(names)  # type: ignore[arg-type]


def test_an_index_of_pairs(linked: neardup.LinkRun) -> None:
    index = linked.to_recordlinkage()
    assert index.names == ["id_a", "id_b"]
    assert len(index) == linked.candidates.num_rows
    assert linked.to_splink().column_names == ["join_key_l", "join_key_r", "match_key"]
