"""The page of results that have no clusters of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


class ListedReport:
    """Gives the results of a command such a page."""

    @property
    def _listed(self) -> Any:
        return getattr(self, "_results")  # noqa: B009 - a field of the classes that have this base

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        texts: bool = True,
        max_clusters: int = 300,
        overwrite: bool = False,
    ) -> Path:
        """Write the result as one page that opens in any browser.

        Args:
            path: File to write; only its owner can read it.
            title: Heading of the page.
            texts: Whether texts are in it, which are read from the input again.
            max_clusters: Rows that are listed: matches, or removed documents.
            overwrite: Replace the file if it is there.

        Returns:
            The path.

        Raises:
            InputError: The input is gone or has changed, and texts are wanted.
            OutputError: The file exists, or can't be written.
        """
        from neardup.report.page.listed_page import ListedOptions, write_listed_page

        options = ListedOptions(title, texts, max_clusters)
        return write_listed_page(self._listed, path, options, overwrite)
