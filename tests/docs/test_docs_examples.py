"""Every example in README and docs runs."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import duckdb
import pytest
from doc_commands import called
from doc_pages import PAGES, PAPER, ROOT, blocks, name, section
from remote_servers import Store, object_store

from common import core
from neardup.cli.main import cli

#: Tested elsewhere: where there is a session of Spark, Splink, and where a service runs.
ELSEWHERE = ("spark.md", "splink.md", "service.md")
RUNNABLE = [
    page
    for page in PAGES
    if any(b.language != "text" for b in blocks(page)) and page.name not in ELSEWHERE
]
#: Pages whose examples take seconds.
LONG = {"docs/formats.md", "docs/remote.md", "docs/tutorial.md"}
LONG |= {
    f"docs/howto/{stem}.md"
    for stem in (
        *("citations", "committee", "cookbook", "copy-forward", "dataframes", "deploy", "groups"),
        *("old-corpus", "publish", "records", "shingles", "stream", "thresholds"),
    )
}
QUICK = [page for page in RUNNABLE if name(page) not in LONG]
#: What only a shell can do, in one command and in several lines.
SHELL, COMPOUND = re.compile(r"[|<>$;&*`\\]"), re.compile(r"\b(for|while|if)\b.*;|\\$", re.M)


README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def store(page: Path, notes_file: bytes) -> Iterator[Store | None]:
    """The bucket that the page about remote files speaks of."""
    if page.name != "remote.md":
        yield None
        return
    notes = notes_file
    half = notes.index(b"\n", len(notes) // 2) + 1
    with object_store() as found:
        found.put("notes.jsonl", notes)
        found.put("shards/day=1/a.jsonl", notes[:half])
        found.put("shards/day=2/a.jsonl", notes[half:])
        yield found


@pytest.mark.parametrize("page", core(RUNNABLE, *QUICK), ids=name)
def test_blocks_run(
    page: Path, empty_folder: Path, store: Store | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocks of one page run in order when copied to an empty folder; names are shared."""
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        where = f"{name(page)}, line {block.line}"
        if block.language == "python":
            exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        elif block.language == "sh":
            _run(block.code, where)
        elif block.language == "sql":
            assert duckdb.sql(block.code).fetchall(), where
        elif block.language == "console":
            for line in block.code.splitlines():
                if line.startswith("neardup "):
                    _parse(line, where)
    capsys.readouterr()


def _run(code: str, where: str) -> None:
    """Run commands of a shell; plain ones of ours in this process, which is quicker."""
    if COMPOUND.search(code) or any(line.count("'") % 2 for line in code.splitlines()):
        _bash(code, where)
        return
    for command in re.split(r"\n| && ", code.strip()):
        if command.startswith("neardup ") and not SHELL.search(command):
            called(*shlex.split(command, comments=True)[1:])
        elif command:
            _bash(command, where)


def _bash(code: str, where: str) -> None:
    assert not re.search(r"^\s*(make|pip|git)\b", code, re.M), f"{where}: console?"
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{where}: {done.stderr}"


def _parse(line: str, where: str) -> None:
    """Check a command that needs a server or a machine of its own."""
    command, *arguments = shlex.split(line, comments=True)[1:]
    group = click.Context(cli, **cli.context_settings)
    found = cli.get_command(group, command)
    assert found is not None, where
    found.make_context(command, arguments, parent=group)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no R")
def test_blocks_of_r_run(folder: Path) -> None:
    """The blocks of a page are one script."""
    pages = [(page, [b.code for b in blocks(page) if b.language == "r"]) for page in PAGES]
    scripts = {page: "\n".join(codes) for page, codes in pages if codes}
    assert name(next(iter(scripts))) == "docs/howto/r.md"
    for number, (page, code) in enumerate(scripts.items()):
        script = folder / f"{number}.R"
        script.write_text(code, encoding="utf-8")
        _bash(f"Rscript --vanilla {script.name}", name(page))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_say_their_language(page: Path) -> None:
    for block in blocks(page):
        assert block.language in ("python", "sh", "console", "text", "sql", "r", "js"), block.line


