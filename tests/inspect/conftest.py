"""What the tests of finished runs share."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from common import write_lines


def made_texts() -> list[str]:
    """Copies with more and more changes, templates, equal texts, reordered ones, empty ones."""
    rng = random.Random(3)
    words = [f"w{i}" for i in range(3000)]
    made = []
    for _ in range(60):
        base = rng.choices(words, k=rng.randrange(20, 60))
        made.append(base)
        for _ in range(rng.randrange(4)):
            made.append([w if rng.random() < 0.985 else rng.choice(words) for w in base])
    template = rng.choices(words, k=40)
    made += [[*template, *rng.choices(words, k=4)] for _ in range(40)]
    made += [rng.choices(words[:3], k=30) for _ in range(12)]
    made += [list(rng.choice(made)) for _ in range(25)]
    made += [[], [" "], []]
    rng.shuffle(made)
    return [" ".join(some) for some in made]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return made_texts()


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, kernels: None, texts: list[str]) -> Path:
    rows = [{"id": f"n{i}", "text": text} for i, text in enumerate(texts)]
    return write_lines(tmp_path_factory.mktemp("inspected") / "texts.jsonl", rows)
