"""Records on the disk: values, clusters, band keys; and weights, learnt again as it grows."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from contextlib import closing
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import strings_of
from neardup.errors import DuplicateIdError, InputError, SpecError
from neardup.files.given_path import GivenPath
from neardup.index.incoming import checked_ids
from neardup.index.storing.bodies import DocumentRow, Id
from neardup.index.storing.catalogue import Catalogue, Options
from neardup.index.storing.index_check import require_last_commit
from neardup.index.storing.index_state import row_sum
from neardup.index.storing.location import index_folder, require_index, require_local
from neardup.index.storing.merging import Merger
from neardup.index.storing.snapshot import BucketPairs, bucket_names
from neardup.index.storing.transactions import Core
from neardup.linkage.blocks.record_blocks import block_at, common_shingles, record_keys
from neardup.linkage.columns.field_columns import letters
from neardup.linkage.deciding import MatchDecision
from neardup.linkage.decision.labels import Labels, labels_of
from neardup.linkage.decision.weights.model import Model
from neardup.linkage.features import RECORD, Features, make_features
from neardup.linkage.fields import LinkSpec
from neardup.linkage.incremental.field_keys import KnownValues, field_keys, known_values
from neardup.linkage.link_steps import Linked
from neardup.linkage.placeholders import Placeholder
from neardup.recipe import Recipe
from neardup.result_record import INDEX, RECORD_INDEX
from neardup.sketch.bands import Bands, candidate_probability
from neardup.threads import Pool

_TABLES = (
    "CREATE TABLE learnt (name TEXT PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE sizes (cluster INTEGER PRIMARY KEY, size INTEGER NOT NULL, checksum NOT NULL)",
    # First and last number of records that came together, and the shares of matches among them.
    "CREATE TABLE batches (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, priors TEXT NOT NULL)",
)
#: Tables of learnt values that came later; and files whose letters ids have, none of numbers.
_DEFAULTS: dict[str, Any] = {"rows": [], "files": 0}
#: Records that are stored at a time, and whose candidates are looked up together.
_STORED, _ASKED = 16_384, 512


class StoredRecords(NamedTuple):
    """Some records of an index, in the order in which they came.

    Attributes:
        ids: Theirs.
        columns: large_string[records] for each field.
        clusters: int64[]: their clusters.
    """

    ids: list[Id]
    columns: tuple[pa.LargeStringArray, ...]
    clusters: np.ndarray


class Keys(NamedTuple):
    """Keys of some records.

    Attributes:
        rows: int64[m]: which records these are; others have no shingles.
        values: uint64[m, columns]: band keys, then those of fields; 0 for a missing value.
        ends: Where the columns of complete records and those of each block end.
    """

    rows: np.ndarray
    values: np.ndarray
    ends: list[int]

    def of(self, docs: np.ndarray) -> np.ndarray:
        """Return the keys of documents, int64[m]; a missing value shares no bucket."""
        unique: np.ndarray = docs[:, None].astype(np.uint64) * np.uint64(self.values.shape[1])
        unique = unique + np.arange(self.values.shape[1], dtype=np.uint64) + np.uint64(1)
        unique = unique * np.uint64(0xBF58476D1CE4E5B9)
        unique ^= unique >> np.uint64(31)
        missing = self.values == 0
        missing[:, : self.ends[0]] = False
        return np.asarray(np.where(missing, unique, self.values))


class RecordStore:
    """An index of records that is open.

    A document of the index is a record; its body has its cluster and the values of its fields.
    Nothing of this changes. Band keys are those of the records that the index was made of; weights
    are learnt again.

    Args:
        folder: Where it is; None in memory.
        catalogue: Its database.
    """

    def __init__(self, folder: GivenPath | None, catalogue: Catalogue) -> None:
        about = catalogue.about()
        recipe = Recipe.from_dict(about["recipe"])
        recipe.require_usable(f"{folder}: this index")
        self.spec = LinkSpec.from_dict(about["link"])
        #: Column of the ids; None for positions.
        self.id: str | None = about["id"]
        recall = candidate_probability(block_at(self.spec), recipe.num_bands, recipe.rows)
        self.bands = Bands(recipe.num_bands, recipe.rows, recall)
        self.core = Core(folder, catalogue, recipe, about["threshold"], False)
        #: Numbers of the fields that have blocks of their own, and of pairs of these.
        self.blocks: tuple[tuple[int, ...], ...] = tuple(map(tuple, about["blocks"]))
        self._about: dict[str, Any] = {**_DEFAULTS, **about}
        self._learnt: dict[str, bytes] = {}
        self._merger = Merger(self.core)

    @property
    def threshold(self) -> float:
        """Similarity at the foot of the valley."""
        return float(self._about["threshold"])

    @property
    def counted(self) -> int:
        """Records that the weights were learnt from."""
        return int(self._about["counted"])

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """Values that are taken for missing ones."""
        return tuple(Placeholder(k, int(value)) for k, value in self._about["placeholders"])

    def close(self) -> None:
        """Wait for merges of segments, and let go of the files; every later call is refused."""
        self._merger.finish()
        self.core.close()

    def features(self, columns: tuple[pa.LargeStringArray, ...], pool: Pool) -> Features:
        """Prepare records, with the weights of the index."""
        made = make_features(columns, self.spec, pool)
        return made._replace(
            weights=self._weights,
            distinct=np.array(self._about["distinct"], np.int64),
            counted=self.counted,
            words=np.array(self._about["words"]),
            wordiness=self._about["wordiness"],
            swapped=self.model.swapped,
        )

    def refresh(self) -> bool:
        """Take over the weights that another process has learnt; within a transaction.

        Returns:
            Whether there was anything.
        """
        about = {**_DEFAULTS, **self.core.catalogue.about()}
        changed = about != self._about
        if changed:
            self._about = about
            self._learnt.clear()
        return changed

    def learn(self, features: Features, decision: MatchDecision) -> None:
        """Replace weights, frequencies and the foot of the valley; within a transaction.

        Args:
            features: Of all records.
            decision: Made of their candidates.
        """
        if "common" not in self._about["rows"]:
            # The keys of new records have to be like those of the first.
            self._write("common", np.packbits(self._common).tobytes())
        for name, data in _learnt_of(features, decision).items():
            self._write(name, data)
        self.core.catalogue.empty("batches")
        rows = sorted({*self._about["rows"], "common"})
        self.core.catalogue.describe(
            {**self._about, **_counted_in(features, decision), "rows": rows}
        )
        self.refresh()

    @property
    def _common(self) -> np.ndarray:
        """bool[power of two]: shingles that are not hashed."""
        if "common" in self._about["rows"]:
            return np.unpackbits(np.frombuffer(self._read("common"), np.uint8)).astype(np.bool_)
        return common_shingles(self._weights, self.counted)

    @property
    def model(self) -> Model:
        """Match weights."""
        return Model.from_dict(json.loads(self._read("model")))

    def note_batch(self, numbers: np.ndarray, model: Model) -> None:
        """Store which records came together, and how they were decided; within a transaction.

        Args:
            numbers: Of these records, int64[].
            model: Match weights with the shares of matches among them.
        """
        if len(numbers):
            priors = json.dumps([view.prior for view in model.views])
            row = int(numbers[0]), int(numbers[-1]), priors
            self.core.catalogue.execute("INSERT INTO batches VALUES (?, ?, ?)", row)
            self.core.catalogue.add("batches", row_sum(*row))

    def decided_with(self, number: int) -> tuple[Model, tuple[int, int] | None]:
        """Return what decided the pairs of a record with those before it.

        Args:
            number: Of the record.

        Returns:
            Match weights; first and last number of the records that came with it, None for one
            that weights were learnt from.
        """
        rows, model = self.core.catalogue.rows("SELECT * FROM batches ORDER BY first"), self.model
        self.core.catalogue.require_sum("batches", starmap(row_sum, rows))
        before = [row for row in rows if row[0] <= number]
        if not before:
            return model, None
        first, last, priors = max(before)
        views = zip(model.views, json.loads(priors), strict=True)
        changed = tuple(view._replace(prior=prior) for view, prior in views)
        return model._replace(views=changed), (first, last)

    def between(self, first: int, last: int) -> np.ndarray:
        """Return int64[], ascending: numbers of the records that are there of those in a range."""
        docs = [doc for doc, _ in self.core.catalogue.listed() if first <= doc <= last]
        return np.array(docs, np.int64)

    @property
    def values(self) -> KnownValues:
        """How often values are in the records that the weights were learnt from."""
        return KnownValues.from_bytes(self._read("values"), self._about["present"])

    @property
    def _weights(self) -> np.ndarray:
        return np.frombuffer(self._read("weights"), "<f4").astype(np.float32)

    def _write(self, name: str, data: bytes) -> None:
        packed = zlib.compress(data, 1)
        text = "INSERT OR REPLACE INTO learnt VALUES (?, ?, ?)"
        self.core.catalogue.execute(text, (name, packed, row_sum(name, packed)))

    def _read(self, name: str) -> bytes:
        """Return learnt values."""
        if name not in self._learnt:
            with self.core.catalogue.reading():
                text = "SELECT data, checksum FROM learnt WHERE name = ?"
                rows = self.core.catalogue.rows(text, (name,))
            if len(rows) != 1 or row_sum(name, rows[0][0]) != rows[0][1]:
                raise self.core.catalogue.damaged(f"its {name}")
            self._learnt[name] = zlib.decompress(rows[0][0])
        return self._learnt[name]

    def keys(
        self, features: Features, columns: tuple[pa.LargeStringArray, ...], pool: Pool
    ) -> Keys:
        """Return the band keys of records, and those of their fields."""
        filled = np.flatnonzero(features.records.size)
        of_record = record_keys(
            features.records, filled, self._common, self.bands, self.spec.seed, pool
        )
        parts = [
            field_keys(features, columns, self.spec, fields, pool)[filled] for fields in self.blocks
        ]
        ends = np.cumsum([of_record.shape[1], *(part.shape[1] for part in parts)])
        return Keys(filled, np.hstack([of_record, *parts]), ends.tolist())

    # Within a transaction.

    def candidates(self, keys: Keys) -> tuple[np.ndarray, list[BucketPairs]]:
        """Find the records that share a bucket with new ones.

        Args:
            keys: Of the new records.

        Returns:
            int64[d], ascending, the numbers of these records; and the pairs, first those that share
            a bucket of complete records, then those of each block.
        """
        found = [self._sharing(keys, part) for part in range(len(keys.ends))]
        docs = np.unique(np.concatenate([pairs.doc for pairs in found]))
        # Buckets keep removed records until segments are merged.
        there = np.array(self.core.catalogue.stored(docs.tolist()), np.int64)
        there.sort()
        return there, [_of_stored(pairs, there) for pairs in found]

    def _sharing(self, keys: Keys, part: int) -> BucketPairs:
        """Return the pairs of a part of the keys; records that were removed are there too."""
        none = np.empty(0, np.int64)
        rows, docs = [none], [none]
        first, last = keys.ends[part - 1] if part else 0, keys.ends[part]
        for low in range(0, len(keys.values), _ASKED):
            names = bucket_names(keys.values[low : low + _ASKED])[:, first:last]
            found = self.core.snapshot.candidates(np.ascontiguousarray(names))
            rows.append(low + found.row)
            docs.append(found.doc)
        return BucketPairs(keys.rows[np.concatenate(rows)], np.concatenate(docs))

    def fetch(self, docs: np.ndarray) -> StoredRecords:
        """Return some records, by their numbers in ascending order."""
        return self._stored(sorted(self.core.catalogue.fetch(docs.tolist())))

    def everything(self) -> StoredRecords:
        """Return all records."""
        return self._stored([row for rows in self.core.rows() for row in rows])

    def _stored(self, rows: list[DocumentRow]) -> StoredRecords:
        bodies = [json.loads(row.body) for row in rows]
        columns = tuple(
            strings_of([body[k].encode() for body in bodies])
            for k in range(1, 1 + len(self.spec.fields))
        )
        clusters = np.array([body[0] for body in bodies], np.int64)
        return StoredRecords([row.id for row in rows], columns, clusters)

    def sizes(self, clusters: np.ndarray) -> dict[int, int]:
        """Return the numbers of records of some clusters; those of new ones are left out.

        Raises:
            StoreError: One is damaged, or not there though the cluster is that of a record.
        """
        catalogue, names = self.core.catalogue, np.unique(clusters).tolist()
        rows = list(catalogue.selected("cluster, size, checksum", "sizes", "cluster", names))
        found = {cluster: size for cluster, size, _ in rows}
        new = catalogue.state().next  # a cluster has the number of its first record
        if any(name not in found and name < new for name in names) or any(
            row_sum(*row[:2]) != row[2] for row in rows
        ):
            raise catalogue.damaged("its list of sizes of clusters")
        return found

    def count(self, clusters: np.ndarray, change: int) -> None:
        """Count records of clusters, ``change`` is 1 or -1 for each; before they are stored."""
        names, counts = np.unique(clusters, return_counts=True)
        sizes, catalogue = self.sizes(names), self.core.catalogue
        for name, more in zip(names.tolist(), (change * counts).tolist(), strict=True):
            sizes[name] = sizes.get(name, 0) + more
        rows = [(*pair, row_sum(*pair)) for pair in sizes.items() if pair[1]]
        catalogue.insert("INSERT OR REPLACE INTO sizes VALUES (?, ?, ?)", rows)
        gone = [(name,) for name, size in sizes.items() if not size]
        catalogue.insert("DELETE FROM sizes WHERE cluster = ?", gone)

    @property
    def marks(self) -> list[tuple[Id, Id, bool]]:
        """Pairs of ids that are known, and whether they match."""
        return [(a, b, match) for a, b, match in json.loads(self._read("marks"))]

    def unmark(self, pairs: set[frozenset[Id]]) -> int:
        """Take back marks; within a transaction. Return how many there were."""
        marks = self.marks
        kept = [mark for mark in marks if frozenset(mark[:2]) not in pairs]
        self.mark(kept)
        return len(marks) - len(kept)

    def mark(self, marks: list[tuple[Id, Id, bool]]) -> None:
        """Replace all marks; within a transaction."""
        self._write("marks", json.dumps(marks).encode())
        # Other processes read them again, then.
        self.core.catalogue.describe({**self._about, "marked": self._about["marked"] + 1})
        self.refresh()

    def marked_with(self, ids: Sequence[Id]) -> np.ndarray:
        """Return int64[]: numbers of the records that are marked with new ones."""
        new, found = {*ids}, set[Id]()
        for a, b, _ in self.marks:
            found |= {b} if a in new else set()
            found |= {a} if b in new else set()
        return np.array(sorted(self.core.numbers(sorted(found, key=str)).values()), np.int64)

    def labels(self, ids: Sequence[Id]) -> Labels | None:
        """Return the marks of some records, by their positions; None without any."""
        return labels_of(self.marks, ids)

    def require_learnt(self) -> None:
        """Read the learnt values from the disk.

        Raises:
            StoreError: It is damaged.
        """
        self._learnt.clear()
        for name in ("weights", "model", "values", "marks", *self._about["rows"]):
            self._read(name)

    def new_ids(self, count: int) -> list[Id]:
        """Return ids for records without any; within a transaction.

        They are the next numbers. Where ids have the letters of their files, such as ``b:17``, they
        get those of the next file.
        """
        files = self._about["files"]
        if not files or not count:
            return self.core.new_ids(count)
        ids: list[Id] = []
        while not ids or self.core.numbers(ids):  # a client may have named some
            files += 1
            ids = [f"{letters(files)[-1]}:{row}" for row in range(count)]
        self.core.catalogue.describe({**self._about, "files": files})
        self.refresh()
        return ids

    def require_new(self, ids: Sequence[Id], name: str = "the records") -> None:
        """Refuse ids that are there already, or of another kind; messages have the ``name``.

        Raises:
            DuplicateIdError: One is there.
            InputError: One is of another kind.
        """
        self.core.require_kind(ids)
        there = self.core.numbers(ids)
        if there:
            row = next(row for row, id_ in enumerate(ids) if id_ in there)
            raise DuplicateIdError(
                f"{name}: record {row + 1} has an id that the index has already, as "
                f"{len(there):,} of {len(ids):,} have",
                "leave out records that were linked before, or replace them: `RecordIndex.update`, "
                "neardup index update",
            )

    def insert(self, new: StoredRecords, keys: Keys) -> None:
        """Insert records with their keys."""
        values = zip(*(column.to_pylist() for column in new.columns), strict=True)
        clusters = new.clusters.tolist()
        bodies = [
            json.dumps([cluster, *row], ensure_ascii=False).encode()
            for cluster, row in zip(clusters, values, strict=True)
        ]
        self.count(new.clusters, 1)
        first = self.core.store(new.ids, bodies)
        self.core.enter(first, new.ids, keys.rows, bucket_names(keys.of(keys.rows + first)))

    def checksum(self, number: int) -> int | None:
        """Return the checksum of a record, with its cluster and values; None where it is not."""
        row = self.core.catalogue.selected("checksum", "documents", "doc", [number])
        return next((checksum for (checksum,) in row), None)

    def after_insert(self) -> None:
        """Make segments of the log, and fewer of many, after a transaction."""
        self._merger.after_insert()


def _of_stored(pairs: BucketPairs, there: np.ndarray) -> BucketPairs:
    stored = np.isin(pairs.doc, there)
    return pairs._replace(row=pairs.row[stored], doc=pairs.doc[stored])


def make_store(linked: Linked, folder: GivenPath | None) -> RecordStore:
    """Make an index of the records of a linkage.

    Raises:
        OutputError: There is something at the folder, or it can't be written.
        SpecError: The linkage is across files only, or against an index.
    """
    if linked.blocked.records.across or linked.blocked.against is not None:
        raise SpecError(
            "an index is made of a linkage within one file, or within and across several",
            "give `across_files_only`=False, or link the others against the index",
        )
    if folder is None:
        return _filled(linked, None, None)
    with folder.in_messages():
        require_local(folder.path.parent)
    with (
        index_folder(folder) as new,
        closing(_filled(linked, GivenPath(str(new)), new / RECORD_INDEX)),
    ):
        pass
    return open_store(folder)


def _marks_of(labels: Labels | None, ids: Sequence[Id]) -> list[tuple[Id, Id, bool]]:
    if labels is None:
        return []
    rows = zip(labels.a.tolist(), labels.b.tolist(), labels.match.tolist(), strict=True)
    return [(ids[a], ids[b], match) for a, b, match in rows]


def open_store(folder: GivenPath, readonly: bool = False) -> RecordStore:
    """Open an index of records.

    Raises:
        InputNotFoundError: There is none.
        RecipeError: It was made by other versions of what keys depend on.
        StoreError: It is damaged, or on a network file system.
    """
    if (folder.path / INDEX).is_file():
        raise InputError(
            f"{folder} is an index of documents",
            "use neardup dedup --against, or neardup.Index; for records, make one with "
            "`LinkRun.index`",
        )
    with folder.in_messages():
        database = folder.path / RECORD_INDEX
        require_index(database, "index of records", "make one with `LinkRun.index`")
        require_local(folder.path)
        require_last_commit(database)
        return RecordStore(folder, Catalogue(database, Options(readonly)))


def _counted_in(features: Features, decision: MatchDecision) -> dict[str, Any]:
    """Return the numbers that were counted in the records that weights are learnt from."""
    return {
        "counted": len(features.hashes),
        "distinct": features.distinct.tolist(),
        "words": features.words.tolist(),
        "wordiness": features.wordiness,
        "present": decision.values.present.tolist(),
        "threshold": decision.threshold.value,
    }


def _learnt_of(features: Features, decision: MatchDecision) -> dict[str, bytes]:
    return {
        "weights": features.weights.astype("<f4").tobytes(),
        "model": json.dumps(decision.model.as_dict()).encode(),
        "values": known_values(features, decision.values).to_bytes(),
    }


def _filled(linked: Linked, folder: GivenPath | None, path: Path | None) -> RecordStore:
    blocked = linked.blocked
    records, features, bands = blocked.records, blocked.features, blocked.candidates.bands
    spec, decision = blocked.spec, linked.decision
    # Positions are names with the letters of their files where several have records.
    numbered = records.id is None and pa.types.is_integer(records.ids[0].type)
    recipe = Recipe(RECORD, seed=spec.seed, num_bands=bands.num_bands, rows=bands.rows)
    about: dict[str, Any] = {
        "recipe": recipe.as_dict(),
        "link": spec.as_dict(),
        "id": records.id,
        "placeholders": [[field, str(value)] for field, value in records.placeholders],
        "rows": [],
        "files": 0 if numbered else len(records.sizes),
        "marked": 0,
        **_counted_in(features, decision),
        "blocks": [list(block.fields) for block in blocked.candidates.blocks if block.fields],
    }
    catalogue = Catalogue(path, Options())
    catalogue.create(about)
    store = RecordStore(folder, catalogue)
    ids = checked_ids(range(len(records)) if numbered else records.ids[0])
    with store.core.writing(), Pool() as pool:
        for statement in _TABLES:
            catalogue.execute(statement)
        for name, data in _learnt_of(features, decision).items():
            store._write(name, data)
        store._write("marks", json.dumps(_marks_of(decision.labels, ids)).encode())
        store.require_new(ids)
        keys = store.keys(features, records.columns, pool)
        for low in range(0, len(records), _STORED):
            batch = slice(low, low + _STORED)
            first, last = np.searchsorted(keys.rows, [low, low + _STORED])
            of_batch = Keys(keys.rows[first:last] - low, keys.values[first:last], keys.ends)
            columns = tuple(column[batch] for column in records.columns)
            store.insert(StoredRecords(ids[batch], columns, linked.clusters[batch]), of_batch)
    store.after_insert()
    return store
