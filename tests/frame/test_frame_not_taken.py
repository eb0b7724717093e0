"""Each option of texts and files is taken by a command, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest

import neardup
from common import Command
from neardup.cli.main import cli
from neardup.commands import NOT_TAKEN, why_not
from neardup.errors import NeardupError

#: Options of how texts are compared, and of how files are read.
TOKENS = ("nfkc", "strip_accents", "keep_case", "join_hyphens", "signs")
OTHERS = ("only_same", "within", "boilerplate")
FILES = ("encoding", "escape", "skip_bad")
#: Commands, each with a call of the same in Python.
CALLS: dict[str, Callable[..., Any]] = {
    "dedup": lambda **o: neardup.dedup(["a"], **o),
    "plan": lambda **o: neardup.plan(["a"], **o),
    "audit": lambda **o: neardup.dedup(["a"]).audit(**o),
    "stream": lambda **o: None,
    "index create": lambda **o: neardup.Index.create(**o),
    "index add": lambda **o: neardup.Index.create().add(["a"], **o),
    "passages": lambda **o: neardup.passages(["a"], **o),
    "decontaminate": lambda **o: neardup.decontaminate(["a"], ["a"], **o),
    "link": lambda **o: neardup.link({"a": ["b"]}, fields="a", **o),
    "blocks": lambda **o: neardup.blocks({"a": ["b"]}, fields="a", **o),
    "spark": lambda **o: None,
    "compare": lambda **o: neardup.compare("a", "b", **o),
}


def _taken(command: str) -> set[str]:
    found: Any = cli
    for word in command.split():
        found = found.get_command(click.Context(found), word)
    return {str(parameter.name) for parameter in found.params}


CASES = [
    (command, option)
    for command in CALLS
    for option in (*TOKENS, *OTHERS, *FILES)
    # An index is made without documents, and filled without settings.
    if not (command == "index create" and option in FILES)
]


@pytest.mark.parametrize(("name", "option"), CASES)
def test_taken_or_refused_with_the_reason(name: str, option: str, command: Command) -> None:
    why, is_taken = why_not(name, option), option in _taken(name)
    assert is_taken != bool(why)
    if is_taken:
        return
    flag = "--" + option.replace("_", "-")
    done = command(*name.split(), "x", flag)
    assert done.code == 2
    assert done.lines[0].startswith(f"error: no {flag} here: ")
    if name not in ("stream", "spark"):
        with pytest.raises(NeardupError, match=f"no `{option}` here: "):
            CALLS[name](**{option: "x"})


def test_items_have_no_group(command: Command) -> None:
    done = command("decontaminate", "a.jsonl", "--against", "b.jsonl", "--within", "patient")
    assert done.lines == ["error: no --within here: test items have no group", "hint: leave it out"]
    with pytest.raises(NeardupError, match="no `within` here: test items have no group"):
        CALLS["decontaminate"](within="patient")


def test_reasons_are_of_commands() -> None:
    named = {name for _, commands, _ in NOT_TAKEN for name in commands.split(", ")}
    known = {*CALLS, "against", "index", "index update", "index query", "index copied"}
    assert named <= known


def test_reasons_with_an_old_corpus() -> None:
    with pytest.raises(NeardupError, match="no `only_same` here: only dedup"):
        neardup.against(["a"], ["b"], only_same=True)  # type: ignore[call-arg]
