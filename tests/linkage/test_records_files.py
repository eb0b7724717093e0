"""Any number of files: pairs within and across them, columns of other names, presets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from made_records import NAMES, made_persons

import neardup
from common import Command
from neardup.errors import ArgumentError, ColumnError, InputError, SpecError
from neardup.linkage.columns.field_columns import letters
from neardup.linkage.columns.presets import surnames


@pytest.fixture(scope="module")
def parts() -> list[pa.Table]:
    """Three files of persons that are in one, in two, or in all of them."""
    table, _ = made_persons(900, seed=2)
    return [table.slice(0, 300), table.slice(300, 350), table.slice(650)]


def pairs_of(run: neardup.LinkRun) -> set[tuple[Any, Any]]:
    return set(zip(run.pairs["id_a"].to_pylist(), run.pairs["id_b"].to_pylist(), strict=True))


def test_within_and_across_is_as_one_file(parts: list[pa.Table]) -> None:
    one = neardup.link(pa.concat_tables(parts), id="id", fields=NAMES)
    several = neardup.link(*parts, id="id", fields=NAMES)
    assert several.pairs.equals(one.pairs) and several.candidates.equals(one.candidates)
    assert several.clusters.drop("source").equals(one.clusters.drop("source"))
    assert pc.value_counts(several.clusters["source"]).to_pylist() == [
        {"values": letter, "counts": part.num_rows}
        for letter, part in zip("abc", parts, strict=True)
    ]
    assert several.summary["sizes"] == [part.num_rows for part in parts]


def test_across_only_and_one_to_one(parts: list[pa.Table], tmp_path: Path) -> None:
    every = neardup.blocks(*parts, id="id", fields=NAMES)
    run = neardup.link(*parts, id="id", fields=NAMES, across_files_only=True)
    source = dict(zip(*(run.clusters[c].to_pylist() for c in ("id", "source")), strict=True))

    def across(pairs: pa.Table) -> set[tuple[Any, Any]]:
        found = zip(pairs["id_a"].to_pylist(), pairs["id_b"].to_pylist(), strict=True)
        return {(a, b) for a, b in found if source[a] != source[b]}

    assert across(run.candidates) == across(every.pairs)
    assert len(across(run.candidates)) == run.candidates.num_rows
    sizes = run.summary["sizes"]
    assert run.summary["counts"]["possible"] == sum(
        one * two for k, one in enumerate(sizes) for two in sizes[:k]
    )
    best = neardup.link(*parts, id="id", fields=NAMES, one_to_one=True, out=tmp_path / "out")
    assert pairs_of(best) <= pairs_of(run)
    clusters = best.clusters.group_by(["cluster", "source"]).aggregate([([], "count_all")])
    assert set(clusters["count_all"].to_pylist()) == {1}
    again = neardup.open(tmp_path / "out")
    assert isinstance(again, neardup.LinkRun)
    assert again.at(0.5).pairs.equals(best.pairs)
    turned = neardup.link(*parts[::-1], id="id", fields=NAMES, one_to_one=True)
    assert {frozenset(p) for p in pairs_of(turned)} == {frozenset(p) for p in pairs_of(best)}


def test_two_files_within_and_across(parts: list[pa.Table]) -> None:
    two = parts[:2]
    within = neardup.link(*two, id="id", fields=NAMES, across_files_only=False)
    assert within.pairs.equals(neardup.link(pa.concat_tables(two), id="id", fields=NAMES).pairs)
    index = within.index()
    assert neardup.link(*parts[2:], against=index).clusters.num_rows == parts[2].num_rows
    assert len(index) == 900


def test_ids_of_several_files() -> None:
    one = {"id": ["1", "2"], "name": ["Anna Schmidt", "Otto Maier"]}
    two = {"id": ["1", "3"], "name": ["Peter Huber", "Anna Schmidt"]}
    run = neardup.link(one, two, one, fields="name", id="id", decide_at=0.5)
    assert run.clusters["id"].to_pylist() == ["a:1", "a:2", "b:1", "b:3", "c:1", "c:2"]
    assert run.explain("a:1", "b:3")["match"]
    labels = [("a:1", "b:3", False)]
    marked = neardup.link(one, two, one, fields="name", id="id", labels=labels)
    assert ("a:1", "b:3") not in pairs_of(marked)
    positions = neardup.link(one, two, one, fields="name", decide_at=0.5)
    assert positions.clusters["id"].to_pylist() == ["a:0", "a:1", "b:0", "b:1", "c:0", "c:1"]
    assert letters(703)[25:28] == ["z", "aa", "ab"] and letters(703)[-1] == "aaa"


def test_columns_of_other_names(tmp_path: Path, command: Command) -> None:
    first = tmp_path / "a.csv"
    first.write_text("id,first,last\n1,Anna,Schmidt\n2,Otto,Maier\n")
    second = tmp_path / "b.jsonl"
    second.write_text('{"id": "7", "given": "Anna", "name": "Schmidt", "more": 1}\n')
    fields = {"given": ["given", "first"], "surname:text": ["last", "name"]}
    found = neardup.link(first, second, fields=fields, id="id", decide_at=0.5)
    assert pairs_of(found) == {("1", "7")}
    assert found.summary["columns"] == [["first", "last"], ["given", "name"]]
    maps: list[Any] = [
        {"a.csv": {"given": "first", "surname": "last"}, "b": {"surname": "name"}},
        [f"{first}:given=first", "a:surname=last", "b.jsonl:surname=name"],
    ]
    for map in maps:
        same = neardup.link(first, second, fields="given,surname", map=map, id="id", decide_at=0.5)
        assert same.pairs.equals(found.pairs)
    link = ("link", first, second, "--fields", "given,surname", "--id", "id", "-o", tmp_path / "o")
    every = [part for text in maps[1] for part in ("--map", text)]
    shown = command(*link, *every, "--decide-at", "0.5")
    assert shown.code == 0 and "given               text, from first, given" in shown.err
    assert command(*link, *every, "--decide-at", "0.5", "--resume").code == 0
    for wrong, said in (
        ("a.csv:given=forename", f"{first}: no column 'forename'; there are id, first, last"),
        ("c.csv:given=first", "--map names 'c.csv', which is no file that is linked"),
        ("a.csv:age=first", "--map names 'age', which is no field that is compared"),
        ("given", "--map has 'given'; expected FILE:FIELD=COLUMN"),
    ):
        assert said in command(*link, *every[2:], "--map", wrong, "--overwrite").error
    with pytest.raises(ColumnError, match="no column for the field 'given': none of 'given', 'x'"):
        neardup.link(first, second, fields={"given": ["given", "x"], "last": "last"})
    with pytest.raises(SpecError, match="two columns for the field 'given'"):
        neardup.link(first, fields="given", map=["a:given=first", "given=last"])
    with pytest.raises(SpecError, match="columns of the field 'given' are"):
        neardup.link(first, fields={"given": []})


@pytest.mark.long
def test_one_of_three_files_is_empty(tmp_path: Path, parts: list[pa.Table]) -> None:
    import pyarrow.csv as pcsv

    paths = [tmp_path / name for name in ("a.csv", "none.csv", "b.csv")]
    for path, part in zip(paths[::2], parts, strict=False):
        pcsv.write_csv(part, path)
    for text in ("", "id,given_name,surname,birth,street,suburb,postcode,phone\n"):
        paths[1].write_text(text)
        for across in (False, True):
            how: dict[str, Any] = {"id": "id", "fields": NAMES, "across_files_only": across}
            found = neardup.link(*paths, **how)
            assert f"{paths[1]} has no records" in found.notes
            assert pairs_of(found) == pairs_of(neardup.link(*paths[::2], **how))
    neardup.link(*paths, preset="persons")
    with pytest.raises(ArgumentError, match="no file of records"):
        neardup.link(fields="name")


def test_many_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names = ["".join(map(chr, rng.integers(97, 123, 9))) for _ in range(200)]
    paths = [tmp_path / f"{k}.csv" for k in range(400)]
    for k, path in enumerate(paths):
        path.write_text(f"name,born\n{names[k % 200]},{1800 + 7 * (k % 200)}-01-01\n")
    run = neardup.link(*paths, fields="name,born:digits", one_to_one=True)
    called = letters(400)
    assert pairs_of(run) == {(f"{called[k]}:0", f"{called[k + 200]}:0") for k in range(200)}
    assert run.clusters["source"][26].as_py() == "aa"


def test_preset_of_persons_is_overruled(tmp_path: Path, command: Command) -> None:
    one = {"First Name": ["Anna", "Otto"], "Last-Name": ["Schmidt", "Maier"], "DOB": ["1980", ""]}
    two = {"vorname": ["Anna"], "Nachname": ["Schmidt"], "E-Mail": ["a@b.c"], "zip": ["1010"]}
    run = neardup.link(one, two, preset="persons")
    assert pairs_of(run) == {(0, 0)}
    used = {field["name"]: field["compare"] for field in run.summary["spec"]["fields"]}
    assert [*used] == ["given_name", "surname", "birth", "postcode", "email"]
    assert "from First Name, vorname" in str(run)
    other = neardup.link(
        one, two, preset="persons", fields="surname:exact", map={"a": {"surname": "First Name"}}
    )
    fields = other.summary["spec"]["fields"]
    assert [f["compare"] for f in fields if f["name"] == "surname"] == ["exact"]
    assert "First Name" in other.summary["columns"][0]
    with pytest.raises(ColumnError, match="no column has one of the names that the preset knows"):
        neardup.link({"x": ["1"], "y": ["2"]}, preset="persons")
    with pytest.raises(SpecError, match="preset is 'people'"):
        neardup.link(one, two, preset="people")
    path = tmp_path / "pairs.parquet"
    done = command("synth", "--kind", "persons", "-n", "50", "-o", tmp_path / "p.csv")
    assert done.code == 0
    assert command("blocks", tmp_path / "p.csv", "--preset", "persons", "-o", path).code == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Smith, John", "Smith"),
        ("Smith J", "Smith"),
        ("Smith, J.; Doe, J.", "Smith Doe"),
        ("SMITH J, DOE J", "SMITH DOE"),
        ("de la Cruz M.", "de la Cruz"),
        ("John Smith", "Smith"),
        ("", ""),
    ],
)
def test_surnames(value: str, expected: str) -> None:
    assert surnames(value) == expected


def test_settings_that_contradict() -> None:
    one = {"name": ["anna"]}
    with pytest.raises(SpecError, match="`across_files_only` is for several files"):
        neardup.link(one, fields="name", across_files_only=True)
    with pytest.raises(SpecError, match="`one_to_one` is for pairs across files"):
        neardup.link(one, one, fields="name", one_to_one=True, across_files_only=False)
    with pytest.raises(SpecError, match="an index is made of a linkage within"):
        neardup.link(one, {"name": ["otto"]}, fields="name").index()
    with pytest.raises(InputError):
        neardup.link(one, Path("there is none.csv"), fields="name")


def test_a_field_of_weight_0_is_blocked_by_itself() -> None:
    names = ["Anna Schmidt", "Ana Schmidt", "Otto Maier", "Peter Huber"]
    fields = [neardup.Field("name"), neardup.Field("town", "exact", weight=0)]
    run = neardup.link({"name": names, "town": ["Graz", "Graz", "Wien", "Linz"]}, fields=fields)
    assert run.candidates.num_rows
