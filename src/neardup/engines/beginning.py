"""How a run begins: anew, where it was interrupted, or from sketches in a shared store."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from neardup.engines.job import Job, Shard
from neardup.engines.memory import MemoryPlan, Workload, plan_memory
from neardup.engines.reading import Reader
from neardup.errors import InputError, NeardupError, RecipeError, ResumeError, StoreError
from neardup.io.source import Documents, Partition
from neardup.recipe import Recipe
from neardup.sketch.bands import SAMPLE, choose_bands, rounded_documents, sample_pairs
from neardup.spec import Spec
from neardup.state import open_store
from neardup.state.band_store import BandStore, Header
from neardup.state.json_values import differences
from neardup.threads import Pool


@dataclass
class Head:
    """The first partitions of a source, read to choose the bands and to estimate the memory.

    Attributes:
        parts: Partitions with their numbers, and what was read of them.
        rest: The other partitions.
        whole: Whether there are no others.
    """

    parts: list[tuple[int, Partition, Documents]]
    rest: Iterator[tuple[int, Partition]]
    whole: bool = False

    @classmethod
    def read(cls, reader: Reader, columns: tuple[str, ...]) -> Head:
        """Read partitions until there are enough documents for a sample."""
        head = cls([], reader.partitions())
        for number, partition in head.rest:
            head.parts.append((number, partition, partition.read(columns)))
            if head.documents >= SAMPLE:
                break
        following = next(head.rest, None)
        head.whole = following is None
        if following is not None:
            head.rest = itertools.chain([following], head.rest)
        return head

    @property
    def documents(self) -> int:
        return sum(len(documents.text) for _, _, documents in self.parts)

    @property
    def bytes(self) -> int:
        """Bytes of the source that were read."""
        return sum(partition.size for _, partition, _ in self.parts)

    def scale(self, total: int | None) -> float:
        """Return how much larger the source is, about.

        Args:
            total: Bytes of the source; None where they are unknown.
        """
        if self.whole or not self.bytes or total is None:
            return 1.0
        return max(1.0, total / self.bytes)

    def texts(self) -> pa.ChunkedArray[Any]:
        """Return the texts of the sample."""
        texts: Any = [documents.text for _, _, documents in self.parts]
        return cast("pa.ChunkedArray[Any]", pa.chunked_array(texts, pa.large_string())).slice(
            0, SAMPLE
        )


@dataclass
class Beginning:
    """What a run begins with.

    Attributes:
        recipe: How texts become band keys.
        plan: How the memory is divided.
        store: Where band keys are stored, open.
        head: What was read already; None where a run is resumed.
    """

    recipe: Recipe
    plan: MemoryPlan
    store: BandStore
    head: Head | None = None


def begin(job: Job, reader: Reader, pool: Pool) -> Beginning:
    """Begin a run, or continue one.

    Raises:
        InputError: The source has no documents, or can't be read.
        ResumeError: The run to continue has other inputs or settings.
        SpecError: The memory is not enough.
        StoreError: The store can't be used.
    """
    if job.state is not None and job.state.manifest:
        return _resume(job, pool)
    if job.resources.run is not None:
        return _from_shared(job, pool)
    head = Head.read(reader, job.wanted)
    recipe = choose_recipe(job, head)
    plan = _plan(job, head, recipe, pool.threads)
    plan.check(int(head.documents * head.scale(job.source.total_bytes)))
    store = _own_store(job)
    if job.state is not None:
        job.state.manifest = {**job.manifest(), "recipe": recipe.as_dict(), "memory": plan.minimum}
    if job.resources.shared:
        _drop_own(job, store)  # what an earlier run of this output left there
    try:
        store.create(store_header(job, recipe))
    except StoreError:
        if job.state is not None:
            job.state.manifest = {}  # there is nothing to resume
        raise
    return Beginning(recipe, plan, store, head)


def choose_recipe(job: Job, head: Head) -> Recipe:
    """Choose the bands by the first documents, unless the user did."""
    if head.documents == 0:
        raise no_documents(job)
    spec = job.spec
    if job.recipe is not None:
        recipe = Recipe.from_dict(dict(job.recipe))
        recipe.require_usable("the earlier run")
        return recipe
    if spec.method == "allpairs":
        return _recipe(spec, 0, 0)
    if spec.num_bands is not None and spec.rows is not None:
        return _recipe(spec, spec.num_bands, spec.rows)
    expected, sample = spec.documents or 0, None
    if spec.order_by is None:
        expected = expected or int(head.documents * head.scale(job.source.total_bytes))
        sample = sample_pairs(head.texts(), spec.shingle)
    # Else the result must not depend on which documents are the first of the input, so that nothing
    # may be concluded from them.
    bands = choose_bands(spec.threshold, spec.recall, rounded_documents(expected), sample)
    return _recipe(spec, bands.num_bands, bands.rows)


def no_documents(job: Job) -> InputError:
    """Return the error for a source without documents."""
    files = job.source.files
    where = f"{files[0].path}: " if len(files) == 1 else ""
    return InputError(f"{where}the input holds no documents", "is this the right file?")


def _recipe(spec: Spec, num_bands: int, rows: int) -> Recipe:
    return Recipe(spec.shingle, spec.scheme, spec.seed, num_bands, rows)


def _plan(job: Job, head: Head, recipe: Recipe, threads: int) -> MemoryPlan:
    scale = head.scale(job.source.total_bytes)
    columns = sum(
        documents.columns.select(
            [name for name in job.wanted if name in documents.columns.column_names]
        ).nbytes
        for _, _, documents in head.parts
    )
    workload = Workload(
        documents=int(head.documents * scale),
        text=int(sum(documents.text.nbytes for _, _, documents in head.parts) * scale),
        columns=int(columns * scale),
        num_bands=recipe.num_bands,
        threads=threads,
        char=recipe.shingle.unit == "char",
        edges=job.spec.enumerates,
    )
    return plan_memory(workload, job.resources.memory)


def _resume(job: Job, pool: Pool) -> Beginning:
    assert job.state is not None
    about: dict[str, Any] = job.state.manifest
    asked = job.manifest()  # once: it reads the whole copy of a pipe
    found = differences({name: about[name] for name in about if name in asked}, asked)
    if found:
        raise ResumeError(
            f"{job.state.folder}: this run has other settings or inputs: {found}",
            "use the same as before, or start again with overwrite=True",
        )
    recipe = Recipe.from_dict(about["recipe"])
    recipe.require_usable(f"{job.state.folder}: this run")
    store = _own_store(job)
    try:
        header = store.open(recipe.digest, recipe.as_dict())
        found = differences(dict(header.about), _about(job))
        if found:
            raise StoreError(
                f"{store.url}: holds another run: {found}", "name another store, or start again"
            )
    except StoreError as error:
        if job.resources.run is not None:
            raise
        store = _own_store(job)
        try:
            store.create(store_header(job, recipe))  # it was killed between the two
        except StoreError:
            raise error from None  # of another run, or damaged
    plan = plan_memory(
        Workload(0, 0, 0, recipe.num_bands, pool.threads, False), job.resources.memory
    )
    return Beginning(recipe, plan, store)


def _from_shared(job: Job, pool: Pool) -> Beginning:
    store, recipe = open_shared(job)
    _require_shards(store)
    if job.state is not None:
        job.state.manifest = {**job.manifest(), "recipe": recipe.as_dict(), "memory": 0}
    plan = plan_memory(
        Workload(0, 0, 0, recipe.num_bands, pool.threads, False), job.resources.memory
    )
    return Beginning(recipe, plan, store)


def open_shared(job: Job) -> tuple[BandStore, Recipe]:
    """Open the store that several processes have sketched a corpus into.

    Raises:
        RecipeError: The sketches are of another recipe than the run asks for.
        StoreError: There is none, or it was made for another input.
    """
    store, spec = _own_store(job), job.spec
    where = f"run {job.resources.run}"
    try:
        header = store.open()
        found = differences(dict(header.about), _about(job))
        if found:
            raise StoreError(f"{where}: {found}", "use the input and settings of its sketches")
        recipe = Recipe.from_dict(dict(header.recipe))
        if (spec.method == "allpairs") != (recipe.num_bands == 0):
            raise RecipeError(
                f"{where} has {recipe.num_bands} bands, which are not for method {spec.method}",
                "use the method of its sketches",
            )
        num_bands, rows = spec.num_bands, spec.rows
        if num_bands is None or rows is None or recipe.num_bands == 0:
            num_bands, rows = recipe.num_bands, recipe.rows
        recipe.require_same(_recipe(spec, num_bands, rows), where)
    except NeardupError:
        store.close()
        raise
    return store, recipe


def _require_shards(store: BandStore) -> None:
    """Refuse a corpus of which a shard is missing.

    Raises:
        StoreError: The message says which.
    """
    there = store.partitions()
    shards: dict[int, dict[int, int]] = {}
    for name, text in store.notes().items():
        if name.startswith("shard "):
            shard = Shard.parse(name.removeprefix("shard "))
            shards.setdefault(shard.of, {})[shard.number] = json.loads(text)["partitions"]
    if not shards:
        raise StoreError(
            f"{store.url}: no shard of this run is complete", "wait until all are sketched"
        )
    # Shards of one number, all of them, make a corpus; others may be left from an earlier try.
    for of, found in shards.items():
        if len(found) == of:
            missing = [number for number in range(max(found.values())) if number not in there]
            if missing:
                raise StoreError(
                    f"{store.url}: partition {missing[0]} is missing", "sketch the shard again"
                )
            return
    of, found = max(shards.items(), key=lambda item: len(item[1]))
    names = ", ".join(f"{i}/{of}" for i in range(1, of + 1) if i not in found)
    raise StoreError(
        f"{store.url}: shard {names} is missing", "sketch it with `shard`, then try again"
    )


def join_shared(job: Job, head: Head, recipe: Recipe, threads: int) -> tuple[BandStore, MemoryPlan]:
    """Open a store that several processes sketch a corpus into; the first of them makes it.

    Raises:
        StoreError: It is of another recipe or input.
    """
    plan = _plan(job, head, recipe, threads)
    store = _own_store(job)
    try:
        store.create(store_header(job, recipe))
        return store, plan
    except StoreError:
        store = _own_store(job)
    header = store.open(recipe.digest, recipe.as_dict())
    found = differences(dict(header.about), _about(job))
    if found:
        raise StoreError(
            f"{store.url}: the run has other settings or inputs: {found}",
            "give the same input and settings to each shard, or another name to the run",
        )
    return store, plan


def _own_store(job: Job) -> BandStore:
    resources, state = job.resources, job.state
    if not resources.shared:
        url = "memory" if state is None else "sqlite"
        return open_store(url, layout=resources.layout, state=state)
    return open_store(resources.store, layout=resources.layout, run=_owner(job))


def _owner(job: Job) -> str:
    """Return the name of the run, which in a file with one run says whose it is."""
    resources, state = job.resources, job.state
    if resources.run is not None:
        return resources.run
    if state is None:
        return f"dedup-{uuid.uuid4().hex}"
    # The same for the same output, so that what was given up there makes room.
    return f"dedup-{uuid.uuid5(uuid.NAMESPACE_URL, str(state.folder.absolute())).hex}"


def _about(job: Job) -> dict[str, Any]:
    """Return what the header of a store says besides the recipe: whose keys it has, of what."""
    # The run's own file may be moved, and is nobody else's.
    return {**job.identity(), "run": _owner(job)} if job.resources.shared else job.identity()


def store_header(job: Job, recipe: Recipe) -> Header:
    """Return the header of the store that a run of a recipe fills."""
    return Header(recipe.digest, recipe.num_bands, recipe.as_dict(), _about(job))


def _drop_own(job: Job, store: BandStore) -> None:
    """Remove what a run of this name left in a store; what is another's stays."""
    with suppress(StoreError):
        if store.open().about.get("run") == _owner(job):
            store.drop()


def drop_store(job: Job) -> None:
    """Remove what a run left in a store outside its own file; what is another's stays."""
    store = _own_store(job)
    _drop_own(job, store)
    store.close()
