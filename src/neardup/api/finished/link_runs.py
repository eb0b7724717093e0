"""Results of a linkage: the objects that users work with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, Unpack

import numpy as np
import pyarrow as pa

from neardup.deduplication.clock import Clock
from neardup.errors import InputError, SpecError, UnknownIdError, hint_instead
from neardup.frame.command import Request
from neardup.frame.execute import execute
from neardup.frame.run import Run
from neardup.frame.storage import FolderStorage
from neardup.io.remote import local_target
from neardup.linkage.deciding import margin
from neardup.linkage.decision.threshold import Threshold
from neardup.linkage.link_steps import Blocked, Linked, decide_again
from neardup.linkage.outputs import link_tables as tables
from neardup.linkage.outputs.link_made import LINK, saving
from neardup.linkage.outputs.link_summary import blocks_of
from neardup.linkage.outputs.link_tables import NAMES, ScoredRecords
from neardup.options.arguments import expanded
from neardup.options.input_tables import open_table, read_counted
from neardup.options.option_groups import FileOptions, PageFormOptions, Writing
from neardup.output.clean import MERGED
from neardup.spec import check_integer
from neardup.state.about_work import about_work
from neardup.threads import Pool

if TYPE_CHECKING:
    import pandas

    from neardup.api.indexes.record_index import RecordIndex
    from neardup.inspect.link_answers import LinkComparison
    from neardup.linkage.merging.merged_corpus import MergedCorpus

_TRUTH_HINT = "give the truth as a table with two columns of ids, or a list of pairs of ids"


class Blocks:
    """Candidates: pairs of records that are worth a comparison.

    Made by `neardup.blocks`, or by `LinkRun.blocks`.

    Args:
        blocked: The records and candidates.
    """

    def __init__(self, blocked: Blocked) -> None:
        self._blocked = blocked

    def __repr__(self) -> str:
        counts = self.summary
        return (
            f"<Blocks: {counts['records']:,} records, {counts['candidates']:,} candidates, recall "
            f"{self.recall:.3f} at {self._blocked.spec.block_at:g}>"
        )

    @property
    def pairs(self) -> pa.Table:
        """A row for each candidate: ``id_a``, ``id_b``, and ``similarity`` float64.

        The similarity is the Jaccard similarity of the hashed shingles, not that which decides.
        """
        return tables.candidate_table(self._blocked)

    def labels(self, name: str = "block") -> pa.Table:
        """Return the block of each record: its connected component of candidates.

        These are no entities and no clusters: a chain of pairs that were not compared
        connects records that have nothing in common. Often one block has nearly all records:
        comparing within blocks saves nothing. Compare `pairs`, or link the records with
        `neardup.link`.

        Args:
            name: Column with the blocks.

        Returns:
            A row for each record, in their order: ``id``; of two files ``source``, ``"a"`` or
            ``"b"``; and the block, int64, which is the number of its first record.

        Raises:
            SpecError: There is a column of that name, or the linkage is against an index.
        """
        return tables.label_table(self._blocked, name)

    @property
    def recall(self) -> float:
        """Probability that a pair of records of similarity ``block_at`` is a candidate."""
        return self._blocked.candidates.bands.recall

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the records, a sentence each."""
        return self._blocked.notes

    @property
    def summary(self) -> dict[str, Any]:
        """Counts, bands and recall, as plain values."""
        return blocks_of(self._blocked)

    @expanded
    def evaluate(
        self,
        truth: object,
        *,
        columns: Sequence[str] | None = None,
        kind: str | None = None,
        missing: str = "error",
        **options: Unpack[FileOptions],
    ) -> dict[str, Any]:
        """Compare the candidates with the ground truth; see `LinkRun.evaluate`."""
        from neardup.inspect.link_scores import evaluate_links

        found = tables.decided(self._blocked)
        how = options["reading"]
        return evaluate_links(found, truth, columns=columns, kind=kind, missing=missing, how=how)

    def to_splink(self, names: tuple[str, str] = tables.NAMES) -> pa.Table:
        """Return the candidates for Splink's ``register_blocked_pairs_for_predict``.

        Args:
            names: Of two files: the names under which the tables are registered in Splink.

        Returns:
            Columns ``join_key_l``, ``join_key_r`` and ``match_key``.

        Raises:
            SpecError: The names are equal, or no strings.
        """
        return tables.splink_table(self.pairs, len(self._blocked.records.ids), names)

    def to_recordlinkage(self) -> pandas.MultiIndex:
        """Return the candidates for the ``compute`` of recordlinkage.

        The frames that are given to it must have the ids as their index.

        Raises:
            DependencyError: pandas is not installed.
        """
        return tables.pandas_index(self.pairs)


