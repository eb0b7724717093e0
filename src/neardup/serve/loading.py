"""Kernels of a process of the service, before the first call."""

from __future__ import annotations

import gc
import logging

from neardup.announcing import announced_to
from neardup.api.indexes.index_warming import warm
from neardup.recipe import Recipe
from neardup.spec import Spec

LOG = logging.getLogger("neardup.serve")


def load_kernels(spec: Spec, recipe: Recipe) -> None:
    """Load the kernels that calls need, or compile them, which the log says.

    Objects of the libraries, which are all loaded then, are left out of garbage collection: it
    would take 50 ms each time.
    """
    with announced_to(lambda note: LOG.info("%s; /readyz answers 503 until it is done", note)):
        warm(spec, recipe)
    gc.collect()
    gc.freeze()
