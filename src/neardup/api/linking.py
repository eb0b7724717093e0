"""Record linkage as one call."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Unpack

from neardup.api.finished.link_runs import Blocks, LinkRun
from neardup.api.progress import show_progress
from neardup.errors import SpecError
from neardup.frame.arguments import expanded, of_specs
from neardup.frame.options import OutputOptions, ResourceOptions, TableOptions
from neardup.io.remote import local_target
from neardup.records.fields import Field, LinkSpec, fields_of
from neardup.records.link_steps import block, decide
from neardup.records.outputs.label_files import read_labels
from neardup.records.outputs.link_files import WRITES, BlocksFile
from neardup.records.record_files import Source
from neardup.state.output_folder import Write, locked_folder
from neardup.threads import Pool

if TYPE_CHECKING:
    from neardup.api.indexes.record_index import RecordIndex


class LinkOptions(TableOptions, ResourceOptions, OutputOptions, total=False):
    """Options of `link` and `blocks`."""


#: Represents the fields of an index.
_IN_INDEX = (Field("fields of the index"),)


@expanded
@of_specs(LinkSpec)
def link(
    a: object,
    b: object = None,
    *,
    fields: str | Field | Iterable[str | Field] | None = None,
    against: str | os.PathLike[str] | RecordIndex | None = None,
    block_at: float | None = None,
    recall: float = 0.99,
    decide_at: float = 0.5,
    similarity: str = "mixed",
    one_to_one: bool = False,
    cluster: str = "average",
    labels: object = None,
    tagged: bool = False,
    seed: int = 0,
    **options: Unpack[LinkOptions],
) -> LinkRun:
    """Find the records that are one, within a file or across two files.

    Candidates share a bucket of banded MinHash signatures, of the record or of one field. They are
    compared field by field; a field that is missing in one of the two records counts neither for
    nor against them. How much an agreement counts is learnt without labels, from pairs that the
    valley of the histogram of similarities separates from the others; of two files from pairs that
    are each other's best.

    Args:
        a: A path, a table of pyarrow, a frame of pandas or Polars, or a dict of lists.
        b: The second file. None finds duplicates within the first; else pairs are across the two
            only, and ids of one may be those of the other.
        fields: Columns that are compared: names, ``"NAME:COMPARE"``, or `neardup.Field` objects.
        against: An index of records, or its folder, see `LinkRun.index`. The records of ``a`` are
            linked with those of the index and among themselves, join their clusters, and are
            inserted. All other settings are those of the index.
        labels: Pairs that are known: a file, a table, or a list of two ids and whether they match.
            Some hundred of them set the weights and the threshold, where the file has no valley.
        memory: Memory that may be used, in bytes or as text such as ``"4GB"``. Candidates that do
            not fit go to temporary files. Where it does not suffice for the records, the linkage is
            refused before they are compared. Half of the free memory by default.
        out: Folder for the result, as `LinkRun.save` writes it; `LinkRun.path` is that folder then.
        overwrite: Replace the output of an earlier linkage in ``out``.

    Returns:
        The records and clusters that were found.

    Raises:
        InputError: A file can't be used; its subclasses say why.
        OutputError: ``out`` exists, or can't be written; before any work, if that is possible.
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
    begin = time.monotonic()
    reading, resources, writing = options["reading"], options["resources"], options["writing"]
    writing.require_out()
    folder = None if writing.out is None else local_target(writing.out)
    if one_to_one and b is None:
        raise SpecError("`one_to_one` is for two files, and there is one", "leave it out")
    spec = LinkSpec(
        _IN_INDEX if against is not None and fields is None else fields_of(fields or ()),
        block_at,
        recall,
        similarity,
        decide_at,
        one_to_one,
        cluster,
        tagged,
        seed,
    )
    if reading.private_ids and reading.id in spec.names:
        raise SpecError(
            f"ids are private, and those of the field {reading.id!r}, which a page shows",
            "link the records with other ids, or by positions",
        )
    given = Source(a, b, reading)
    if against is not None and (
        any(value is not None for value in (b, labels)) or spec != LinkSpec(_IN_INDEX)
    ):
        raise SpecError(
            "with `against`, one file of records is linked with the settings of the index",
            "leave out all settings but `id`, and how files are read",
        )
    with ExitStack() as stack:
        write: Write | None = None
        if folder is not None:
            write = stack.enter_context(locked_folder(folder, writing.overwrite, WRITES))
        stack.enter_context(show_progress(resources.progress))
        pool = stack.enter_context(Pool(resources.threads))
        if against is None:
            blocked = block(given, spec, pool, resources.bytes)
            known = None if labels is None else read_labels(labels, blocked.records)
            found = decide(blocked, pool, known)
        else:
            from neardup.api.indexes.record_index import RecordIndex
            from neardup.records.incremental.linking_new import link_new

            index = against if isinstance(against, RecordIndex) else RecordIndex.open(against)
            if index is not against:
                stack.enter_context(index)
            found = link_new(index._store, given, pool, memory=resources.bytes)
        run = LinkRun._of(found, time.monotonic() - begin)
        if write is None or folder is None:
            return run
        return run._saved(write, folder)


@expanded
def blocks(
    a: object,
    b: object = None,
    *,
    fields: str | Field | Iterable[str | Field],
    block_at: float | None = None,
    recall: float = 0.99,
    tagged: bool = False,
    seed: int = 0,
    **options: Unpack[LinkOptions],
) -> Blocks:
    """Find candidates only: pairs of records for a tool that scores them.

    Args:
        a: As for `neardup.link`, as are all settings.
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
    spec = LinkSpec(fields_of(fields), block_at, recall, tagged=tagged, seed=seed)
    resources, writing = options["resources"], options["writing"]
    writing.require_out()
    target = None
    if writing.out is not None:
        target = BlocksFile.of(writing.out, (a, b), writing.overwrite)
    given = Source(a, b, options["reading"])
    with show_progress(resources.progress), Pool(resources.threads) as pool:
        found = block(given, spec, pool, resources.bytes)
    if target is not None:
        target.write(found)
    return Blocks(found)
