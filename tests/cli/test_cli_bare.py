"""What works with the base install alone; where extras are there, the same holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

import neardup
from common import Command
from neardup.cli.commands.of_index.command_index import index
from neardup.cli.main import cli


def test_every_command_has_help_and_an_example(command: Command) -> None:
    names = [[name] for name in cli.list_commands(click.Context(cli)) if name != "index"]
    names += [["index", name] for name in index.commands]
    assert len(names) > 20
    for name in names:
        answer = command(*name, "--help")
        assert answer.code == 0 and answer.out.startswith("Usage: "), name
        assert f"Example:\n  neardup {' '.join(name)} " in answer.out
        assert not answer.lines


def test_the_list_of_commands_has_a_whole_line_for_each(command: Command) -> None:
    answer = command("--help")
    lines = answer.out.partition("Commands:\n")[2].splitlines()
    names = cli.list_commands(click.Context(cli))
    assert [line.split()[0] for line in lines[: len(names)]] == names
    assert all(line.endswith(".") and len(line) <= 80 for line in lines[: len(names)])
    assert "..." not in "".join(lines)


def test_commands_are_completed_with_their_lines() -> None:
    asked = {"_NEARDUP_COMPLETE": "zsh_complete", "COMP_WORDS": "neardup de", "COMP_CWORD": "1"}
    words = [sys.executable, "-m", "neardup"]
    done = subprocess.run(
        words, env=os.environ | asked, capture_output=True, text=True, check=False
    )
    found = done.stdout.splitlines()
    assert found[:3] == ["plain", "dedup", "Find near-duplicates, and write a clean corpus."]
    assert found[4] == "decontaminate"


def test_the_first_steps(tmp_path: Path, command: Command) -> None:
    notes, out = tmp_path / "notes.jsonl", tmp_path / "out"
    assert command("synth", "-n", 300, "-o", notes).code == 0
    assert command("dedup", notes, "-o", out, "--id", "id", "--keep-run").code == 0
    run = neardup.open(out)
    assert len(run.kept) + len(run.removed) == len(run) >= 300
    assert command("explain", out, run.duplicates["doc_id"][0].as_py()).code == 0
    assert command("recluster", out, "-o", tmp_path / "again", "--threshold", "0.8").code == 0


def test_a_url_names_the_package_that_it_needs(tmp_path: Path, command: Command) -> None:
    answer = command("dedup", "abfs://box/a.jsonl", "-o", tmp_path / "out")
    assert answer.code == 1 and "neardup[remote]" in answer.err
