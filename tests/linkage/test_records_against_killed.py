"""A linkage against an index that is killed anywhere, continued or begun again."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator

import pyarrow.csv as pcsv
import pytest
from killing import Forge
from made_records import NAMES, made_persons

import neardup
from common import tries
from neardup.testing.command_contract import written


@pytest.fixture(scope="module")
def forge(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    found = Forge(tmp_path_factory.mktemp("forge"))
    yield found
    found.close()


@pytest.mark.long
def test_killed_at_any_moment(forge: Forge) -> None:
    """The index has the new records once, and the output is that of a linkage in peace."""
    here = forge.folder
    table, _ = made_persons(500, seed=8)
    pcsv.write_csv(table.slice(0, 400), here / "old.csv")
    pcsv.write_csv(table.slice(400), here / "new.csv")
    neardup.link(here / "old.csv", id="id", fields=NAMES).index(here / "index").close()
    line = "link", "new.csv", "--id", "id", "--against", "index", "-o", "out"

    def afresh() -> None:
        shutil.rmtree(here / "index", ignore_errors=True)
        shutil.copytree(here / "before", here / "index")
        shutil.rmtree(here / "out", ignore_errors=True)

    def ended() -> tuple[object, object]:
        with neardup.RecordIndex.open(here / "index") as index:
            assert len(index) == 500 and index.check() == []
            return index.clusters.to_pylist(), written(here / "out")

    (here / "index").rename(here / "before")
    afresh()
    process = forge.start(*line, trace=True)
    process.wait().check()
    expected, calls = ended(), process.done("call")
    seen = set()
    # The first half reads and computes.
    for crash in (0, *range(len(calls) // 2, len(calls), tries(3, 1))):
        afresh()
        forge.run(*line, crash=crash).check(-signal.SIGKILL)
        with neardup.RecordIndex.open(here / "index", readonly=True) as index:
            state = len(index), (here / "out" / "run.json").exists()
        seen.add(state)
        forge.run(*line, "--resume").check()
        assert ended() == expected, calls[crash]
    assert {(400, False), (500, False)} <= seen
