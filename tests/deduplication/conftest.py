"""What the tests of runs that are killed share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))

from killing import Forge, Work

from bench.notes import SynthSpec, generate, write


@pytest.fixture(scope="session")
def forge(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    found = Forge(tmp_path_factory.mktemp("forge"))
    yield found
    found.close()


@pytest.fixture(scope="session")
def work(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Notes in some 30 partitions."""
    folder = tmp_path_factory.mktemp("work")
    write(SynthSpec(6_000, words=(20, 80)), folder / "notes.jsonl")
    return Work(forge, folder, folder / "notes.jsonl")


@pytest.fixture(scope="session")
def few(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """The same in seven partitions."""
    folder = tmp_path_factory.mktemp("few")
    write(SynthSpec(1_500, words=(20, 80)), folder / "few.jsonl")
    return Work(forge, folder, folder / "few.jsonl")


@pytest.fixture(scope="session")
def several(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Five files, so that the clean corpus is five files too."""
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("several")
    spec = SynthSpec(2_500, words=(20, 80))
    notes = folder / "notes"
    notes.mkdir()
    for number in range(5):
        rows = generate(spec, 500 * number, 500 * (number + 1))
        pq.write_table(rows, notes / f"{number}.parquet", row_group_size=170)
    return Work(forge, folder, notes)
