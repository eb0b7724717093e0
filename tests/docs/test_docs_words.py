"""Pages, messages and docstrings use the words of the field, and no private ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_pages import PAGES, PAPER, ROOT, name, prose

#: What is not written, and what is written instead.
FORBIDDEN = {
    r"fore(see|saw|seen|sight)\w*": "predict, estimate, forecast",
    r"(go|goes|going|gone|went) on with": "resume, continue",
    r"lies|lay(?! out)": "is stored, is located",
    r"told|tells?": "report, identify, return",
    r"met|meets?|meeting": "collide, share a bucket",
    r"partners?": "true match, near-duplicate neighbour",
    r"made again|makes? again": "recomputed, read again",
    r"facts?": "metadata, numbers",
    r"chunks?|pieces?": "partition, batch",
    r"kept[ _]by": "duplicate_of, representative",
    r"twins?": "reference implementation",
    r"beside": "next to",
    r"blanks?": "spaces, missing values",
    r"giant": "oversized",
    r"made notes": "synthetic notes",
    r"anonymous memory": "private memory",
    r"designs? [12]": "a row for each key, a blob for each partition",
    r"edge[ _]thresholds?": "threshold",
    r"collapsed pairs|pairs collapsed": "pairs kept",
    r"signed (run|corpus|documents?|partitions?)": "sketched",
    r"by hand": "explicitly",
    r"the least|(?<!at )\bleast of": "minimum",
    r"says? what repeats what": "find near-duplicates",
    r"unsure": "not compared",
}
#: Where one of these is the right word: a part of the sentence, and where it is.
ALLOWED = (
    ("blank lines", ""),  # of a file
    ("Blank lines", ""),
    ("A blank line is no record", "kernels/scanning.py"),
    ("blank ones are skipped", "kernels/scanning.py"),
    ("met or not met", "bench/README.md"),  # targets
    # What the first edition called them, where it is said what they are called now.
    ("`kept_by`", "CHANGELOG.md"),
    ("collapsed pairs, the global budget", "0017"),
    ("written by hand", "0027"),
)
PATTERN = re.compile("|".join(rf"\b(?:{word})\b" for word in FORBIDDEN), re.I)


def wrong(text: str, where: str) -> Iterator[str]:
    """Yield what is in a text that should not be."""
    for phrase, place in ALLOWED:
        if place in where:
            text = text.replace(phrase, "")
    for found in PATTERN.finditer(text):
        about = text[max(0, found.start() - 40) : found.end() + 30].replace("\n", " ")
        yield f"{where}: {found[0]!r} in ...{about}..."


@pytest.mark.parametrize("page", [p for p in PAGES if PAPER not in p.parents], ids=name)
def test_pages(page: Path) -> None:
    # Of options, columns and code nothing is said here.
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    found = list(wrong(text, name(page)))
    assert not found, "\n".join(found)


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield docstrings and other texts of several words in a module, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


MODULES = sorted((ROOT / "src").rglob("*.py"))


def test_messages_and_docstrings() -> None:
    found = []
    for path in MODULES:
        for line, text in strings(path):
            where = f"{path.relative_to(ROOT).as_posix()}:{line}"
            # Code in docstrings has the names that it has.
            found += wrong(re.sub(r"`+[^`\n]*`+", "", text), where)
    assert not found, "\n".join(found)


def test_templates_of_the_report() -> None:
    found = []
    for path in sorted((ROOT / "src").rglob("*.jinja")):
        text = re.sub(r"\{[{%].*?[%}]\}|<[^>]*>", " ", path.read_text(encoding="utf-8"), flags=re.S)
        found += wrong(text, path.relative_to(ROOT).as_posix())
    assert not found, "\n".join(found)


def test_no_page_names_a_folder_of_its_author() -> None:
    pattern = re.compile(r"(?<![\w.~-])/(home|Users|root|mnt)/\w")
    for page in PAGES:
        found = pattern.search(page.read_text(encoding="utf-8"))
        assert not found, (name(page), found)