#: A table of a linkage.
LinkTable: TypeAlias = Literal[
    "pairs", "candidates", "clusters", "weights", "pairs_with_records", "merges"
]


class LinkRun(Run[LinkTable]):
    """Result of `neardup.link`, in memory or in its folder."""

    commands = (LINK.name,)
    tables: ClassVar[Mapping[str, str]] = dict.fromkeys((*tables.MADE, "merges"), "")

    @classmethod
    def _of(cls, linked: Linked) -> LinkRun:
        """Return the result of a linkage in memory."""
        steps = saving(linked, about_work({}, {}), writes=False)
        return cls(execute(Request(LINK, [], Writing(), Clock(), lambda _: steps)))

    @cached_property
    def _linked(self) -> Linked:
        """Records, features and agreements; of a folder they are computed when they are needed."""
        if self._storage.made is None:
            from neardup.linkage.outputs.link_opening import open_links

            self._storage.made = open_links(self._storage)
        found: Linked = self._storage.made
        return found

    @property
    def _scored(self) -> ScoredRecords:
        """Records and scores; a folder has them, also that of a linkage against an index."""
        if self._storage.made is None:
            from neardup.linkage.outputs.link_opening import open_scored

            return open_scored(self._storage)
        return ScoredRecords.of(self._linked)

    def _table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if name == "merges" and not self._storage.has(name):
            found: pa.Table
            with Pool() as pool:
                found = pa.concat_tables(self._merged_corpus(pool).merging.table())
        elif name == "merges" or (self._storage.made is None and self._storage.has(name)):
            found = self._storage.table(name)
            found = found.drop_columns([one for one in tables.STORED if one in found.column_names])
        elif name == "pairs_with_records":
            found = tables.pairs_with_records(self._scored)
        else:
            found = tables.MADE[name](self._linked)
        return found if columns is None else found.select(list(columns))

    def __repr__(self) -> str:
        counts = self.summary["counts"]
        return (
            f"<LinkRun: {counts['records']:,} records, {counts['candidates']:,} candidates, "
            f"{counts['pairs']:,} pairs from a score of {self.decide_at:g} on, "
            f"{counts['clusters']:,} clusters>"
        )

    @property
    def pairs(self) -> pa.Table:
        """A row for each pair of records that are one.

        Columns: ``id_a``, ``id_b``; ``score``, ``log_odds`` (its natural logarithm) and
        ``similarity``, float64; ``present``, the fields that both have; ``similarity_FIELD``
        float32, null where a value is missing. The score is the probability of a match where fields
        are independent, as those of persons are, and too high where they are not. That of a pair
        whose answer is known is 1 or 0.
        """
        return self._table("pairs")

    @property
    def candidates(self) -> pa.Table:
        """The same for all candidates, those below `decide_at` too."""
        return self._table("candidates")

    @property
    def clusters(self) -> pa.Table:
        """A row for each record: ``source`` (a, b, ...), ``id``, ``cluster`` and ``size`` int64.

        A cluster has the number of its first record. Against an index these are the new records,
        in the clusters of the index.
        """
        return self._table("clusters")

    @property
    def merges(self) -> pa.Table:
        """A row for each value of a merged record, and for each record that it is from.

        Columns: ``cluster`` int64; ``source`` and ``id`` of the record that stays; ``field``;
        ``value``, large_string; ``from_source`` and ``from_id``.
        """
        return self._table("merges")

    def merged(self) -> pa.Table:
        """Return the merged records: one for each cluster, with all columns of the inputs.

        The column ``merged_from`` has the ids of the records of which one was made.

        Raises:
            InputError: The inputs have changed, or can't be read again.
            SpecError: There are none: the linkage was against an index, or its folder has none.
        """
        if self._storage.made is None and self._storage.has(MERGED):
            assert isinstance(self._storage, FolderStorage)
            folder = self._storage.location / MERGED
            return read_counted(open_table(folder), str(folder)).table
        with Pool() as pool:
            return self._merged_corpus(pool).table()

    def _merged_corpus(self, pool: Pool) -> MergedCorpus:
        from neardup.linkage.merging.merged_corpus import merged_corpus

        made = self._storage.made
        if made is None or not made.can_merge:
            raise SpecError(
                f"{self._storage.name} has no merged records, and no inputs that are read again",
                "link the records again, without `against`, and with `merged`",
            )
        found: MergedCorpus = merged_corpus(made, pool)
        return found

    @property
    def blocks(self) -> Blocks:
        """The candidates, with the recall that they have."""
        return Blocks(self._linked.blocked)

    @property
    def decide_at(self) -> float:
        """Score from which on two records are one."""
        return float(self.summary["spec"]["decide_at"])

    @property
    def threshold(self) -> Threshold:
        """The valley of the similarities, from which seeds are taken, and their histogram."""
        return self._linked.decision.threshold

    def thresholds(self) -> list[dict[str, Any]]:
        """Return how many pairs there are from each of some scores on."""
        found: list[dict[str, Any]] = self.summary["scores"]
        return found

    def pairs_with_records(self) -> pa.Table:
        """Return the pairs with the values of both records next to one another.

        Columns: ``id_a``, ``id_b``, ``score``, then ``FIELD_a`` and ``FIELD_b``, strings. Where ids
        are private, rows replace them.
        """
        return self._table("pairs_with_records")

    def doubtful(self, *, limit: int = 100) -> pa.Table:
        """Return the candidates that are worth a mark: those nearest to `decide_at` first.

        Those that are marked already, or must agree and do not, are left out.

        Args:
            limit: Candidates at most.

        Returns:
            Columns as those of `pairs_with_records`; ids that two files have, and positions of
            several files, are ``FILE:ID``. With a column ``duplicate``, true or false, it is for
            ``labels``, whatever the other settings; of a linkage against an index, for
            `RecordIndex.mark`.

        Raises:
            SpecError: ``limit`` is below 1, or the linkage was against an index with private ids.
        """
        check_integer("`limit`", limit, 1, 1 << 31)
        found = self._scored
        if found.records.private_ids and self.summary["counts"]["against"] is not None:
            what = "records of an index can't be marked without their ids, which are private"
            raise SpecError(what, "link without `private_ids`")
        above = np.abs(margin(found.log_odds, self.decide_at))
        order = np.argsort(above, kind="stable")[:limit]
        return tables.pairs_with_records(found, order[np.isfinite(above[order])])

    def clusters_by_size(self) -> pa.Table:
        """Return a row for each cluster of two records or more, the largest first.

        Columns: ``cluster`` int64, its number; ``source`` and ``id`` of its first record; and
        ``records``, how many it has.
        """
        return tables.clusters_by_size(self._linked)

    def cluster(self, id: object) -> pa.Table:
        """Return the records of the cluster of a record: ``source``, ``id``, and their fields.

        Args:
            id: Id of the record; of two files, of the first, or of the second if it has none.

        Raises:
            InputError: There is no record with that id.
        """
        return tables.records_of(self._linked, _record_in_any(self._linked, id))

    def compare(self, a: object, b: object) -> LinkComparison:
        """Return two records next to each other, a row for each field; `explain` has the sum.

        Args:
            a: Id of a record; of two files, of the first.
            b: Id of another record; of two files, of the second.

        Returns:
            A list of rows, each a dict: ``field``; ``a`` and ``b``, its values; ``similarity``,
            None where one is missing; and ``bits``, its match weight.

        Raises:
            InputError: There is no record with that id.
            SpecError: The two are the same record.
        """
        from neardup.inspect.link_answers import LinkComparison

        rows = LinkComparison()
        for line in self.explain(a, b)["fields"]:
            first, second = line.get("values", (None, None))  # none of the rank
            row = {"field": line["field"], "a": first, "b": second}
            rows.append(row | {name: line.get(name) for name in ("similarity", "bits")})
        return rows

    def weights(self) -> pa.Table:
        """Return what agreements count: a row for each view, field and class of similarity.

        Columns: ``view`` (``random`` pairs or ``candidates``), ``field``, ``from`` and ``to``,
        similarities; ``m`` and ``u``, the shares of the matches and of others in that class;
        ``bits``, the match weight. Values from 1 to 1 are equal. Equal and similar values also
        count by how rare they are.
        """
        return self._table("weights")

    def at(self, decide_at: float) -> LinkRun:
        """Return the same linkage from another score on; nothing is compared again.

        Raises:
            SpecError: It is not in (0, 1].
        """
        return LinkRun._of(decide_again(self._linked, decide_at))

    def recluster(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        decide_at: float | None = None,
        overwrite: bool = False,
    ) -> LinkRun:
        """Return what `at` does, in a folder if one is given; the command is ``recluster``.

        Raises:
            OutputError: The folder exists, or can't be written.
            SpecError: ``decide_at`` is missing, or not in (0, 1].
        """
        if decide_at is None:
            raise SpecError(
                "a linkage is decided again at another score", "give it with `decide_at`"
            )
        found = self.at(decide_at)
        return found if out is None else found.save(out, overwrite=overwrite)

    @expanded
    def evaluate(
        self,
        truth: object,
        *,
        columns: Sequence[str] | None = None,
        kind: str | None = None,
        missing: str = "error",
        **options: Unpack[FileOptions],
    ) -> dict[str, Any]:
        """Compare the linkage with the ground truth: of candidates and decision by themselves.

        Args:
            truth: A file, a table, or a list of pairs of ids, the first of each being of the first
                file. Of one file, an id and its group too.
            columns: Their names; without it they are looked for.
            kind: ``"pairs"``, ``"links"`` or ``"groups"``, where the names don't say.
            missing: ``"error"``, or ``"skip"`` to leave out rows with ids that no record has.

        Returns:
            ``blocking``: pairs completeness, pairs quality, reduction ratio, candidates per record.
            ``decision``: precision, recall and F1 of the pairs and of the clusters, B-cubed, and
            what other thresholds would give. A score without a divisor is None.

        Raises:
            InputError: The truth can't be read, or names ids that no record has.
        """
        from neardup.inspect.link_answers import LinkEvaluation
        from neardup.inspect.link_scores import evaluate_links

        found = tables.decided(self._linked)
        how = options["reading"]
        asked: dict[str, Any] = {"columns": columns, "kind": kind, "missing": missing, "how": how}
        try:
            scores = evaluate_links(found, truth, **asked)
        except UnknownIdError:
            records = self._linked.blocked.records
            if not records.private_ids:
                raise
            # Pairs that were marked on a page have the rows instead.
            scores = evaluate_links(replace(found, ids=records.public_ids), truth, **asked)
        return LinkEvaluation(scores)

    def explain(
        self, a: object, b: object = None, *, texts: bool = True, limit: int = 20
    ) -> dict[str, Any]:
        """Explain why two records are one, or are not; or one record with its candidates.

        Args:
            a: Id of a record; of two files, of the first. By itself it may be of the second, if no
                record of the first has it.
            b: Id of another record; of two files, of the second.
            texts: Return the values of the fields of two records too.
            limit: Candidates of one record, and other records of its cluster, at most.

        Returns:
            ``fields``: ``values``, ``similarity``, ``bits`` (match weight, base 2),
            ``frequency`` of equal values, and whether they are ``swapped``; ``prior``,
            ``dependences`` and ``veto`` in bits, which add up to ``total``; ``score``,
            ``similarity`` and ``match``; ``known``, ``"marked"`` or ``"must agree"`` where the
            answer is known; ``candidate``, and
            the probability of being one. Of one record its ``cluster``, ``size`` and ``members``,
            and ``pairs`` with other records, most likely first: ``score``, ``match``,
            ``same_cluster``, ``total`` and ``bits`` of each of the ``fields``.

        Raises:
            InputError: There is no record with that id.
            SpecError: The two are the same record.
        """
        from neardup.inspect.link_answers import LinkExplanation
        from neardup.linkage.explaining import explain_pair

        linked = self._linked
        sources = linked.blocked.records.ids
        if b is None:
            from neardup.inspect.link_answers import explain_record

            return explain_record(linked, _record_in_any(linked, a), limit)
        x, y = _record_of(linked, a, 0), _record_of(linked, b, len(sources) - 1)
        return LinkExplanation(explain_pair(linked, x, y, texts))

    @expanded
    def report(
        self,
        path: str | os.PathLike[str],
        *,
        truth: object = None,
        **options: Unpack[PageFormOptions],
    ) -> Path:
        """Write a page with charts, match weights, clusters, and pairs to mark.

        It has values of the fields, so only its owner can read it.

        Args:
            path: File to write.
            truth: As for `evaluate`, for a table of reliability.

        Raises:
            OutputError: The file exists, or can't be written.
            SpecError: Values are left out, and the ids are those of a field.
        """
        from neardup.views.all_views import write_report
        from neardup.views.view import PageOptions

        with hint_instead(_TRUTH_HINT):
            found = None if truth is None else self.evaluate(truth)
        return write_report(self, path, PageOptions(options["page"], evaluation=found))

    def save(self, out: str | os.PathLike[str], *, overwrite: bool = False) -> LinkRun:
        """Write ``pairs``, ``candidates``, ``clusters`` and ``records`` as Parquet, and a record.

        `neardup.open` opens it. The records have the values of the fields.

        Returns:
            The linkage in that folder.

        Raises:
            OutputError: The folder exists, or can't be written.
        """
        steps = saving(self._linked, self.summary, asked=self.summary["asked"])
        writing = Writing(out=out, overwrite=overwrite)
        storage = execute(Request(LINK, [], writing, Clock(), lambda _: steps))
        storage.made = self._linked
        return LinkRun(storage)

    def index(self, path: str | os.PathLike[str] | None = None) -> RecordIndex:
        """Make an index of the records and their clusters, to link new records against.

        Fields, bands and blocks of the index are those of this linkage, and stay; weights and
        threshold are learnt again when it has half as many records again.

        Args:
            path: Folder to make; None for an index in memory.

        Raises:
            OutputError: There is something at the path, or it can't be written.
            SpecError: The linkage is of two files, or against an index.
            StoreError: The path is on a network file system.
        """
        from neardup.api.indexes.record_index import RecordIndex
        from neardup.linkage.incremental.record_store import make_store

        given = None if path is None else local_target(path)
        return RecordIndex(make_store(self._linked, given))

    def to_splink(self, names: tuple[str, str] = NAMES) -> pa.Table:
        """Return the candidates for Splink, see `Blocks.to_splink`."""
        return self.blocks.to_splink(names)

    def to_recordlinkage(self) -> pandas.MultiIndex:
        """Return the candidates for recordlinkage, see `Blocks.to_recordlinkage`."""
        return self.blocks.to_recordlinkage()


