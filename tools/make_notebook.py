"""Run docs/notebook.ipynb from its first cell to its last, and store what the cells show."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"


def executed() -> nbformat.NotebookNode:
    """Return the notebook with fresh outputs; an error in a cell is raised."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = []
    done = NotebookClient(notebook, timeout=120, record_timing=False).execute()
    for cell in done.cells:
        # Nothing but what the last expression of a cell shows.
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.output_type == "execute_result"]
    return done


if __name__ == "__main__":
    made = executed()
    made.metadata.pop("language_info", None)
    nbformat.write(made, NOTEBOOK)
