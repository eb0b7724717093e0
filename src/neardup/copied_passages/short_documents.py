"""Notes on documents that are too short to have passages."""

from __future__ import annotations

from neardup.values.readable import having


def short_notes(words: int, longest: int | None, short: int, equal: int) -> list[str]:
    """Return notes of a run.

    Args:
        words: Words of the shortest run.
        longest: Words of the longest document; None without documents.
        short: Documents that are shorter than a run.
        equal: How many of these equal another one before them.
    """
    if longest is None:
        return ["the input has no documents"]
    if not short:
        return []
    if longest < words:
        note = f"no document has {words} words; none can have a copied passage"
    else:
        note = f"{having(short, 'document')} fewer than {words} words; such are never copied"
    if equal:
        verb = "equals" if equal == 1 else "equal"
        note += f"; {equal:,} of them {verb} another one: neardup dedup finds such"
    return [note]
