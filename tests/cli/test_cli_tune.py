"""``neardup tune``: the table, JSON, curves, and what is refused."""

from __future__ import annotations

import json

import pytest

import neardup
from common import Command
from neardup.errors import SpecError

CLINICAL = ("--at", "0.5:0.99", "--at", "0.05:0.001", "--num-hashes", "128")


def test_clinical_choice_comes_first(command: Command) -> None:
    done = command("tune", *CLINICAL)
    assert done.code == 0
    assert done.lines == []
    lines = done.out.splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("bands"))
    assert lines[head + 1].split() == (
        ["42", "3", "126", "99.6", "%", "!", "0.5", "%", "0.029", "0.254", "0.470", "0.252"]
    )
    said = " ".join(lines[:head])
    assert "No choice of up to 128 hashes satisfies all points" in said
    assert "72 bands of 4 rows (288 hashes) would satisfy all" in said
    assert lines[-1] == "... and 54 more; --all shows them"
    assert len(command("tune", *CLINICAL, "--all").out.splitlines()) == head + 1 + 64


def test_json_is_what_python_gives(command: Command) -> None:
    done = command("tune", *CLINICAL, "--json")
    found = json.loads(done.out)
    assert found == neardup.tune(["0.5:0.99", "0.05:0.001"]).as_dict()
    first = found["choices"][0]
    assert (first["num_bands"], first["rows"], first["num_hashes"]) == (42, 3, 126)
    assert [point["satisfied"] for point in first["points"]] == [True, False]
    assert [point["asked"] for point in first["points"]] == ["at least", "at most"]
    assert set(first["similarity_at"]) == {"0.001", "0.5", "0.99"}
    assert found["longer"]["num_hashes"] == 288


def test_one_line_for_each_number_of_rows(command: Command) -> None:
    lines = command("tune", "--at", "0.7:0.99").out.splitlines()
    count = len(neardup.tune(["0.7:0.99"]).choices)
    assert lines[0].startswith(f"{count} choices of up to 128 hashes satisfy all points")
    assert [line.split()[:3] for line in lines[2:-1]] == [
        ["17-32", "4", "68-128"],
        ["11-42", "3", "33-126"],
        ["7-64", "2", "14-128"],
        ["4-128", "1", "4-128"],
    ]


def test_given_bands_and_rows(command: Command) -> None:
    done = command("tune", "--bands", 42, "--rows", 3)
    assert done.out.splitlines()[1].split() == [
        "42",
        "3",
        "126",
        "0.029",
        "0.254",
        "0.470",
        "0.252",
    ]
    done = command(
        "tune", "--bands", 42, "--rows", 3, "--bands", 17, "--rows", 4, "--at", "0.5:.99"
    )
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == ["42", "17"]
    assert "! 66.6 %" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json"], "nothing is asked for"),
        (["--at", "0.5"], "a point is '0.5'"),
        (["--at", "2:0.5"], "similarity of a point is 2.0"),
        (["--at", "0.5:0.9", "--num-hashes", "0"], "--num-hashes is 0;"),
        (["--at", "0.5:0.9", "--num-hashes", "9000"], "--num-hashes is 9000;"),
        (["--at", "0.5:0.9", "--at", "0.6:0.1"], "contradict each other"),
        (["--bands", "3"], "--bands is given 1 times, and --rows 0 times"),
        (["--bands", "3", "--rows", "3", "--num-hashes", "9"], "--num-hashes is given"),
    ],
)
def test_refused(arguments: list[str], message: str, command: Command) -> None:
    done = command("tune", *arguments)
    assert done.code == 2
    assert message in done.error


def test_given_bands_without_points_satisfy_nothing(command: Command) -> None:
    found = json.loads(command("tune", "--bands", 42, "--rows", 3, "--json").out)
    assert found["satisfied"] is None and found["choices"][0]["satisfied"] is None


@pytest.mark.parametrize(
    "arguments",
    [([(0.5, 0.9, 1)],), ([0.5],), ([("a", 0.9)],), (["0.5:0.9"], 12.5)],
    ids=str,
)
def test_what_python_refuses(arguments: tuple) -> None:
    with pytest.raises(SpecError, match="expected"):
        neardup.tune(*arguments)


def test_numbers_of_bands_at_fixed_similarities(command: Command) -> None:
    asked = ("--similarity", "0.25", "--similarity", "0.75", "--num-hashes", "360")
    lines = [line.split() for line in command("tune", *asked).out.splitlines()]
    assert lines[0] == ["bands", "rows", "s", "=", "0.25", "s", "=", "0.75"]
    assert ["90", "4", "0.2969", "1.0000"] in lines and ["120", "3", "0.8489", "1.0000"] in lines
    found = json.loads(command("tune", *asked, "--json").out)
    assert found == neardup.tune(similarity=[0.25, 0.75], num_hashes=360).as_dict()
    rows = found["choices"]
    assert len(rows) == len(lines) - 1 and rows[-1]["num_bands"] == 360
    given = ("--bands", 20, "--rows", 5, "--bands", 90, "--rows", 4)
    lines = [line.split() for line in command("tune", *asked[:4], *given).out.splitlines()]
    assert lines[1:] == [["20", "5", "0.0194", "0.9956"], ["90", "4", "0.2969", "1.0000"]]
    assert command("tune", *asked[:2], "--bands", 20, "--rows", 99).code == 2
    refused = command("tune", *asked, "--at", "0.5:0.99")
    said = ["error: --similarity and --at ask for different tables", "hint: leave one of them out"]
    assert refused.code == 2 and refused.lines == said
