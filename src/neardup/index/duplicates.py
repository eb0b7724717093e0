"""Ids that were answered as duplicates, and have no document, each with that of its document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import ge

from neardup.index.storing.bodies import Id
from neardup.index.storing.catalogue import Catalogue
from neardup.index.storing.index_state import row_sum

#: The two trees of pages in which SQLite looks ids up, each complete. The second one has no
#: checksums: without that of the first, SQLite would read the second one instead.
_TREES = (
    "SELECT id, duplicate_of, checksum FROM duplicates NOT INDEXED",
    "SELECT duplicate_of, id FROM duplicates INDEXED BY representatives",
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
        self.require_intact()
        for id_, of, _ in self._catalogue.execute(_TREES[0]):
            yield id_, of

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
        catalogue = self._catalogue
        rows = catalogue.execute(_TREES[0]).fetchall()
        if any(row_sum(id_, of) != checksum for id_, of, checksum in rows):
            raise catalogue.damaged("its list of duplicates")
        catalogue.require_sum("duplicates", (row[2] for row in rows))
        others = catalogue.execute(_TREES[1]).fetchall()
        catalogue.require_sum("duplicates", (row_sum(id_, of) for of, id_ in others))
        # A search goes wrong where pages were swapped.
        for keys in ([_sort_key(row[0]) for row in rows], [_sort_key(*row) for row in others]):
            if any(map(ge, keys, keys[1:])):
                raise catalogue.damaged("its list of duplicates")

    def _require_known(self) -> None:
        if not self._known:
            self.require_intact()
            self._known = True

    def _count(self, rows: int, checksums: int) -> None:
        catalogue = self._catalogue
        catalogue.change(duplicates=catalogue.state().duplicates + rows)
        catalogue.add("duplicates", checksums)


def _sort_key(*ids: Id) -> list[tuple[bool, Id]]:
    """Return a key that sorts ids as SQLite does: integers, then strings."""
    return [(isinstance(id_, str), id_) for id_ in ids]
