"""What a run is given, and what it is known by: manifest, store, and what it will take."""

from __future__ import annotations

import functools
import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from neardup.core.edges import Triple
from neardup.core.tune import Bands
from neardup.corpus import Corpus, Documents
from neardup.run.events import Stages
from neardup.run.folder import RunFolder, disk_errors
from neardup.run.memory import FACTS, Estimate, estimate
from neardup.run.parts import Recipe
from neardup.run.storage import Storage
from neardup.spec import Spec
from neardup.stores import BandStore, Header, open_store

__all__ = ["Job", "exact_estimate", "guess", "header_of", "open_run_store", "refined"]

#: Parts that a corpus is cut into at most, so that the manifest stays small.
_MOST_PARTS = 2048
#: Documents of a part, about, at most.
_PART_DOCUMENTS = 1 << 18


@dataclass
class Job:
    """What a run is given.

    Attributes:
        corpus: The documents.
        spec: What is asked for.
        storage: Where things are kept.
        stages: Clock and events.
        identity: JSON values that the result depends on besides the spec: input files and how
            they are read. Compared when a run is resumed.
        threads: Threads; None for the cores there are.
        folder: The run folder; None to keep nothing.
        secret_ids: Ids are texts, which no message may quote.
        prepare: Called while the first chunks are read.
        output: How the clean corpus is written; compared too.
        given: The paths that the user gave; none for a frame.
        borrowed: What lies in a store outside the run folder is another run's.
        edges: Yields all edges (doc_a, doc_b int64[], similarity float64[]) where an earlier run
            has verified every pair; None where they are to be found.
        origin: Of the run that is clustered again, as ``run.json`` shows it.
        foreseen: Whether it is to be foreseen what the run will find and take.
        predicted: That, once it is, as ``run.json`` shows it.
        disk: Most bytes of the run folder that were seen.
    """

    corpus: Corpus
    spec: Spec
    storage: Storage
    stages: Stages
    identity: dict[str, Any] = field(default_factory=dict)
    threads: int | None = None
    folder: RunFolder | None = None
    secret_ids: bool = False
    prepare: Callable[[], None] | None = None
    output: dict[str, str] = field(default_factory=dict)
    given: list[str] = field(default_factory=list)
    borrowed: bool = False
    edges: Callable[[], Iterator[Triple]] | None = None
    origin: dict[str, Any] | None = None
    foreseen: bool = False
    predicted: dict[str, Any] | None = None
    disk: int = 0

    def manifest(self) -> dict[str, Any]:
        """What the manifest of a run must say, for that run to be this one."""
        return {
            "spec": self.spec.as_dict(),
            **self.identity,
            "output": self.output,
            "chunk_bytes": self.storage.chunk_bytes,
            "store": self.storage.public_store,
            "design": self.storage.design,
            "run": self.storage.name,
        }

    @functools.cached_property
    def run_name(self) -> str:
        """What the store knows the run by: no two at work at the same time share a name."""
        if self.storage.name is not None:
            return self.storage.name
        if self.folder is None:
            return f"dedup-{uuid.uuid4().hex}"
        name = self.folder.manifest.get("run_name")
        # The same for the same output, so that what was given up there makes room.
        place = hashlib.sha256(str(self.folder.path.absolute()).encode()).hexdigest()
        return str(name or f"dedup-{place[:32]}")

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all that was asked for, and of names, sizes and times of the inputs."""
        asked = self.manifest()
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the run needs besides the texts."""
        names = (self.corpus.id_column, self.spec.keep.partition(":")[2])
        return tuple(dict.fromkeys(name for name in names if name))

    def part_chunks(self, documents: int, size: int) -> int:
        """Return how many successive chunks make up a part.

        Args:
            documents, size: Of the head of the corpus, and its bytes.
        """
        per_part = -(-(self.corpus.total_bytes or 0) // _MOST_PARTS)
        size_of_part = max(self.storage.part_bytes, per_part)
        # Of short documents more is kept than their text.
        size_of_part = min(size_of_part, _PART_DOCUMENTS * size // max(1, documents))
        return max(1, round(size_of_part / self.storage.chunk_bytes))


def open_run_store(job: Job, url: str, folder: RunFolder | None, budget: int | None) -> BandStore:
    if folder is not None:
        with disk_errors(folder.path):
            (folder.path / "store").mkdir(exist_ok=True)
    return open_store(
        url,
        design=job.storage.design,
        run=job.run_name,
        folder=None if folder is None else folder.path / "store",
        budget=budget,
    )


def header_of(job: Job, recipe: Recipe, part_chunks: int) -> Header:
    """What the store is made for: all that keys and facts depend on."""
    about = {
        "spec": job.spec.as_dict(),
        "run": job.run_name,
        **job.identity,
        "chunk_bytes": job.storage.chunk_bytes,
        "bands": recipe.bands and list(recipe.bands),
        "part_chunks": part_chunks,
    }
    text = json.dumps(about, sort_keys=True)
    return Header(hashlib.sha256(text.encode()).hexdigest(), recipe.num_bands, about)


def guess(
    job: Job,
    head: list[Documents],
    size: int,
    whole: bool,
    bands: Bands | None,
    threads: int,
    mapped_sets: bool,
) -> Estimate:
    """Estimate from the first documents what a run takes."""
    count = max(1, sum(len(d.text) for d in head))
    share = 1.0 if whole or not size else (job.corpus.total_bytes or size) / size
    columns = sum(d.table.select(_there(d, job.columns)).nbytes for d in head)
    text = sum(d.text.nbytes for d in head)
    return estimate(
        documents=int(count * share),
        documents_exact=whole,
        text=int(text * share),
        ids=int(columns * share),
        columns=int(sum(d.table.nbytes for d in head) * share),
        num_bands=0 if bands is None else bands.num_bands,
        threads=threads,
        mapped_sets=mapped_sets,
        **_settings(job, job.storage.public_store),
    )


def refined(
    job: Job,
    plan: Estimate,
    *,
    documents: int,
    exact: bool,
    text: int,
    ids: int,
    columns: int,
    threads: int,
) -> Estimate:
    """Work out what a run takes by a better sample than its first documents.

    The store, and what is refused, are what these decide.

    Args:
        plan: By the first documents.
        documents, exact, text, ids, columns: As `neardup.run.memory.estimate` takes them.
    """
    settings = {**_settings(job, job.storage.public_store), "memory": plan.memory}
    found = estimate(
        documents=documents,
        documents_exact=exact,
        text=text,
        ids=ids,
        columns=columns,
        num_bands=plan.num_bands,
        threads=threads,
        mapped_sets=True,
        **settings,
    )
    return replace(found, store=plan.store, least=max(plan.least, found.least))


def exact_estimate(
    job: Job, recipe: Recipe, count: int, entries: dict[int, Any], store: BandStore, threads: int
) -> Estimate:
    """Work out, now that all is signed, what the rest of a run takes."""
    facts = sum(entry.facts_bytes for entry in entries.values())
    text = job.corpus.total_bytes or 0
    found = estimate(
        documents=count,
        documents_exact=True,
        text=text,
        ids=max(0, facts - FACTS * count),
        columns=text,
        num_bands=recipe.num_bands,
        threads=threads,
        mapped_sets=job.folder is not None,
        **_settings(job, store.url),
    )
    found.check()
    return found


def _settings(job: Job, store: str) -> dict[str, Any]:
    return {
        "memory": job.storage.memory,
        "store": store,
        "char": job.spec.shingle.unit == "char",
        "ordered": job.spec.keep != "first",
        "join": job.spec.method == "allpairs",
    }


def _there(documents: Documents, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in documents.table.column_names]
