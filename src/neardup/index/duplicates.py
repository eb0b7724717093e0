"""Ids that were answered as duplicates, and have no document, each with that of its document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neardup.index.bodies import Id
from neardup.index.catalogue import Catalogue
from neardup.index.index_state import row_sum

#: The table and its second tree of pages, by which SQLite looks ids up, each as a whole.
_TREES = (
    "SELECT id, duplicate_of FROM duplicates NOT INDEXED",
    "SELECT id, duplicate_of FROM duplicates INDEXED BY representatives",
)


class Duplicates:
    """The list of duplicates, within transactions.

    Nothing but the list itself says whether an id is in it, and few calls ask. So all of it is read
    before the first of them, and compared with the sum over it.

    Args:
        catalogue: The database.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._known = catalogue.path is None  # there is no file that may be damaged

    def note(self, pairs: Sequence[tuple[Id, Id]]) -> None:
        """Store the ids of duplicates, each with that of the document that it is one of."""
        catalogue, new = self._catalogue, dict(pairs)
        catalogue.note_ids(list(new))
        old = list(catalogue.selected("id, duplicate_of, checksum", "duplicates", "id", list(new)))
        rows = [(id_, of, row_sum(id_, of)) for id_, of in new.items()]
        catalogue.insert("INSERT OR REPLACE INTO duplicates VALUES (?, ?, ?)", rows)
        self._count(len(rows) - len(old), sum(row[2] for row in rows) - sum(r[2] for r in old))

    def pairs(self) -> Iterator[tuple[Id, Id]]:
        """Yield all duplicates, each with the id of the document that it is one of.

        Raises:
            StoreError: The list is damaged.
        """
        self._require_intact(_TREES[:1])
        yield from self._catalogue.execute(_TREES[0])

    def noted(self, ids: Sequence[Id]) -> set[Id]:
        """Return those of some ids that are noted as duplicates.

        Raises:
            StoreError: The list is damaged.
        """
        self._require_known()
        return {row[0] for row in self._catalogue.selected("id", "duplicates", "id", ids)}

    def release(self, ids: Sequence[Id]) -> set[Id]:
        """Forget some ids, and the duplicates of the documents that have them; return the latter.

        Raises:
            StoreError: The list is damaged.
        """
        self._require_known()
        catalogue, found = self._catalogue, dict[Id, int]()
        for column in ("id", "duplicate_of"):
            rows = catalogue.selected("id, checksum", "duplicates", column, ids)
            found.update(rows)
        if not found:
            return set()
        of = {row[0] for row in catalogue.selected("id", "duplicates", "duplicate_of", ids)}
        catalogue.insert("DELETE FROM duplicates WHERE id = ?", [(id_,) for id_ in found])
        self._count(-len(found), -sum(found.values()))
        return of - set(ids)

    def require_intact(self) -> None:
        """Read all of the list.

        Raises:
            StoreError: It is damaged.
        """
        self._require_intact(_TREES)

    def _require_known(self) -> None:
        if not self._known:
            self.require_intact()
            self._known = True

    def _require_intact(self, trees: Sequence[str]) -> None:
        for tree in trees:
            rows = self._catalogue.execute(tree)
            self._catalogue.require_sum("duplicates", (row_sum(*row) for row in rows))

    def _count(self, rows: int, checksums: int) -> None:
        catalogue = self._catalogue
        catalogue.change(duplicates=catalogue.state().duplicates + rows)
        catalogue.add("duplicates", checksums)
