"""Notes on files whose documents have no text."""

from collections.abc import Iterable, Sequence

from neardup.io.source import Source, SourceFile

_ONE_TEXT = "one plain text is one document"
#: The remedy where lines were meant.
IF_LINES = "if each line is a document: `input_format`='lines'"
_NAMED = 3  # files


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def one_text(source: Source) -> str:
    """Return the note on a source that is one plain text; empty for another."""
    is_one = source.format == "text" and len(source.files) == 1
    return f"{source.files[0].path}: {_ONE_TEXT}" if is_one else ""


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
    for file, count, empty in partitions:
        documents[file] = documents.get(file, 0) + count
        missing[file] = missing.get(file, 0) + empty
    total, of = sum(documents.values()), f" of the {name}" if name else ""
    if total and sum(missing.values()) == total:
        return [f"none of the {_counted(total, 'document')}{of} has a text"]
    # A partition of plain texts has several files.
    known = [n for n in sorted(documents) if n >= 0 and files[n].format != "text"]
    without = [n for n in known if documents[n] and missing[n] == documents[n]]
    notes = [
        f"{files[n].path}: none of its {_counted(documents[n], 'document')} has a text"
        for n in without[:_NAMED]
    ]
    if len(without) > _NAMED:
        notes.append(f"{_counted(len(without) - _NAMED, 'more file')} without any text")
    return notes
