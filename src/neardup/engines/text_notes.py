"""Notes on files whose documents have no text."""

from collections.abc import Iterable, Sequence

from neardup.io.source import SourceFile

_NAMED = 3  # files


def text_notes(
    files: Sequence[SourceFile], partitions: Iterable[tuple[int, int, int]], name: str = ""
) -> list[str]:
    """Return a note for each of the first files without a text, or one for all.

    Args:
        files: Of the source.
        partitions: File, documents and documents without text of each partition.
        name: Of the corpus, where there is another one.
    """
    documents: dict[int, int] = {}
    missing: dict[int, int] = {}
    for file, count, without in partitions:
        documents[file] = documents.get(file, 0) + count
        missing[file] = missing.get(file, 0) + without
    total, of = sum(documents.values()), f" of the {name}" if name else ""
    if total and sum(missing.values()) == total:
        return [f"none of the {total:,} documents{of} has a text"]
    # A partition of plain texts has several files.
    known = [n for n in sorted(documents) if n >= 0 and files[n].format != "text"]
    without = [n for n in known if documents[n] and missing[n] == documents[n]]
    notes = [
        f"{files[n].path}: none of its {documents[n]:,} documents has a text"
        if documents[n] > 1
        else f"{files[n].path}: its document has no text"
        for n in without[:_NAMED]
    ]
    if more := len(without) - _NAMED if len(without) > _NAMED else 0:
        notes.append(f"{more:,} more {'files have' if more > 1 else 'file has'} no text either")
    return notes
