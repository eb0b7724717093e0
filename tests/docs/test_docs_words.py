"""Pages, messages, docstrings and names use the words of the field, and no private ones."""

from __future__ import annotations

import ast
import re
import tokenize
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
#: The same, which decisions of the past still have.
LATER_FORBIDDEN = {
    r"places?": "row, offset, path, slot, position",
    r"held|holds?": "cached, in memory, contains",
    r"whole": "complete, all; integer",
    r"rooms?": "capacity, space",
    r"alone": "only; singleton, differing",
    r"st(and|ands|anding|ood) for": "represents, means",
    r"nobody": "no process, no user",
    r"anew": "again",
    r"(tak(e|es|ing)|in|their|its) turns?": "alternately",
    r"com(e|es|ing) upon|came upon": "find",
    r"one behind the other": "concatenated",
    r"astride": "around the threshold",
    r"so that": "two sentences",
    # But for questions.
    r"\AWhat\b(?![^.|]*\?)": "a noun",
    r"what (is|are|was|were|it|they|has|had|the|an?|one|another)(?![^.|]*\?)": "a noun",
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
    (" in place", ""),  # of an array that is changed
    ("--whole", "cli/"),  # an option, and its parameter
    ("whole:", "api/copying.py"),
    ("whole:", "copied_passages/passage_spec.py"),
)
#: What other names say, and what they say instead.
NAMES = {
    "own": "of what: `size`, `lowest`",
    "held|holds?": "`cached`, `in_memory`",
    "whole": "`complete`, `total`",
    "places?": "`row`, `offset`, `path`, `slot`, `position`",
    "rooms?": "`capacity`",
    "some": "`batch`, `rows`",
    "alone": "`singleton`",
    "wanted": "`needed`, `extra`, `selected`",
    "crowded|unclear|searched|inside|anew|nobody": "the condition, as `in_range`",
}
#: Public names, and the packages that have them.
ALLOWED_NAMES = {
    "memory_wanted": ("",),
    "whole": ("api/copying.py", "copied_passages/", "result_record/"),
}
PATTERN = re.compile("|".join(rf"\b(?:{word})\b" for word in FORBIDDEN), re.I)
LATER = re.compile("|".join(rf"\b(?:{word})\b" for word in LATER_FORBIDDEN), re.I)
OF_NAMES = re.compile("|".join(rf"(?:{word})" for word in NAMES))


def wrong(text: str, where: str, pattern: re.Pattern[str] = PATTERN) -> Iterator[str]:
    """Yield what is in a text that should not be."""
    for phrase, page in ALLOWED:
        if page in where:
            text = text.replace(phrase, "")
    for found in pattern.finditer(text):
        about = text[max(0, found.start() - 40) : found.end() + 30].replace("\n", " ")
        yield f"{where}: {found[0]!r} in ...{about}..."


@pytest.mark.parametrize("page", [p for p in PAGES if PAPER not in p.parents], ids=name)
def test_pages(page: Path) -> None:
    # Of options, columns and code nothing is said here.
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    found = list(wrong(text, name(page)))
    if "decisions/" not in name(page):
        found += wrong(re.sub(r"^#.*$", "", text, flags=re.M), name(page), LATER)
    assert not found, "\n".join(found)


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield docstrings and other texts of several words in a module, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments of a module, with their lines; successive ones together."""
    with path.open("rb") as file:
        found = [t for t in tokenize.tokenize(file.readline) if t.type == tokenize.COMMENT]
    line, text = 0, ""
    for token in found:
        if token.start[0] != line + 1 and text:
            yield line, text
            text = ""
        line = token.start[0]
        text += token.string.lstrip("#:") + "\n"
    yield line, text


MODULES = sorted((ROOT / "src").rglob("*.py"))


def where_of(path: Path) -> str:
    """Return the path of a module from the package on."""
    return path.relative_to(ROOT / "src" / "neardup").as_posix()


def test_messages_and_docstrings() -> None:
    found = []
    for path in MODULES:
        where = where_of(path)
        for line, text in strings(path):
            # Code in docstrings has the names that it has.
            text = re.sub(r"`+[^`\n]*`+", "", text)
            found += wrong(text, f"{where}:{line}")
            found += wrong(text, f"{where}:{line}", LATER)
    assert not found, "\n".join(found)


def test_comments() -> None:
    found = []
    for path in MODULES:
        for line, text in comments(path):
            found += wrong(re.sub(r"`+[^`\n]*`+", "", text), f"{where_of(path)}:{line}", LATER)
    assert not found, "\n".join(found)


def names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the names that a module gives to functions, classes, arguments and variables."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr


def test_names() -> None:
    found = []
    for path in MODULES:
        where = where_of(path)
        words = path.stem.split("_")
        found += [where for word in words if OF_NAMES.fullmatch(word)]
        for line, given in names(path):
            if where.startswith(ALLOWED_NAMES.get(given, ())):
                continue
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", given).lower().split("_")
            if any(OF_NAMES.fullmatch(word) for word in words):
                found.append(f"{where}:{line}: {given}")
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
