"""Beginning of a run: from its input, from its interruption, or from sketches of a shared store."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from neardup.deduplication.clock import Event
from neardup.deduplication.job import Job
from neardup.deduplication.reading import Reader
from neardup.errors import InputError, RecipeError, StoreError
from neardup.io.source import Documents, Partition
from neardup.memory_plan import MemoryPlan, Workload, plan_memory
from neardup.recipe import Recipe
from neardup.sketch.bands import recipe_for
from neardup.state import open_store
from neardup.state.band_store import BandStore, Header
from neardup.state.shards import require_shards
from neardup.threads import available_cores
from neardup.values.json_values import differences

#: Documents of a run: they are numbered by int32.
MAX_DOCUMENTS = 2**31 - 1

#: Documents by which the memory is estimated, or fewer with so many bytes: they wait in memory.
_FIRST, _FIRST_BYTES = 512, 16 << 20


@dataclass
class Head:
    """The first partitions of a source, read to estimate the memory."""

    parts: list[tuple[int, Partition, Documents]]  # with their numbers
    rest: Iterator[tuple[int, Partition]]
    complete: bool = False  # there is no rest

    @classmethod
    def of(cls, reader: Reader, columns: tuple[str, ...]) -> Head:
        """Read partitions until there are some documents."""
        head, size = cls([], reader.partitions()), 0
        while head.documents < _FIRST and size < _FIRST_BYTES and (found := next(head.rest, None)):
            number, partition = found
            head.parts.append((number, partition, partition.read(columns)))
            size += head.read[-1].text.nbytes
        following = list(itertools.islice(head.rest, 1))
        head.rest, head.complete = itertools.chain(following, head.rest), not following
        return head

    @property
    def read(self) -> list[Documents]:
        """Those documents, until the parts are taken out."""
        return [documents for _, _, documents in self.parts]

    @property
    def documents(self) -> int:
        return sum(len(documents.text) for documents in self.read)

    def scale(self, total: int | None) -> float:
        """Return how much larger a source of ``total`` bytes is, about; 1 where it is unknown."""
        read = sum(partition.size for _, partition, _ in self.parts)
        return 1.0 if self.complete or not read or total is None else max(1.0, total / read)


class Beginning(NamedTuple):
    recipe: Recipe
    plan: MemoryPlan
    head: Head | None = None  # partitions that were read already; None where a run is resumed


def begin(job: Job, store: BandStore, reader: Reader, shared: bool = False) -> Beginning:
    """Begin a run with a store, see `store_of`, which is open then.

    With ``shared``, several processes sketch a corpus into it.

    Raises:
        SpecError: The memory does not suffice.
        InputError: There are no documents, or too many.
    """
    if not shared and job.state is not None and job.state.manifest:
        recipe = _resume(job, store)
        return Beginning(recipe, _plan(job, recipe))
    if not shared and job.resources.run is not None:
        recipe = _from_shared(job, store)
        return Beginning(recipe, _plan(job, recipe))
    if job.sketches is not None and job.recipe is not None:
        job.recipe.require_usable("the earlier run")
        return Beginning(job.recipe, _plan(job, job.recipe))
    head = Head.of(reader, job.needed)
    recipe = recipe_of(job)
    plan = _plan(job, recipe, head)
    header = Header(recipe.digest, recipe.num_bands, recipe.as_dict(), _about(job))
    if shared:
        try:
            store.create(header)
        except StoreError:  # another process was faster
            _open(job, store, recipe)
    else:
        plan.check()
        check_documents(plan.workload.documents)
        _drop(job, store)  # keys that an earlier run of this output left there
        store.create(header)
        note_in_manifest(job, recipe)  # after the store: a run with a manifest can be resumed
    return Beginning(recipe, plan, head)


def recipe_of(job: Job) -> Recipe:
    """Return the recipe of an earlier run, or that of the spec."""
    if job.recipe is None:
        return recipe_for(job.spec)
    job.recipe.require_usable("the earlier run")
    return job.recipe


def check_documents(documents: int) -> None:
    """Raise InputError where documents can't be numbered by int32."""
    if documents > MAX_DOCUMENTS:
        raise InputError(
            f"the input has {documents:,} documents; a run takes at most {MAX_DOCUMENTS:,}",
            "split the input, or use neardup.spark",
        )


