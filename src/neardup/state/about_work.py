"""Members of ``run.json`` on the work of any command."""

import datetime
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from neardup import __version__
from neardup.memory_plan import peak_memory
from neardup.recipe import Recipe
from neardup.sketch.bands import candidate_probability
from neardup.threads import available_cores

#: Version of the layout of ``run.json`` and of the tables.
FORMAT = 5


def about_work(seconds: Mapping[str, float], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the members that the record of every command has: versions, date, time, memory.

    Args:
        seconds: Wall seconds by stage.
        sizes: Bytes that a stage read or wrote, where it did.
    """
    import numba

    return {
        "format": FORMAT,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {
            "neardup": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__,
            "pyarrow": pa.__version__,
        },
        "bytes": dict(sizes),
        "peak_memory": peak_memory(),
        "cores": available_cores(),
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
    }


def bands_of(recipe: Recipe, threshold: float) -> dict[str, Any] | None:
    """Return the bands of a recipe, and the recall that they have at a threshold."""
    if not recipe.num_bands:
        return None
    bands: dict[str, Any] = {n: getattr(recipe, n) for n in ("num_bands", "rows", "num_hashes")}
    recall = candidate_probability(threshold, recipe.num_bands, recipe.rows)
    return {**bands, "predicted_recall": recall}