def test_pages_that_show_how_have_something_to_run() -> None:
    wanted = {"README.md", "docs/index.md", "docs/formats.md", "docs/method.md", "docs/running.md"}
    wanted |= {"docs/tutorial.md"}
    wanted |= {name(page) for page in PAGES if page.parent.name == "howto"}
    # These run in tests of their own.
    wanted -= {f"docs/howto/{page}.md" for page in ("service", "service-deploy", "splink")}
    assert wanted <= {name(page) for page in RUNNABLE if PAPER not in page.parents}


def test_the_first_steps_in_the_readme_print_what_it_says(folder: Path) -> None:
    """Line by line, but for time and memory, and for the width that these give to a column."""
    shown = next(b.code for b in blocks(ROOT / "README.md") if b.code.startswith("documents"))
    _, printed = called("dedup", "notes.jsonl", "-o", "out", "--id", "id")
    kept = [line for line in printed.splitlines() if "compil" not in line]
    kept = kept[next(i for i, line in enumerate(kept) if line.startswith("documents")) :]

    def masked(lines: list[str]) -> list[str]:
        return [" ".join(re.sub(r"^(took).*", r"\1", line).split()) for line in lines]

    assert masked(kept) == masked(shown.splitlines())
    (why,) = re.findall(r"^neardup (explain .*?) +# why was this one removed", README, re.M)
    assert " at 0." in called(*why.split())[0]  # removed, and not as a copy


def test_near_duplicates_then_passages_in_two_lines(folder: Path) -> None:
    """The two lines as the page prints them, and the figures of both steps in each report."""
    said = section("howto/passages.md", "## Near-duplicates, then passages")
    (lines,) = re.findall(r"^```sh\n(.*?)^```$", said, re.M | re.S)
    dedup, passages = lines.splitlines()
    called(*shlex.split(dedup)[1:])
    _, printed = called(*shlex.split(passages)[1:])
    run, found = (json.loads(Path(name, "run.json").read_text()) for name in ("deduped", "novel"))
    counts = run["counts"]
    assert counts["documents"] == 300 > counts["kept"] == found["counts"]["documents"]
    assert found["counts"]["cut_words"] == found["counts"]["copied_words"] > 0
    assert found["step_before"] == {
        "folder": str(Path("deduped").absolute()),
        "command": "dedup",
        "date": run["date"],
        **{name: counts[name] for name in ("documents", "removed", "kept")},
    }
    folder = Path("deduped").absolute()
    removed = f"{counts['removed']} of them removed as near-duplicates"
    assert f" 300  of {folder}; {removed}\n" in printed
    called("report", "novel", "-o", "both.html")
    page = Path("both.html").read_text(encoding="utf-8")
    assert f"of neardup dedup in {folder}" in page
    shown = re.sub(r"<[^>]+>|\s+", " ", page)
    words = f"{found['counts']['copied_words']:,}"
    for wanted in (
        "Texts before +300",
        f"Removed before +{counts['removed']}",
        f"Copied words +{words}",
    ):
        assert re.search(wanted, shown), wanted
    # A part of the clean corpus, and one that another command wrote, are no second step.
    some = sorted(Path("deduped/clean").iterdir())[0]
    Path("part").mkdir()
    Path("part/clean").mkdir()
    Path("part/run.json").write_text(Path("deduped/run.json").read_text())
    Path("part/clean/some.jsonl").write_text(some.read_text().splitlines()[0] + "\n")
    for corpus in ("part/clean", "notes.jsonl", "novel/clean"):
        called("passages", corpus, "-o", "other", "--id", "id", "--overwrite")
        assert json.loads(Path("other/run.json").read_text())["step_before"] is None, corpus


def test_the_cookbook_has_twenty_examples() -> None:
    page = next(page for page in PAGES if page.name == "cookbook.md")
    numbers = re.findall(r"^\*\*(\d+)\. ", page.read_text(encoding="utf-8"), re.M)
    assert [int(number) for number in numbers] == list(range(1, 21))
    assert len(blocks(page)) == 1 + 20  # the notes come first
