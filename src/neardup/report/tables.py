"""Tables of plain text."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["aligned"]


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 0) -> str:
    """Return the rows below their heads, columns two blanks apart.

    Args:
        heads: One for each column.
        rows: Cells; each row has as many as there are heads.
        left: How many of the first columns are set flush left; the others are set flush right.
    """
    lines = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
