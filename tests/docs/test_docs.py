"""Every example in README and docs runs, every link leads somewhere, and pages match the code."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import duckdb
import pytest

from neardup.cli import main
from neardup.cli.main import cli

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "bench" / "README.md",
]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")


class Block(NamedTuple):
    language: str
    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def called(*arguments: str) -> str:
    """What ``neardup`` with these arguments prints; it must succeed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            main(list(arguments))
        except SystemExit as stop:
            assert not stop.code, arguments
    return out.getvalue()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("corpus") / "notes.jsonl"
    called("synth", "-n", "300", "-o", str(path), "--quiet")
    return path.read_bytes()


@pytest.fixture
def folder(
    corpus: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: None
) -> Iterator[Path]:
    (tmp_path / "notes.jsonl").write_bytes(corpus)
    monkeypatch.chdir(tmp_path)
    yield tmp_path


#: Of `console` blocks, only what is typed can be checked: they need a server, or a checkout.
RUNNABLE = [page for page in PAGES if any(b.language != "text" for b in blocks(page))]


@pytest.mark.parametrize("page", RUNNABLE, ids=name)
def test_blocks_run(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Blocks of one page run in order, in one folder; Python blocks share their names."""
    names: dict[str, object] = {"__name__": "page"}
    here = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": here + os.pathsep + os.environ["PATH"]}
    for block in blocks(page):
        where = f"{name(page)}, line {block.line}"
        if block.language == "python":
            exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        elif block.language == "sh":
            assert not re.search(r"^\s*(make|pip|git)\b", block.code, re.M), f"{where}: console?"
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block.code],
                env=environment,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{where}: {done.stderr}"
        elif block.language == "sql":
            assert duckdb.sql(block.code).fetchall(), where
        elif block.language == "console":
            for line in block.code.splitlines():
                if line.startswith("neardup "):
                    command, *arguments = shlex.split(line, comments=True)[1:]
                    group = click.Context(cli, **cli.context_settings)
                    found = cli.get_command(group, command)
                    assert found is not None, where
                    found.make_context(command, arguments, parent=group)
    capsys.readouterr()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_say_their_language(page: Path) -> None:
    for block in blocks(page):
        assert block.language in ("python", "sh", "console", "text", "sql"), block.line


def test_most_pages_have_something_to_run() -> None:
    wanted = {"README.md", "docs/formats.md", "docs/method.md", "docs/running.md"}
    wanted |= {"docs/tutorial.md", "docs/howto/cassandra.md"}
    wanted |= {name(page) for page in PAGES if page.parent.name == "howto"}
    assert wanted <= {name(page) for page in PAGES if blocks(page)}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_figure_was_left_to_be_filled_in(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    assert not re.search(r"\| *[A-Z]+_[A-Z0-9]+ *\||TODO|TBD", text)


def anchors(page: Path) -> set[str]:
    """The names that headings get on the usual code hosts."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_resolve(page: Path) -> None:
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
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
        for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                open_.append(target)
    assert set(PAGES) <= reached


@pytest.mark.parametrize(
    "command",
    [[], *([name] for name in cli.list_commands(click.Context(cli)))],
    ids=str,
)
def test_cli_page_says_what_help_says(command: list[str]) -> None:
    """Words are compared: the page is wider than a terminal, which cuts the list of commands."""

    def words(text: str) -> list[str]:
        return text.partition("\nCommands:")[0].split()

    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = page.partition(f"## {' '.join(['neardup', *command])}\n")[2]
    found = FENCE.search(section)
    assert found is not None
    assert words(found[2]) == words(called(*command, "--help")), "run `make docs`"


def test_layers_of_the_architecture_page_are_those_that_are_checked() -> None:
    page = ROOT / "docs" / "architecture.md"
    section = page.read_text(encoding="utf-8").partition("## The rooms\n")[2]
    found = FENCE.search(section)
    assert found is not None
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers"
    )
    checked = [layer.replace("neardup.", "") for layer in contract["layers"]]
    assert found[2].splitlines() == checked


def test_every_room_is_a_layer_and_every_module_is_on_the_architecture_page() -> None:
    package = ROOT / "src" / "neardup"
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    modules = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if path.name != "__init__.py" or path.read_text(encoding="utf-8").count("def ")
    }
    told = set(re.findall(r"^\* \*\*`([\w/]+\.py)`\*\*", page, re.M))
    assert modules <= told, modules - told
    assert all((package / path).exists() for path in told), told


def test_readme_has_a_place_for_figures() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("<!-- figures -->") == text.count("<!-- /figures -->") == 1


