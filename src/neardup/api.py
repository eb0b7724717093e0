"""The main job as one call."""

from __future__ import annotations

import functools
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neardup import __version__
from neardup.core.threads import available_cores
from neardup.corpus import Corpus, open_corpus
from neardup.errors import SpecError
from neardup.run import outputs, tables
from neardup.run.events import Listener, Stages, peak_memory
from neardup.run.pipeline import Outcome, run
from neardup.run.warm import warm
from neardup.spec import Spec

__all__ = ["Result", "dedup"]

#: Version of the layout of ``run.json`` and of the tables.
FORMAT = 1


class Result:
    """What `dedup` found.

    Attributes:
        spec: What was asked for.
        summary: Counts, bands, seconds and bytes by stage: what ``run.json`` holds.
    """

    def __init__(
        self,
        outcome: Outcome,
        ids: Any,
        spec: Spec,
        stages: Stages,
        corpus: Corpus,
        threads: int | None,
    ) -> None:
        self._outcome = outcome
        self._corpus = corpus
        self._ids = ids
        self._stages = stages
        self._threads = threads
        self.spec = spec

    @functools.cached_property
    def clusters(self) -> Any:
        """Arrow table, one row per document: see `neardup.run.tables.clusters_table`."""
        return tables.clusters_table(self._outcome, self._ids)

    @functools.cached_property
    def edges(self) -> Any:
        """Arrow table, one row per verified pair: see `neardup.run.tables.edges_table`."""
        return tables.edges_table(self._outcome, self._ids, self.spec.pairs == "all")

    @property
    def summary(self) -> dict[str, Any]:
        return _record(self._outcome, self.spec, self._stages, len(self.edges))

    def clean(self) -> Any:
        """Return the kept documents with all their columns, as one Arrow table.

        They are read from the source again.

        Raises:
            InputError: The source is no longer what it was.
        """
        import pyarrow as pa

        self._corpus.check_unchanged()
        schema = tables.clean_schema(self._outcome)
        return pa.concat_tables(
            [schema.empty_table(), *tables.clean_tables(self._outcome, self._threads)]
        )

    def write(
        self,
        out: str | Path,
        *,
        format: str = "parquet",
        compression: str = "none",
        overwrite: bool = False,
    ) -> dict[str, Any]:
        """Write ``clusters``, ``edges``, ``clean`` and ``run.json``; return what the latter holds.

        Args:
            out: Folder to make.
            format: Of the clean corpus: ``parquet``, ``jsonl`` or ``csv``.
            compression: Of ``clean.parquet``: ``none``, ``lz4``, ``snappy`` or ``zstd``.
            overwrite: Replace the files of an earlier run.

        Raises:
            OutputError: The folder exists, or can't be written, or an input lies where an output
                is to go.
            SpecError: There is no such format or compression.
        """
        out = Path(out)
        outputs.check_output(out, format, overwrite, [f.path for f in self._corpus.inputs])
        self._corpus.check_unchanged()
        outcome, stages = self._outcome, self._stages
        begin = time.perf_counter()
        written: dict[str, Any] = {}
        with stages.stage("write", outcome.totals["kept"]) as advance:

            def clean() -> Any:
                for table in tables.clean_tables(outcome, self._threads):
                    yield table
                    advance(len(table))

            def record(sizes: dict[str, int]) -> dict[str, Any]:
                # The clock of the stage still runs while its time is written down.
                stages.sizes["write"] = sum(sizes.values())
                written.update(self.summary)
                written["seconds"]["write"] = round(time.perf_counter() - begin, 4)
                return written

            outputs.write_outputs(
                out,
                {
                    # What is said of the whole input need not be true of a part of it.
                    "clean": (tables.clean_schema(outcome).remove_metadata(), clean()),
                    "clusters": (self.clusters.schema, [self.clusters]),
                    "edges": (self.edges.schema, [self.edges]),
                },
                format,
                record,
                compression,
            )
        return written


def dedup(
    source: Any,
    *,
    text: str | tuple[str, ...] | list[str] = "text",
    id: str | None = None,
    spec: Spec | None = None,
    threads: int | None = None,
    input_format: str | None = None,
    encoding_errors: str = "strict",
    on_event: Listener | None = None,
) -> Result:
    """Find what repeats what, exactly verified, and which documents to keep.

    Args:
        source: A path (file, folder or pattern) or a list of paths; a pyarrow Table,
            RecordBatchReader or Dataset; a pandas or Polars frame; a Hugging Face dataset; or a
            list of texts.
        text: Column or columns with the text; several are joined by a blank.
        id: Column with the user's ids; positions without it.
        spec: What to do; the ``web`` preset by default.
        threads: Threads; the cores there are by default. They don't change the result.
        input_format: ``jsonl``, ``parquet``, ``csv``, ``tsv``, ``arrow`` or ``text``; by the
            ending of each file without it.
        encoding_errors: ``"strict"``, or ``"replace"`` to go on where a text is not UTF-8.
        on_event: Called with each `neardup.run.events.Event`, from this thread.

    Raises:
        InputError: The input can't be used; its leaves say why.
        SpecError: A setting is out of range.

    Example:
        >>> result = dedup(["one two three four five six", "One, two; three four five six!", "x"])
        >>> result.clusters["cluster"].to_pylist()
        [0, 0, 2]
    """
    spec = spec or Spec()
    if threads is not None and threads < 1:
        raise SpecError(f"threads is {threads}; expected 1 or more")
    stages = Stages(on_event)
    columns = [text] if isinstance(text, str) else list(text)
    corpus = open_corpus(
        source, text=columns, id=id, input_format=input_format, encoding_errors=encoding_errors
    )
    outcome = run(corpus, spec, stages, threads, prepare=lambda: warm(spec, stages))
    ids = tables.document_ids(outcome, corpus.id_column, corpus.id_column in columns)
    return Result(outcome, ids, spec, stages, corpus, threads)


def _record(outcome: Outcome, spec: Spec, stages: Stages, edges: int) -> dict[str, Any]:
    """Return what ``run.json`` holds."""
    import numba
    import numpy
    import pyarrow

    from neardup.kernels.text import unicode_version

    bands = outcome.bands
    return {
        "format": FORMAT,
        "spec": spec.as_dict(),
        "digest": spec.digest,
        "versions": {
            "neardup": __version__,
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "numba": numba.__version__,
            "pyarrow": pyarrow.__version__,
            "unicode": unicode_version(),
        },
        "bands": None
        if bands is None
        else {
            "num_bands": bands.num_bands,
            "rows": bands.rows,
            "num_hashes": bands.num_bands * bands.rows,
            "predicted_recall": bands.recall,
        },
        "counts": {**outcome.totals, **asdict(outcome.counts), "edges": edges},
        "bucket_sizes": outcome.bucket_sizes,
        "seconds": {name: round(value, 4) for name, value in stages.seconds.items()},
        "bytes": stages.sizes,
        "peak_memory": peak_memory(),
        "cores": available_cores(),
    }
