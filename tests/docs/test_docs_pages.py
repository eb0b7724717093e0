"""Links lead somewhere, and pages have every field, table, module and option that the code has."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from doc_commands import called
from doc_pages import DOCS, LINK, PAGES, ROOT, name, prose, section

import neardup
from neardup.options.option_groups import GROUPS, described


def anchors(page: Path) -> set[str]:
    """The names that headings get on the usual code hosts."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_resolve(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, open_ = set(), [ROOT / "README.md"]
    while open_:
        page = open_.pop()
        reached.add(page)
        for link in LINK.findall(prose(page)):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                open_.append(target)
    assert set(PAGES) <= reached


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nothing_was_left_to_be_filled_in(page: Path) -> None:
    found = re.search(
        r"\b[A-Z]+_[A-Z0-9_]+\b(?<!NEARDUP_)|TODO|TBD", re.sub("`.*?`", "", prose(page))
    )
    assert not found, found


def test_measured_numbers_have_their_places() -> None:
    """A comment names each table that is measured, above the table."""
    places = {
        "README.md": ["peers"],
        "docs/performance.md": ["profile", "kept", "nothing", "growth"],
        "docs/scaling.md": ["ten million"],
    }
    for page in PAGES:
        found = re.findall(r"^<!-- numbers: (.+) -->$", page.read_text(encoding="utf-8"), re.M)
        assert found == places.get(name(page), []), name(page)


def test_the_citation_names_the_version() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall("^version: (.+)$", cited, re.M) == [neardup.__version__]


@pytest.mark.parametrize("title", ["What it promises", "Which tool for what"])
def test_the_home_has_the_tables_of_the_readme(title: str) -> None:
    one, other = (section(page, f"## {title}") for page in ("index.md", "../README.md"))
    rows = [line for line in one.splitlines() if line.startswith("|")]
    assert len(rows) > 6
    assert rows == [line for line in other.splitlines() if line.startswith("|")]


