"""Kernels of a process of the service, before the first call."""

from __future__ import annotations

import gc
import logging
from contextlib import AbstractContextManager

from neardup.announcing import announced_to
from neardup.api.indexes.index_warming import warm
from neardup.recipe import Recipe
from neardup.spec import Spec

LOG = logging.getLogger("neardup.serve")


def compiling_is_logged() -> AbstractContextManager[None]:
    """Have the log say that kernels are compiled, once for each process that does it."""
    return announced_to(lambda note: LOG.info("%s; /readyz answers 503 until it is done", note))


def load_kernels(spec: Spec, recipe: Recipe) -> None:
    """Load the kernels that calls need, or compile them.

    Objects of the libraries, which are all loaded then, are left out of garbage collection: it
    would take 50 ms each time.
    """
    warm(spec, recipe)
    gc.collect()
    gc.freeze()