def test_run_record_fields_are_on_the_formats_page(folder: Path) -> None:
    """Each count of a real run has its row."""
    import neardup

    summary = neardup.dedup("notes.jsonl").summary
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    parts = ("counts", "quality", "versions", "bands")
    for field in (*summary, *(name for part in parts for name in summary[part])):
        assert f"`{field}`" in page, field
    for stage in (*summary["seconds"], *summary["spec"], *summary["spec"]["shingle"]):
        assert f"`{stage}`" in page, stage


def test_audit_fields_are_on_the_formats_page(folder: Path) -> None:
    called("dedup", "notes.jsonl", "-o", "audited", "--quiet")
    called("audit", "audited", "--sample", "20")
    held = json.loads((folder / "audited" / "audit.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    section = page.partition("### audit.json\n")[2].partition("\n## ")[0]
    for field in (*held, *held["curve"][0], *held["removed"], *held["clusters"]):
        assert f"`{field}`" in section, field


def fields(value: object) -> Iterator[str]:
    """All names in plain values."""
    if isinstance(value, dict):
        for name, held in value.items():
            yield name
            yield from fields(held)
    elif isinstance(value, list):
        for held in value:
            yield from fields(held)


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "notes.jsonl"),
        ("tune", "--at", "0.9:0.99", "--num-hashes", "64"),
        ("tune", "--at", "0.9:0.9999", "--at", "0.8:0.001", "--num-hashes", "16"),
        ("explain", "run", "{removed}"),
        ("explain", "run", "{kept}"),
        ("compare", "a.txt", "b.txt"),
    ],
    ids=" ".join,
)
def test_json_of_commands_is_on_the_formats_page(folder: Path, command: tuple[str, ...]) -> None:
    if "run" in command:
        import pyarrow.parquet as pq

        called("dedup", "notes.jsonl", "-o", "run", "--quiet")
        rows = pq.read_table("run/clusters.parquet").to_pylist()
        removed = next(row for row in rows if not row["kept"])
        asked = {"removed": str(removed["doc_id"]), "kept": str(removed["kept_by"])}
        command = tuple(argument.format(**asked) for argument in command)
    for name, text in (("a.txt", "one two three four five six"), ("b.txt", "one two three four")):
        Path(name).write_text(text, encoding="utf-8")
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    # What a run foresees, and what two texts share, is told in one place only.
    also = {"plan": "run.json", "explain": "JSON of compare"}.get(command[0], "")
    told = "".join(
        page.partition(f"### {title}\n")[2].partition("\n#")[0]
        for title in (f"JSON of {command[0]}", also)
        if title
    )
    for field in fields(json.loads(called(*command, "--json"))):
        assert re.fullmatch(r"[\d.]+", field) or f"`{field}`" in told, field


def test_manifest_and_run_folder_are_on_the_formats_page(folder: Path) -> None:
    """Each field, stage and file of the run folder of a real run has its place."""
    called(
        *("dedup", "notes.jsonl", "-o", "kept", "--quiet"),
        *("--keep-run", "--store", "sqlite", "--part-size", "64kB"),
    )
    run = folder / "kept" / ".run"
    held = json.loads((run / "manifest.json").read_bytes().partition(b"\n")[2])
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    section = page.partition("## The run folder\n")[2].partition("\n## ")[0]
    for field in (*held["manifest"], *held["steps"], *held["manifest"]["output"]):
        assert f"`{field}`" in section, field
    for path in run.iterdir():
        assert f"`{path.name}" in section, path


def test_settings_of_the_environment_are_on_the_formats_page() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    said = set(re.findall(r"NEARDUP_CASSANDRA_\w+", page))
    asked = set()
    for module in (ROOT / "src" / "neardup" / "stores").glob("cassandra*.py"):
        text = module.read_text(encoding="utf-8")
        asked |= set(re.findall(r"\bsetting\(\"(\w+)\"\)", text.replace("_setting(", "setting(")))
    assert len(asked) > 5
    assert {f"NEARDUP_CASSANDRA_{name}" for name in asked} == said


def test_tables_of_stores_are_on_the_formats_page() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    section = page.partition("## The store\n")[2].partition("\n## ")[0]
    sqlite = (ROOT / "src" / "neardup" / "stores" / "sqlite.py").read_text(encoding="utf-8")
    tables = re.findall(r"CREATE TABLE (\w+)", sqlite)
    assert len(tables) == 6
    for table in tables:
        assert f"| `{table}`" in section, table