def test_generated_pages_are_up_to_date() -> None:
    """Options, layers, modules; signatures, which the packages of the documentation read."""
    tools = ["make_cli_docs.py", "make_matrix.py"]
    tools += ["make_reference.py"] if importlib.util.find_spec("griffe") else []
    for tool in tools:
        done = subprocess.run(
            [sys.executable, str(ROOT / "tools" / tool), "--check"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("group", GROUPS.values(), ids=lambda group: group.__name__)
def test_each_option_is_described_on_the_page_of_options(group: type) -> None:
    pages = (DOCS / "reference" / page for page in ("options.md", "passages.md"))
    options, call = (page.read_text(encoding="utf-8") for page in pages)
    for option, said in described(group).items():
        row = f"* `{option}`: {said.replace('``', '`')}\n"
        assert row in options and row not in call, row


def test_modules_have_names_of_their_own() -> None:
    modules = [p.name for p in (ROOT / "src").rglob("*.py") if p.name != "__init__.py"]
    twice = sorted({module for module in modules if modules.count(module) > 1})
    assert not twice, twice


def test_classes_have_names_of_their_own() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    classes = [name for source in sources for name in re.findall(r"^class (\w+)", source, re.M)]
    twice = sorted({found for found in classes if classes.count(found) > 1})
    assert not twice, twice


def test_folders_have_a_dozen_modules() -> None:
    folders = Counter(p.parent for p in (ROOT / "src").rglob("*.py") if p.name != "__init__.py")
    large = {str(folder): count for folder, count in folders.items() if count > 12}
    assert not large


def test_superseded_decisions_say_so() -> None:
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    pages = sorted((DOCS / "decisions").glob("0*.md"))
    rows = re.findall(r"^\| (\d+) \| \[(.+?)\]\((.+?)\) \| (.*?) \|$", index, re.M)
    assert [row[2] for row in rows] == [page.name for page in pages]
    for page, (number, title, _, status) in zip(pages, rows, strict=True):
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {number}. {title}\n"), page.name
        head = text.partition("## Context")[0]
        assert ("superseded" in status) == ("uperseded by" in head), page.name
        for part in ("Context", "Options", "Choice", "What would show that it was wrong"):
            assert f"## {part}" in text or number == "27", (page.name, part)


# The formats page.


def fields(value: object) -> Iterator[str]:
    """All names in plain values."""
    if isinstance(value, dict):
        for key, held in value.items():
            yield key
            yield from () if key == "files" else fields(held)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from fields(held)


def require(found: Iterator[str], text: str) -> None:
    missing = {f for f in found if not re.fullmatch(r"[\d.]+(-\d+)?", f) and f"`{f}`" not in text}
    assert not missing, sorted(missing)


#: Of Spark, of groups, of pairs that are counted, and of disjoint sets.
OF_OTHER_RUNS = (
    *("engine", "without_group", "pairs_in_clusters"),
    *("candidate_pairs", "set_pairs_compared", "set_pairs_saved"),
)


def forbid(found: Iterator[str], text: str, also: tuple[str, ...] = ()) -> None:
    """Refuse fields on a page that are not there: first columns of tables, names with `_`."""
    firsts = " ".join(re.findall(r"^\| (.*?) \|", text, re.M))
    said = set(re.findall(r"`([a-z_]+)`", firsts)) | set(re.findall(r"`([a-z]+_[a-z_]+)`", text))
    left = said - {*found, *also}
    assert not left, sorted(left)


@pytest.fixture(scope="module")
def runs(notes_file: bytes, tmp_path_factory: pytest.TempPathFactory, kernels: None) -> Path:
    """A folder with two runs: one as it is by default, one with pairs, its run folder and stems."""
    folder = tmp_path_factory.mktemp("runs")
    notes = folder / "notes.jsonl"
    notes.write_bytes(notes_file)
    called("dedup", str(notes), "-o", str(folder / "plain"), "--id", "id", "--quiet")
    called(
        *("dedup", str(notes), "-o", str(folder / "pairs"), "--quiet", "--keep-run"),
        *("--preset", "clinical", "--order-by", "id", "--threshold", "0.6"),
    )
    called("audit", str(folder / "plain"), "--sample", "50")
    return folder


@pytest.mark.parametrize("run", ["plain", "pairs"])
def test_run_record_is_on_the_formats_page(runs: Path, run: str) -> None:
    record = json.loads((runs / run / "run.json").read_text(encoding="utf-8"))
    require(fields(record), section("formats.md", "### run.json"))


def test_recluster_record_is_on_the_formats_page(runs: Path) -> None:
    called("recluster", str(runs / "plain"), "-o", str(runs / "again"), "--threshold", "0.9")
    names = ("again", "plain", "pairs")
    records = [json.loads((runs / n / "run.json").read_text(encoding="utf-8")) for n in names]
    said = section("formats.md", "### run.json")
    require(fields(records[0]), said)
    forbid(fields(records), said, OF_OTHER_RUNS)


def test_tables_are_on_the_formats_page(runs: Path) -> None:
    for table in ("clusters", "edges", "order"):
        text = section("formats.md", f"### {table}.parquet")
        schema = pq.read_schema(runs / "pairs" / f"{table}.parquet")
        require(iter(schema.names), text)
        said = {
            n for row in re.findall(r"^\| (.*?) \|", text, re.M) for n in re.findall("`(.*?)`", row)
        }
        assert said == set(schema.names)


def test_outputs_are_on_the_formats_page(runs: Path) -> None:
    text = section("formats.md", "## Outputs")
    for path in [*(runs / "plain").iterdir(), *(runs / "pairs").iterdir()]:
        if path.name != ".run":
            assert f"`{path.name}{'/' * path.is_dir()}`" in text, path.name


def test_audit_is_on_the_formats_page(runs: Path) -> None:
    held = json.loads((runs / "plain" / "audit.json").read_text(encoding="utf-8"))
    for pair in ("missed", "kept_pairs", "wrong"):
        held[pair] = held[pair][:1]
    said = section("formats.md", "### audit.json")
    # A good run has no pair and no document that these would be fields of.
    unseen = ("doc_a", "doc_b", "doc_id_a", "doc_id_b", "doc_id", "duplicate_of")
    forbid(fields(held), said, unseen)
    del held["seconds"]
    require(fields(held), said + "`num_bands` `rows`")


#: Calls of a command that have all of its fields together.
CALLS = {
    "plan": ["notes.jsonl"],
    "tune": ["--at 0.9:0.99 --num-hashes 64", "--at 0.9:0.9999 --at 0.8:0.001 --num-hashes 16"],
    "explain": ["pairs {removed}", "plain {kept}"],
    "compare": ["a.txt b.txt"],
    "evaluate": ["plain --truth truth.csv", "pairs --truth judged.csv"],
}


@pytest.mark.parametrize("command", CALLS)
def test_json_of_commands_is_on_the_formats_page(
    runs: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    asked = {}
    for run in ("plain", "pairs"):
        rows = pq.read_table(f"{run}/clusters.parquet").to_pylist()
        removed = next(row for row in rows if not row["kept"])
        asked[run] = {"removed": str(removed["doc_id"]), "kept": str(removed["duplicate_of"])}
    Path("a.txt").write_text("one two three four five six", encoding="utf-8")
    Path("b.txt").write_text("one two three four", encoding="utf-8")
    plain, pairs = asked["plain"], asked["pairs"]
    truth = f"id_a,id_b\n{plain['removed']},{plain['kept']}\n"
    Path("truth.csv").write_text(truth, encoding="utf-8")
    judged = f"id_a,id_b,duplicate\n{pairs['removed']},{pairs['kept']},true\n"
    Path("judged.csv").write_text(judged, encoding="utf-8")
    found = []
    for call in CALLS[command]:
        run, *options = call.split()
        options = [option.format(**asked.get(run, {})) for option in options]
        found.append(json.loads(called(command, run, *options, "--json")[0]))
    said = section("formats.md", f"### JSON of {command}")
    forbid(fields(found), said, ("other_groups",))  # of a run within groups
    if command == "explain":
        said += section("formats.md", "### JSON of compare")
    require(fields(found), said)


def test_run_folder_and_manifest_are_on_the_formats_page(runs: Path) -> None:
    import sqlite3

    run = runs / "pairs" / ".run"
    said = section("formats.md", "## The run folder")
    with sqlite3.connect(f"file:{run / 'run.sqlite'}?mode=ro", uri=True) as connection:
        (data,) = connection.execute("SELECT about FROM steps WHERE space = ''").fetchone()
        stages = {row[0] for row in connection.execute("SELECT space FROM steps")} - {""}
    manifest = json.loads(data)
    require(iter(manifest), said)
    require(iter(stages), said)
    for path in run.iterdir():
        assert f"`{path.name}{'/' * path.is_dir()}`" in said, path.name


def test_settings_of_the_environment_are_on_the_formats_page() -> None:
    page = (DOCS / "formats.md").read_text(encoding="utf-8")
    said = set(re.findall(r"NEARDUP_CASSANDRA_\w+", page))
    asked: set[str] = set()
    for module in (ROOT / "src" / "neardup" / "state" / "cassandra").glob("*.py"):
        asked |= set(re.findall(r"\bsetting\(\"(\w+)\"\)", module.read_text(encoding="utf-8")))
    assert len(asked) > 5
    assert {f"NEARDUP_CASSANDRA_{setting}" for setting in asked} == said


def test_tables_of_stores_are_on_the_formats_page() -> None:
    from neardup.state.cassandra.cql import NAMES

    said = section("formats.md", "## Stores of band keys")
    for table in ("bands", "bands_data", *NAMES):
        assert f"| `{table}`" in said, table


def test_columns_of_synthetic_notes_are_on_the_formats_page() -> None:
    from neardup.synth.demo_notes import NOTES, TRUTH

    require(iter([*NOTES.names, *TRUTH.names]), section("formats.md", "## The files of synth"))


def test_every_field_of_a_spec_has_an_option_or_is_said_to_have_none() -> None:
    import neardup

    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    renamed = {"num_bands": "bands", "shingle": "shingle"}
    for field in dataclasses.fields(neardup.Spec):
        option = renamed.get(field.name, field.name).replace("_", "-")
        assert f"--{option} " in page, field.name


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "CHANGELOG.md"], ids=name)
def test_files_that_pages_name_are_there(page: Path) -> None:
    package = ROOT / "src" / "neardup"
    for path in re.findall(r"`([\w./]+/[\w.]+\.(?:py|npz))`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists() or (package / path).exists(), path


_PACKAGE = ROOT / "src" / "neardup"
_PACKAGES = "|".join(path.parent.name for path in _PACKAGE.glob("*/__init__.py"))
#: Decisions before these have the names of their time.
_TODAY = [DOCS / "architecture.md", *sorted((DOCS / "decisions").glob("00[4-9]*.md"))]


@pytest.mark.parametrize("page", _TODAY, ids=name)
def test_packages_and_modules_that_pages_name_are_there(page: Path) -> None:
    """Paths such as `frame/run.py` and `linkage/blocks`, and names such as `frame.run`."""
    text = page.read_text(encoding="utf-8")
    for path in re.findall(rf"(?<![\w./-])(?:{_PACKAGES})/[\w/]*\w(?:\.py\b)?", text):
        assert (_PACKAGE / path).exists(), path
    for package, module in re.findall(rf"`({_PACKAGES})\.([a-z_]+)`", text):
        found = _PACKAGE / package / module
        assert found.exists() or found.with_suffix(".py").exists(), f"{package}.{module}"
