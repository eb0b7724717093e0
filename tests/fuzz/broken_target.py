"""A target of a search whose cases break in every way."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np


def make(rng: np.random.Generator) -> tuple[str, bytes]:
    return "case", rng.bytes(4)


def check(ending: str, data: bytes, folder: Path) -> None:
    numbers = {make(np.random.default_rng([1, number]))[1]: number for number in range(8)}
    number = numbers[data]
    if number == 2:
        os._exit(9)
    if number == 3:
        raise AssertionError("wrong")
    if number == 5:
        time.sleep(30)