def _record_in_any(linked: Linked, id: object) -> int:
    """Return the number of a record of the first file, or else of the second."""
    try:
        return _record_of(linked, id, 0)
    except InputError:
        if len(linked.blocked.records.ids) < 2:
            raise
        with suppress(InputError):
            return _record_of(linked, id, 1)
        raise


def _record_of(linked: Linked, id: object, source: int) -> int:
    """Return the number of a record by its id or name, or by text that spells it."""
    records = linked.blocked.records
    before = records.sizes[0] if source else 0
    for ids in (records.ids[source], records.public_ids[source]):
        if (row := _row_of(ids, id)) >= 0:
            return row + before
    if (row := _row_of(records.marked_ids, id)) >= 0:
        return row
    hint = "the id of the first file comes first" if len(records.ids) > 1 else ""
    if records.id is None:
        positions, ids = "ids are positions, from 0", records.ids[source]
        if len(ids) and pa.types.is_large_string(ids.type):
            positions += f", with the letters of their files, such as {ids[0]}"
        hint = f"{positions}; {hint}".removesuffix("; ")
    which = "that id" if records.private_ids else f"the id {str(id)[:100]!r}"
    raise InputError(f"{records.names[source]}: no record has {which}", hint)


def _row_of(ids: Any, id: object) -> int:
    """Return the row of an id, or of text that spells it; -1 for none."""
    with suppress(pa.ArrowException, TypeError, ValueError):
        number = not isinstance(id, str) and pa.types.is_large_string(ids.type)
        given: Any = str(id) if number else id
        sought: Any = pa.scalar(given)
        return int(ids.index(sought.cast(ids.type)).as_py())
    return -1