def _plan(job: Job, recipe: Recipe, head: Head | None = None) -> MemoryPlan:
    """Divide the memory; without a head, as if there were no documents."""
    read = [] if head is None else head.read
    scale = 1.0 if head is None else head.scale(job.source.total_bytes)
    texts = [found.text.nbytes + found.columns.nbytes for found in read]
    load = Workload(
        documents=int(sum(len(found.text) for found in read) * scale),
        text=int(sum(found.text.nbytes for found in read) * scale),
        columns=int(sum(found.columns.nbytes for found in read) * scale),
        num_bands=recipe.num_bands,
        threads=job.resources.threads or available_cores(),
        char=recipe.shingle.unit == "char",
        edges=job.spec.enumerates,
        partition=max(texts, default=0),
        rows=max((len(found.text) for found in read), default=0),
        ignored=recipe.shingle.ignores,
    )
    return plan_memory(load, job.resources.bytes)


def note_in_manifest(job: Job, recipe: Recipe) -> None:
    if job.state is not None:
        job.state.manifest = {**job.manifest(), "recipe": recipe.as_dict()}


def _resume(job: Job, store: BandStore) -> Recipe:
    assert job.state is not None
    about: dict[str, Any] = job.state.manifest  # of the same job, as who opens the state has seen
    recipe = Recipe.from_dict(about["recipe"])
    recipe.require_usable(f"{job.state.folder}: this run")
    return _open(job, store, recipe)


def _from_shared(job: Job, store: BandStore) -> Recipe:
    recipe, spec, where = _open(job, store), job.spec, f"run {job.resources.run}"
    if (spec.method == "allpairs") != (recipe.num_bands == 0):
        raise RecipeError(
            f"{where} has {recipe.num_bands} bands, which are not for method {spec.method}",
            "use the method of its sketches",
        )
    if spec.num_bands is None and recipe.num_bands:
        spec = spec.replace(num_bands=recipe.num_bands, rows=recipe.rows)
    recipe.require_same(recipe_for(spec), where)
    require_shards(store)
    return recipe


def _open(job: Job, store: BandStore, recipe: Recipe | None = None) -> Recipe:
    """Open the store of a run that was begun, of a recipe or of any; StoreError for another's."""
    header = store.open() if recipe is None else store.open(recipe.digest, recipe.as_dict())
    if found := differences(dict(header.about), _about(job)):
        raise StoreError(
            f"{store.url}: the run has other settings or inputs: {found}",
            "use the same input and settings as before, or name another store or run",
        )
    return Recipe.from_dict(dict(header.recipe))


def store_of(job: Job) -> BandStore:
    """Return the store of a job's band keys, neither connected to nor created yet."""
    if job.sketches is not None:
        return job.sketches
    if not job.resources.shared:
        return open_store("memory" if job.state is None else "sqlite", state=job.state)
    return open_store(job.resources.store_url, run=_owner(job))


def _owner(job: Job) -> str:
    """Return the name of a run in a shared store, which in a file with one run says whose it is."""
    if job.resources.run is not None:
        return job.resources.run
    if job.state is None:  # nothing is left that could be continued
        return f"dedup-{uuid.uuid4().hex}"
    return f"dedup-{job.state.owner()}"


def _about(job: Job) -> dict[str, Any]:
    """Return the fields of the header of a store besides the recipe: its run, and its inputs."""
    # The run's own file may be moved, and no other run uses it.
    owner = {"run": _owner(job)} if job.resources.shared else {}
    return job.input.identity() | owner


def drop_store(job: Job) -> bool:
    """Remove the keys that a run left in its store; those of other runs stay.

    The results are complete by then: an error of the store becomes a note.

    Returns:
        Whether they are gone.
    """
    try:
        with store_of(job) as store:
            _drop(job, store)
    except StoreError as error:
        note = f"keys of this run may be left in the store: {error}; resume=True removes them"
        job.clock.emit(Event("finish", note=note))
        return False
    return True


def _drop(job: Job, store: BandStore) -> None:
    try:
        run = store.open().about.get("run")
    except StoreError:  # there is none, or another program's
        return
    if run == _about(job).get("run"):
        store.drop()
