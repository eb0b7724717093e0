"""Records on the disk: values, clusters, band keys; and weights that never change."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import strings_of
from neardup.errors import DuplicateIdError, InputNotFoundError, SpecError
from neardup.index.bodies import Id, Row, is_intact
from neardup.index.catalogue import Catalogue, Options
from neardup.index.incoming import checked_ids
from neardup.index.location import index_folder, require_local
from neardup.index.merging import Merger
from neardup.index.snapshot import BucketPairs, bucket_names
from neardup.index.transactions import Core
from neardup.recipe import Recipe
from neardup.records.blocking import block_at, record_keys
from neardup.records.deciding import Joined, star_centres
from neardup.records.features import RECORD, Features, make_features
from neardup.records.fields import LinkSpec
from neardup.records.link_steps import Linked, matched
from neardup.sketch.bands import Bands, candidate_probability
from neardup.threads import Pool

#: The database of an index of records.
DATABASE = "records.sqlite"
_TABLES = (
    "CREATE TABLE weights (one INTEGER PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE sizes (cluster INTEGER PRIMARY KEY, size INTEGER NOT NULL)",
)
_COUNT = "INSERT INTO sizes VALUES (?, 1) ON CONFLICT (cluster) DO UPDATE SET size = size + 1"
#: Records that are stored at a time, and whose candidates are looked up together.
_STORED, _ASKED = 100_000, 512
#: Clusters whose sizes are read by one statement.
_CLUSTERS = 256


class Stored(NamedTuple):
    """Some records of an index, in the order in which they came.

    Attributes:
        ids: Theirs.
        columns: large_string[records] for each field.
        joined: Their clusters.
    """

    ids: list[Id]
    columns: tuple[pa.LargeStringArray, ...]
    joined: Joined


class RecordStore:
    """An index of records that is open.

    A document of the index is a record; its body has its cluster, whether it is a centre, and the
    values of its fields. Nothing of this changes.

    Args:
        folder: Where it is; None in memory.
        catalogue: Its database.
    """

    def __init__(self, folder: Path | None, catalogue: Catalogue) -> None:
        about = catalogue.about()
        recipe = Recipe.from_dict(about["recipe"])
        recipe.require_usable(f"{folder}: this index")
        self.spec = LinkSpec.from_dict(about["link"])
        #: Column of the ids; None for positions.
        self.id: str | None = about["id"]
        recall = candidate_probability(block_at(self.spec), recipe.num_bands, recipe.rows)
        self.bands = Bands(recipe.num_bands, recipe.rows, recall)
        self.core = Core(folder, catalogue, recipe, self.threshold, False)
        #: Records that the weights were counted in.
        self.counted: int = about["counted"]
        self._distinct = np.array(about["distinct"], np.int64)
        self._weights: np.ndarray | None = None
        self._merger = Merger(self.core)

    @property
    def threshold(self) -> float:
        """Similarity from which on two records are one."""
        assert self.spec.decide_at is not None, "make_store"
        return self.spec.decide_at

    def close(self) -> None:
        """Wait for merges of segments, and let go of the files; every later call is refused."""
        self._merger.finish()
        self.core.close()

    def features(self, columns: tuple[pa.LargeStringArray, ...], pool: Pool) -> Features:
        """Prepare records, with the weights of the index."""
        if self._weights is None:
            with self.core.catalogue.reading():
                rows = self.core.catalogue.rows("SELECT data, checksum FROM weights")
            if len(rows) != 1 or zlib.crc32(rows[0][0]) != rows[0][1]:
                raise self.core.catalogue.damaged("its weights")
            self._weights = np.frombuffer(zlib.decompress(rows[0][0]), "<f4").astype(np.float32)
        made = make_features(columns, self.spec, pool)
        return made._replace(weights=self._weights, distinct=self._distinct, counted=self.counted)

    # Within a transaction.

    def candidates(self, keys: np.ndarray) -> BucketPairs:
        """Find the records that share a bucket with new ones, uint64[rows, bands]."""
        none = np.empty(0, np.int64)
        rows, docs = [none], [none]
        for low in range(0, len(keys), _ASKED):
            found = self.core.snapshot.candidates(bucket_names(keys[low : low + _ASKED]))
            rows.append(low + found.row)
            docs.append(found.doc)
        return BucketPairs(np.concatenate(rows), np.concatenate(docs))

    def fetch(self, docs: np.ndarray) -> Stored:
        """Return some records, by their numbers in ascending order."""
        return self._stored([Row(*row) for row in sorted(self.core.catalogue.fetch(docs.tolist()))])

    def everything(self) -> Stored:
        """Return all records."""
        text = "SELECT doc, id, body, checksum FROM documents ORDER BY doc"
        return self._stored([Row(*row) for row in self.core.catalogue.rows(text)])

    def _stored(self, rows: list[Row]) -> Stored:
        for row in rows:
            if not is_intact(row):
                raise self.core.catalogue.damaged(f"record number {row.doc}")
        bodies = [json.loads(row.body) for row in rows]
        columns = tuple(
            strings_of([body[k].encode() for body in bodies])
            for k in range(2, 2 + len(self.spec.fields))
        )
        clusters = np.array([body[0] for body in bodies], np.int64)
        centres = np.array([body[1] for body in bodies], np.bool_)
        return Stored([row.id for row in rows], columns, Joined(clusters, centres))

    def sizes(self, clusters: np.ndarray) -> dict[int, int]:
        """Return the numbers of records of some clusters; those of new ones are left out."""
        wanted, found = np.unique(clusters).tolist(), dict[int, int]()
        for low in range(0, len(wanted), _CLUSTERS):
            some = wanted[low : low + _CLUSTERS]
            marks = ",".join("?" * len(some))
            text = f"SELECT cluster, size FROM sizes WHERE cluster IN ({marks})"  # noqa: S608
            found.update(self.core.catalogue.rows(text, some))
        return found

    def require_new(self, ids: Sequence[Id]) -> None:
        """Refuse ids that are there already, or of another kind.

        Raises:
            DuplicateIdError: One is there.
            InputError: One is of another kind.
        """
        self.core.require_kind(ids)
        there = self.core.catalogue.numbers(ids)
        if there:
            raise DuplicateIdError(
                f"the index has {len(there):,} of the ids already",
                "leave out records that were linked before, or give each record an id of its own",
            )

    def insert(self, new: Stored, filled: np.ndarray, keys: np.ndarray) -> None:
        """Insert records.

        Args:
            new: The records.
            filled: int64[m]: those that have shingles, ascending.
            keys: uint64[m, bands]: their band keys.
        """
        values = zip(*(column.to_pylist() for column in new.columns), strict=True)
        clusters, centres = new.joined.clusters.tolist(), new.joined.centres.tolist()
        bodies = [
            json.dumps([cluster, int(centre), *row], ensure_ascii=False).encode()
            for cluster, centre, row in zip(clusters, centres, values, strict=True)
        ]
        self.core.enter(filled + self.core.store(new.ids, bodies), bucket_names(keys))
        self.core.catalogue.insert(_COUNT, [(cluster,) for cluster in clusters])

    def after_insert(self) -> None:
        """Make segments of the log, and fewer of many, after a transaction."""
        self._merger.after_insert()


def make_store(linked: Linked, folder: Path | None) -> RecordStore:
    """Make an index of the records of a linkage.

    Raises:
        OutputError: There is something at the folder, or it can't be written.
        SpecError: The linkage is of two files, or against an index.
    """
    if len(linked.blocked.records.ids) > 1 or linked.blocked.against is not None:
        raise SpecError(
            "an index is made of a linkage within one file",
            "put all records into one file, or link the others against the index",
        )
    if folder is None:
        return _filled(linked, None, None)
    require_local(folder.absolute().parent)
    with index_folder(folder) as new, closing(_filled(linked, new, new / DATABASE)):
        pass
    return open_store(folder)


def open_store(folder: Path) -> RecordStore:
    """Open an index of records.

    Raises:
        InputNotFoundError: There is none.
        RecipeError: It was made by other versions of what keys depend on.
        StoreError: It is damaged, or on a network file system.
    """
    if not (folder / DATABASE).is_file():
        raise InputNotFoundError(
            f"{folder}: there is no index of records", "make one with LinkRun.index"
        )
    require_local(folder)
    return RecordStore(folder, Catalogue(folder / DATABASE, Options()))


def _filled(linked: Linked, folder: Path | None, path: Path | None) -> RecordStore:
    blocked = linked.blocked
    records, features, bands = blocked.records, blocked.features, blocked.candidates.bands
    spec = replace(blocked.spec, decide_at=linked.threshold.value)
    recipe = Recipe(RECORD, seed=spec.seed, num_bands=bands.num_bands, rows=bands.rows)
    about: dict[str, Any] = {
        "recipe": recipe.as_dict(),
        "link": spec.as_dict(),
        "id": records.id,
        "counted": len(records),
        "distinct": features.distinct.tolist(),
    }
    catalogue = Catalogue(path, Options())
    catalogue.create(about)
    store = RecordStore(folder, catalogue)
    weights = zlib.compress(features.weights.astype("<f4").tobytes(), 1)
    edges = matched(blocked.candidates, linked.compared, linked.pairs)
    centres = star_centres(edges, len(records)) == np.arange(len(records))
    ids = checked_ids(records.ids[0])
    with store.core.writing(), Pool() as pool:
        for statement in _TABLES:
            catalogue.execute(statement)
        catalogue.execute("INSERT INTO weights VALUES (1, ?, ?)", (weights, zlib.crc32(weights)))
        store.require_new(ids)
        for low in range(0, len(records), _STORED):
            some = slice(low, low + _STORED)
            docs = low + np.flatnonzero(features.records.size[some])
            keys = record_keys(features, docs, bands, spec.seed, pool)
            columns = tuple(column[some] for column in records.columns)
            joined = Joined(linked.clusters[some], centres[some])
            store.insert(Stored(ids[some], columns, joined), docs - low, keys)
    store.after_insert()
    return store
