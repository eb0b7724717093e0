"""A document with its copied passages, for a terminal."""

from __future__ import annotations

from neardup.inspect.one_document import Part, PassageExplanation, is_of_source, parts_of
from neardup.values.readable import counted, percent
from neardup.values.visible import name, visible

_YELLOW, _GREY, _PLAIN = "\x1b[30;43m", "\x1b[2m", "\x1b[0m"


def render(row: PassageExplanation, colour: bool = False) -> str:
    """Return a document with its passages for a terminal."""
    head = f"{name(row['doc_id'])}: {row['copied_words']:,} of {counted(row['words'], 'word')}"
    lines = [f"{head} copied ({percent(row['copied_share'])})."]
    if row.get("boilerplate_words"):
        lines.append(f"boilerplate  {counted(row['boilerplate_words'], 'word')}")
    if row.get("changed_words"):
        lines.append(f"changed      {counted(row['changed_words'], 'word')} in bridges")
    if row["source_id"] is not None:
        most = f"{counted(row['words_from_source'], 'word')} from {name(row['source_id'])}"
        lines.append(f"most         {most}")
    if not row["kept"]:
        lines.append("left out     not in the clean corpus")
    for number, passage in enumerate(row["passages"], 1):
        there = f"{name(passage['source_id'])} {passage['source_start']}-{passage['source_end']}"
        there += _of_corpus(passage.get("in_old"))
        line = (
            f"[{number}] {passage['start']}-{passage['end']}, {passage['words']:,} words, {there}"
        )
        if not is_of_source(passage) or passage["origin_start"] != passage["source_start"]:
            line += f", first in {name(passage['origin_id'])} {passage['origin_start']}"
            line += _of_corpus(passage.get("origin_in_old"))
        line += f", {passage['kind']}, in {counted(passage['documents'], 'document')}"
        lines.append(line)
    if (text := row.get("text")) is not None:
        lines += [
            "",
            "".join(_marked(part, colour) for part in parts_of(text, row["passages"])),
        ]
    return "\n".join(lines)


def _of_corpus(in_old: bool | None) -> str:
    return " of the old corpus" if in_old else ""


def _marked(part: Part, colour: bool) -> str:
    text = visible(part.text)
    if part.passage < 0 and not part.changed:
        return text
    sign = "changed" if part.changed else str(part.passage + 1)
    if not colour:
        return f"[{sign}:{text}]"
    paint = _GREY if part.changed else _YELLOW
    return "\n".join(line and f"{paint}{line}{_PLAIN}" for line in text.split("\n")) + f"[{sign}]"
