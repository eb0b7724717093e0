"""What every peer's script shares: arguments, and the two tables that it writes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("input", help="a corpus as Parquet, with a column `text`")
    parser.add_argument("output", type=Path, help="clusters; the pairs go beside it as *.pairs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--threshold", type=float, default=0.7)
    parser.add_argument("--num-hashes", type=int, default=128)
    parser.add_argument("--shingle", type=int, default=5)
    return parser.parse_args()


@contextmanager
def mapper(processes: int) -> Iterator[Callable[..., Any]]:
    """A `map` that keeps the order, in so many processes; one is this process itself."""
    if processes == 1:
        yield map
    else:
        with Pool(processes) as pool:
            yield pool.imap


def optimal_bands(threshold: float, num_hashes: int, steps: int = 1000) -> tuple[int, int]:
    """(bands, rows) with the least area between the S-curve and the step at the threshold.

    This is datasketch's default rule; the tutorials of peers that leave the choice to the user
    copy it too.
    """
    s = (np.arange(steps) + 0.5) / steps
    below = s < threshold
    best = (np.inf, 1, 1)
    for bands in range(1, num_hashes + 1):
        for rows in range(1, num_hashes // bands + 1):
            p = 1 - (1 - s**rows) ** bands
            best = min(best, (float(np.where(below, p, 1 - p).sum()), bands, rows))
    return best[1:]


def write_pairs(output: Path, a: np.ndarray, b: np.ndarray) -> None:
    """Each pair once, its lower row first."""
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    new = np.ones(len(low), bool)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    new &= low != high
    table = pa.table({"a": low[new], "b": high[new]})
    pq.write_table(table, output.with_suffix(".pairs"))


def write_clusters(output: Path, cluster: np.ndarray) -> None:
    table = pa.table({"row": np.arange(len(cluster)), "cluster": cluster.astype(np.int64)})
    pq.write_table(table, output)


def write_components(output: Path, a: np.ndarray, b: np.ndarray, rows: int) -> None:
    """Write the pairs and, as clusters, the connected components of their graph."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(rows, rows))
    write_clusters(output, connected_components(graph, directed=False)[1])
    write_pairs(output, a, b)
