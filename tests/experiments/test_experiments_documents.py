"""Who wrote the documents that are repeated: in one module, from which all pages take it."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import documents
from experiments.documents import BLOG, NOTEBOOK, PAPER, SLIDES, TUTORIAL

ROOT = Path(__file__).parents[2]
PAGES = {"index.md": (PAPER,), "sources.md": (SLIDES, NOTEBOOK, BLOG), "records.md": (TUTORIAL,)}


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_their_documents(page: str) -> None:
    text = " ".join((ROOT / "docs/paper" / page).read_text(encoding="utf-8").split())
    for document in PAGES[page]:
        assert document.cited in text
        assert all(document)


def test_authors_are_named_in_one_module_alone() -> None:
    names = {
        name.split()[-1]
        for d in (BLOG, NOTEBOOK, PAPER, SLIDES, TUTORIAL)
        for name in d.authors.split(", ")
    }
    assert {"Shenoy", "Castillo", "Lyra", "Ross", "Kaplan", "Steorts"} <= names
    for path in sorted((ROOT / "experiments").glob("*.py")):
        if path != Path(documents.__file__):
            words = set(path.read_text(encoding="utf-8").replace(",", " ").split())
            assert not words & names, path
