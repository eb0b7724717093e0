"""What the tests of runs that are killed share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from killing import Forge, Work

from neardup.synth import SynthSpec, write


@pytest.fixture(scope="session")
def forge(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    found = Forge(tmp_path_factory.mktemp("forge"))
    yield found
    found.close()


@pytest.fixture(scope="session")
def work(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Work:
    folder = tmp_path_factory.mktemp("work")
    write(SynthSpec(documents=12_000, words=(20, 120)), folder / "notes.jsonl")
    return Work(forge, folder, folder / "notes.jsonl", {})


@pytest.fixture(scope="session")
def few(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """The same with a corpus of seven parts."""
    folder = tmp_path_factory.mktemp("few")
    write(SynthSpec(documents=3_000, words=(20, 120)), folder / "few.jsonl")
    return Work(forge, folder, folder / "few.jsonl", {})
