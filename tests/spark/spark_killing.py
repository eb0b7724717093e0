"""A task that kills its executor the first time, and a job that kills its driver."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil


def kill_once(batches: Any, task: Callable[..., Any], folder: Path, **given: Any) -> Iterator[Any]:
    """Run a task; the first time that it has a row to return, kill the executor instead."""
    for batch in task(batches, **given):
        try:
            (folder / task.__name__).touch(exist_ok=False)
        except FileExistsError:
            yield batch
            continue
        for process in psutil.Process().parents():
            if "CoarseGrainedExecutorBackend" in " ".join(process.cmdline()):
                process.kill()
        time.sleep(60)


def killing(
    mapped: Callable[..., Any], folder: Path, only: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """Return what stands for `neardup.spark.steps.mapped`, so that each task kills once.

    Or only those of some names.
    """

    def run(df: Any, task: Callable[..., Any], schema: str, **given: Any) -> Any:
        if only and task.__name__ not in only:
            return mapped(df, task, schema, **given)
        return mapped(df, partial(kill_once, task=task, folder=folder), schema, **given)

    return run


if __name__ == "__main__":
    from spark_parts import spark_session

    from neardup.spark import dedup, steps

    source, checkpoint = sys.argv[1:]

    def compare(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with spark_session("local[2]") as session:
        steps.compare = compare
        dedup(session.read.parquet(source), checkpoint=checkpoint)
