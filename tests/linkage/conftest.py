"""Linkages that several tests look at."""

from __future__ import annotations

import pyarrow as pa
import pytest
from made_records import NAMES, made_persons

import neardup


@pytest.fixture(scope="session")
def people() -> tuple[pa.Table, pa.Table]:
    return made_persons(1500)


@pytest.fixture(scope="session")
def linked(people: tuple[pa.Table, pa.Table]) -> neardup.LinkRun:
    return neardup.link(people[0], id="id", fields=NAMES)
