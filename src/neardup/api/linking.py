"""Record linkage as one call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, Unpack, cast

from neardup.api.finished.link_runs import Blocks, LinkRun
from neardup.api.progress import show_progress
from neardup.deduplication.clock import Clock
from neardup.errors import ArgumentError, SpecError
from neardup.frame.command import Made, Means, Request, Steps
from neardup.frame.execute import execute
from neardup.io.opening import given_paths
from neardup.io.remote import located
from neardup.linkage.columns.field_columns import ColumnMap
from neardup.linkage.columns.presets import preset_fields
from neardup.linkage.features import RECORD
from neardup.linkage.fields import PRESETS, Field, LinkSpec, fields_of, names_of
from neardup.linkage.link_steps import Hashing, Linked, block, block_records, decide, opened, read
from neardup.linkage.merging.merge_spec import MergeSpec, combined_of
from neardup.linkage.merging.merged_corpus import check_merge
from neardup.linkage.outputs.label_files import read_labels
from neardup.linkage.outputs.link_files import BlocksFile
from neardup.linkage.outputs.link_made import LINK, made_of
from neardup.linkage.record_files import RecordSource
from neardup.options.arguments import expanded, of_specs
from neardup.options.how_read import OpenInput, how_read
from neardup.options.option_groups import (
    OutputOptions,
    Reading,
    ResourceOptions,
    Resources,
    ResumeOptions,
    TableOptions,
)
from neardup.spec import ShingleSpec, Spec, shingle_spec
from neardup.state.run_state import RunState
from neardup.threads import Pool
from neardup.values.json_values import JSON

if TYPE_CHECKING:
    from neardup.api.indexes.record_index import RecordIndex


#: Fields that are compared, as users give them.
Fields: TypeAlias = str | Field | Iterable[str | Field] | Mapping[str, str | Sequence[str]]


class BlocksOptions(TableOptions, ResourceOptions, OutputOptions, total=False):
    """Options of `blocks`."""


class LinkOptions(BlocksOptions, ResumeOptions, total=False):
    """Options of `link`."""


#: The step of a run with the last record that it inserts into an index: number and checksum.
_INSERTED = "inserted"
#: Represents the fields of an index.
_IN_INDEX = (Field("fields of the index"),)


@expanded
@of_specs(LinkSpec, MergeSpec)
def link(
    *inputs: object,
    fields: Fields | None = None,
    preset: str | None = None,
    map: ColumnMap = None,
    against: str | os.PathLike[str] | RecordIndex | None = None,
    block_at: float | None = None,
    recall: float = 0.99,
    decide_at: float = 0.5,
    similarity: str = "mixed",
    across_files_only: bool | None = None,
    one_to_one: bool = False,
    cluster: str = "average",
    labels: object = None,
    must_agree: str | Iterable[str] = (),
    tagged: bool = False,
    seed: int = 0,
    merged: bool = True,
    keep: str = "most-complete",
    fill: bool = False,
    combine: str | Iterable[str] = (),
    format: str | None = None,
    **options: Unpack[LinkOptions],
) -> LinkRun:
    """Find the records that are one, within a file, or across any number of files.

    Candidates share a bucket of banded MinHash signatures, of the record or of one field. They are
    compared field by field; a field that is missing in one of the two records counts neither for
    nor against them. How much an agreement counts is learnt without labels, from pairs that the
    valley of the histogram of similarities separates from the others; across files from pairs that
    are each other's best.

    Args:
        inputs: Files, of any formats: paths, tables of pyarrow, frames of pandas or Polars, or
            dicts of lists; several as arguments of their own. Of two files pairs are across the two
            only, and ids of one may be those of the other. Of three and more, or with
            ``across_files_only=False``, pairs are within and across them: positions, and ids if two
            files have the same one, are ``FILE:ID``, with the letters that ``source`` has in
            `LinkRun.clusters`.
        fields: Columns that are compared: their names, ``"NAME:COMPARE"``, or `neardup.Field`
            objects; or a dict from these names to one name of a column, or to several, of which
            each file has one.
        map: Columns of other names in some files: ``{"b.csv": {"given": "first"}}``, or
            ``"b.csv:given=first"`` each; files without names are ``a``, ``b``, and so on.
            Without a file it is for all of them.
        against: An index of records, or its folder, see `LinkRun.index`. The records of the inputs
            are linked with those of the index and among themselves, join their clusters, and are
            inserted. All other settings are those of the index.
        labels: Pairs that are known: a file, a table, or a list of two ids and whether they match.
            Their answers stay, whatever evidence says. From 50 on, of both kinds, the weights are
            fitted to them. Marks of a page and of `LinkRun.doubtful` are for a linkage with other
            settings, too: across two files with the same ids, they are ``FILE:ID``. With
            ``against`` they may name records of the index, too, which keeps them: see
            `RecordIndex.mark`.
        merged: Write the merged records, one for each cluster, to the folder ``merged/`` of
            ``out``, and the table ``merges``; see `LinkRun.merged`.
        memory: Memory that may be used, in bytes or as text such as ``"4GB"``. Candidates that do
            not fit go to temporary files. Where it does not suffice for the records, the linkage is
            refused before they are compared. Half of the free memory by default.
        out: Folder for the result, or URL of one, as `LinkRun.save` writes it; `LinkRun.path` is
            that folder then.
        overwrite: Replace the output of an earlier linkage in ``out``.

    Returns:
        The records and clusters that were found.

    Raises:
        InputError: A file can't be used; its subclasses say why.
        OutputError: ``out`` exists, or can't be written; before any work, if that is possible.
        ResumeError: The linkage to resume has other settings or inputs, or is damaged.
        SpecError: A setting is out of range, or contradicts the index.
        StoreError: The index can't be read or written.

    Examples:
        >>> people = {
        ...     "name": ["Anna Schmidt", "Ana Schmitd", "Peter Huber"],
        ...     "birth": ["1980-02-01", "1980-02-01", "1975-11-30"],
        ... }
        >>> run = link(people, fields=["name", "birth:digits"], decide_at=0.5)
        >>> run.pairs.select(["id_a", "id_b"]).to_pylist()
        [{'id_a': 0, 'id_b': 1}]
        >>> index = run.index()
        >>> new = {"name": ["Anna Smith", "Anna Schmidt"], "birth": ["", "1980-02-01"]}
        >>> link(new, against=index).clusters.select(["id", "cluster"]).to_pylist()
        [{'id': 3, 'cluster': 3}, {'id': 4, 'cluster': 0}]
    """
    reading, resources, writing = options["reading"], options["resources"], options["writing"]
    writing.require_out()
    spec = LinkSpec(
        _IN_INDEX if against is not None and fields is None else _fields(fields, preset),
        block_at=block_at,
        recall=recall,
        similarity=similarity,
        decide_at=decide_at,
        across_files_only=across_files_only,
        one_to_one=one_to_one,
        cluster=cluster,
        must_agree=names_of(must_agree),
        tagged=tagged,
        seed=seed,
        preset=preset,
    )
    if reading.private_ids and reading.id in spec.names:
        raise SpecError(
            f"ids are private, and those of the field {reading.id!r}, which a page shows",
            "link the records with other ids, or by positions",
        )
    merge = MergeSpec(keep, fill, combined_of(combine), format)
    if merge != MergeSpec() and (against is not None or not merged):
        raise SpecError(
            "there are no merged records that settings could be of",
            "leave out `keep`, `fill`, `combine` and `format`; an index has no complete records",
        )
    if against is not None and spec != LinkSpec(_IN_INDEX):
        raise SpecError(
            "with `against`, records are linked with the settings of the index",
            "leave out all settings but `id`, `map`, `labels`, and how files are read",
        )
    given = _given(inputs, reading, resources, map)
    spec = spec.for_files(len(given.given)) if against is None else spec
    made: list[_LinkSteps] = []

    def steps(state: RunState | None) -> Steps:
        found = _LinkSteps(given, spec, resources, labels, against, merge, merged)
        found.open(state)
        made.append(found)
        return found

    paths = [path for one in given.given for path in given_paths(one) or ()]
    with show_progress(resources.progress) as listener:
        run = LinkRun(execute(Request(LINK, paths, writing, Clock(listener), steps)))
    if made and made[-1].linked is not None:
        run._storage.made = made[-1].linked
    return run


def _fields(fields: Fields | None, preset: str | None) -> tuple[Field, ...]:
    """Return the fields that are given, among those of a preset."""
    found = fields_of(fields or ())
    return preset_fields(preset, found) if preset in PRESETS else found


def _given(
    inputs: tuple[object, ...], reading: Reading, resources: Resources, map: ColumnMap
) -> RecordSource:
    """Take the inputs; none of them is a list of them."""
    if not inputs:
        raise ArgumentError("no file of records is given", "give one, or several")
    how = how_read(reading, memory=resources.bytes)
    return RecordSource(tuple(input for input in inputs if input is not None), how, map)


@dataclass
class _LinkSteps(Steps):
    """Records that are open, and the index or labels that they are linked with."""

    given: RecordSource
    spec: LinkSpec
    resources: Resources
    labels: object
    against: str | os.PathLike[str] | RecordIndex | None
    merge: MergeSpec
    merged: bool
    linked: Linked | None = None

    def open(self, state: RunState | None) -> None:
        """Open the records, which must have the fields."""
        if self.against is None:
            self.given, self.spec = opened(self.given, self.spec, state)
            if self.merged:
                check_merge(self.merge, self.given, self.spec.names)
            return
        from neardup.linkage.incremental.linking_new import opened_for

        with self._index() as index:
            self.given = opened_for(index._store, self.given, state)

    @property
    def reads(self) -> Sequence[OpenInput]:
        return self.given.opened

    @property
    def comparable(self) -> bool:
        named = (str, os.PathLike, type(None))
        others = isinstance(self.against, named) and isinstance(self.labels, named)
        return super().comparable and others

    def manifest(self) -> dict[str, JSON]:
        found: dict[str, JSON] = {
            **self.identity(),
            "link": self.spec.as_dict(),
            "columns": [list(of_file) for of_file in self.given.columns],
            "merge": self.merge.as_dict() if self.merged else None,
        }
        if isinstance(self.labels, str | os.PathLike):
            found["labels"] = RecordSource((self.labels,)).open().opened[0].inputs
        if isinstance(self.against, str | os.PathLike):
            found["against"] = os.fspath(located(self.against))
        return found

    @contextmanager
    def work(self, means: Means) -> Iterator[Made]:
        with ExitStack() as opened, Pool(self.resources.threads, stage=means.clock.stage) as pool:
            if self.against is None:
                memory = self.resources.bytes
                records = read(self.given, self.spec, pool, memory)
                known = None if self.labels is None else read_labels(self.labels, records)
                linked = decide(block_records(records, self.spec, pool), pool, known)
                self.linked = replace(linked, merge=self.merge if self.merged else None)
            else:
                self.linked = opened.enter_context(self._linked_new(means.state, pool))
            # A folder of the state goes with it, also where the run is killed.
            folder = None if means.state is None else means.state.scratch_folder("merged-records")
            with made_of(self.linked, means.state is not None, folder) as made:
                yield made

    @contextmanager
    def _linked_new(self, state: RunState | None, pool: Pool) -> Iterator[Linked]:
        """Link new records with those of the index, which has them once all files are written."""
        from neardup.linkage.incremental.linking_new import linking_new

        with (
            self._index() as index,
            linking_new(
                index._store, self.given, pool, memory=self.resources.bytes, labels=self.labels
            ) as linked,
        ):
            if state is not None:
                last = index._store.core.catalogue.state().next - 1
                state.put(_INSERTED, 0, about=[last, index._store.checksum(last)])
            yield linked

    @contextmanager
    def _index(self) -> Iterator[RecordIndex]:
        from neardup.api.indexes.record_index import RecordIndex

        if isinstance(self.against, RecordIndex):
            yield self.against
        else:
            assert self.against is not None
            with RecordIndex.open(self.against) as index:
                yield index

    def is_settled(self, state: RunState) -> bool:
        if self.against is None or not state.done(_INSERTED):
            return self.against is None
        with self._index() as index:
            number, checksum = cast("list[int]", state.about(_INSERTED, 0))
            return index._store.checksum(number) == checksum


@expanded
def blocks(
    *inputs: object,
    fields: Fields | None = None,
    preset: str | None = None,
    map: ColumnMap = None,
    block_at: float | None = None,
    recall: float = 0.99,
    across_files_only: bool | None = None,
    tagged: bool = False,
    shingle: str | ShingleSpec | None = None,
    num_bands: int | None = None,
    rows: int | None = None,
    seed: int = 0,
    **options: Unpack[BlocksOptions],
) -> Blocks:
    """Find candidates only: pairs of records for a tool that scores them.

    Args:
        inputs: As for `neardup.link`, as are all settings.
        shingle: How the values of a record become its shingles; runs of three characters, without
            accents, by default. Values have borders, which are characters, too.
        num_bands: Bands by which complete records are candidates; with ``rows``, instead of those
            that reach ``recall``.
        rows: Signature entries in a band; with ``num_bands``.
        out: File to write the pairs to, Parquet or CSV by its ending: ``id_a``, ``id_b`` and
            ``similarity``.
        overwrite: Replace a file that is there.

    Returns:
        The candidates, with the recall that they have at ``block_at``.

    Raises:
        InputError: A file can't be used; its subclasses say why.
        OutputError: The file exists, or can't be written.
        SpecError: A setting is out of range.

    Examples:
        >>> people = {"name": ["Anna Schmidt", "Ana Schmitd", "Peter Huber"]}
        >>> found = blocks(people, fields="name")
        >>> found.pairs.num_rows, round(found.recall, 2)
        (1, 0.99)
    """
    spec = LinkSpec(
        _fields(fields, preset),
        block_at,
        recall,
        across_files_only=across_files_only,
        tagged=tagged,
        seed=seed,
        preset=preset,
    )
    hashing = _hashing(shingle, num_bands, rows)
    resources, writing = options["resources"], options["writing"]
    writing.require_out()
    target = None
    if writing.out is not None:
        target = BlocksFile.of(writing.out, inputs, writing.overwrite)
    given = _given(inputs, options["reading"], resources, map)
    given, spec = opened(given, spec.for_files(len(given.given)))
    with show_progress(resources.progress) as listener:
        clock = Clock(listener)
        with Pool(resources.threads, stage=clock.stage) as pool:
            found = block(given, spec, pool, resources.bytes, hashing)
        if target is not None:
            with clock.stage("write tables"):
                target.write(found)
    return Blocks(found)


def _hashing(shingle: str | ShingleSpec | None, num_bands: int | None, rows: int | None) -> Hashing:
    """Return how candidates by complete records are found.

    Raises:
        SpecError: A setting is out of range, or records are no lists of items.
    """
    made = RECORD if shingle is None else shingle_spec(shingle)
    if made.unit == "item":
        raise SpecError("records have values, and the shingle is item", "give char:N or word:N")
    if isinstance(shingle, str):
        made = replace(RECORD, unit=made.unit, n=made.n)
    Spec(made, num_bands=num_bands, rows=rows)  # which refuses bands without rows
    return Hashing(made, None if num_bands is None or rows is None else (num_bands, rows))
