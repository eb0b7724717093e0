"""A data card of a corpus: sources, the steps of a pipeline, and how they were done."""

from __future__ import annotations

import html
import itertools
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.copied_passages.passage_spec import ContainSpec, CutSpec, PassageSpec
from neardup.errors import ColumnError, InputError
from neardup.frame.inputs import Input, changed
from neardup.frame.run import Run
from neardup.frame.storage import SOURCE
from neardup.inspect.audit import stored_audit
from neardup.io.source import Partition
from neardup.options.option_groups import Reading
from neardup.output.clean import CLEAN
from neardup.results.results import Results
from neardup.sketch.texts import text_buffers
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec, Spec
from neardup.values.readable import counted, day, percent, share
from neardup.views.page.run_words import shingle_options
from neardup.views.text.methods_text import methods_of

#: Sizes of Hugging Face, each with the documents below which it ends.
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
    (1_000_000_000, "100M<n<1B"),
)
_MORE = "n>1B"
#: Values of a column that are named; the others are one row.
_VALUES = 100
_OTHER = "other"
_SUMS = ("documents", "words", "bytes")
#: What stands in a command for a corpus without a name.
_NAMELESS = ("INPUT", "OLD", "TEST")
_READING = {name: value for name, value in asdict(Reading()).items() if name != "private_ids"}


def require_texts(run: Run[Any]) -> None:
    """Raise InputError unless a data card can be made of a result."""
    if run.command == "link" or "engine" in run.summary:
        what = "records" if run.command == "link" else "Apache Spark, which has read the input"
        raise InputError(
            f"{run._storage.name} is a result of {what}; a data card is of texts",
            "leave it out; it has a page, by `report`",
        )


def card_of(runs: Sequence[Run[Any]], by: str | None = None) -> dict[str, Any]:
    """Return the data card of a corpus that went through some steps, as JSON values.

    The input of the first step and the clean corpus of the last one are read again.

    Args:
        runs: Their results, in order: each has read the clean corpus of the one before.
        by: A column of both; numbers are given for each of its values too.

    Raises:
        ColumnError: There is no such column.
        InputError: The order is another one; an input is gone, or has changed.
    """
    for before, run in itertools.pairwise(runs):
        _require_order(before, run, runs)
    first, last = _measured(*_before(runs[0]), by), _measured(*_after(runs[-1]), by)
    kept, there = runs[-1].summary["counts"]["kept"], int(last[None][0])
    if kept != there:
        raise changed(runs[-1]._storage.name, runs[-1]._storage.again, "its clean corpus")
    if by is not None and first[None][0] and not {*first, *last} - {None, ""}:
        raise ColumnError(f"no document has a value in a column {by!r}", "name another column")
    private = any(run.summary.get("private_ids") for run in runs)
    every = [methods_of(run.summary) for run in runs]
    references = list(dict.fromkeys(of for one in every for of in one.references))
    text = " ".join(one.numbered(references) for one in every)
    return {
        "inputs": [str(path) for path in runs[0].summary["source"]["given"]]
        if runs[0].summary.get("source")
        else [],
        "by": by,
        "sources": _sources(first, last, f"{by} " if private else None),
        "steps": [_step(run) for run in runs],
        "methods": text,
        "references": references,
    }


def _require_order(before: Run[Any], run: Run[Any], runs: Sequence[Run[Any]]) -> None:
    """Refuse a run that has not read the clean corpus of the one before."""
    if before.path is None or not run._storage.read_from:
        return
    name = run._storage.name
    given = [os.path.realpath(os.fspath(path)) for path in run._storage.read_from]

    def reads(other: Run[Any]) -> bool:
        folder = os.path.realpath(other.path or "")
        return all(os.path.commonpath([folder, path]) == folder for path in given)

    if reads(before):
        return
    of = next((other for other in runs if other.path and other is not run and reads(other)), None)
    hint = "name the steps of one pipeline, in order"
    if of is not None:
        hint = f"name {of._storage.name} before it: it reads that one's clean corpus"
    raise InputError(f"{name} has not read the clean corpus of {before._storage.name}", hint)


def _before(run: Run[Any]) -> tuple[Input, np.ndarray | None]:
    return run._storage.corpus(SOURCE), None


def _after(run: Run[Any]) -> tuple[Input, np.ndarray | None]:
    """Return the clean corpus of a run, or its input, and which documents of it are kept."""
    if run._storage.has(CLEAN):
        return run._storage.corpus(CLEAN), None
    return run._storage.corpus(SOURCE), getattr(run, "keep_mask", None)


def _measured(corpus: Input, kept: np.ndarray | None, by: str | None) -> dict[Any, np.ndarray]:
    """Return int64[3], documents, words and bytes, by the value of a column; None is all."""
    words = Tokeniser(ShingleSpec(n=1, signs="none"))
    names = () if by is None else (by,)

    def read(partition: Partition, rows: np.ndarray, count: int) -> dict[Any, np.ndarray]:
        documents = partition.read(names)
        sums = np.ones((len(documents.text), 3), np.int64)
        data, offsets = words.normalise(documents.text)
        found = words.tokens(data, offsets)[0]
        sums[:, 1] = np.diff(found.offsets)
        sums[:, 2] = np.diff(text_buffers(documents.text)[1])
        every: dict[Any, np.ndarray] = {None: sums[rows].sum(axis=0)}
        if by is not None:
            column: Any = documents.columns.column(by).combine_chunks().cast(pa.large_string())
            coded = column.dictionary_encode()
            codes = np.asarray(coded.indices.fill_null(len(coded.dictionary)))[rows]
            values = [*coded.dictionary.to_pylist(), ""]
            for code in np.unique(codes).tolist():
                every[values[code]] = sums[rows][codes == code].sum(axis=0)
        return every

    found: dict[Any, np.ndarray] = {None: np.zeros(3, np.int64)}
    rows = np.arange(corpus.documents) if kept is None else np.flatnonzero(kept)
    for part in corpus.at(rows).visit(read):
        for value, sums in part.items():
            found[value] = found.get(value, np.zeros(3, np.int64)) + sums
    return found


def _sources(
    first: Mapping[Any, np.ndarray], last: Mapping[Any, np.ndarray], secret: str | None
) -> list[dict[str, Any]]:
    """Return the numbers before and after, of all documents, then of each value."""
    values = sorted({*first, *last} - {None}, key=lambda value: (-_documents(first, value), value))
    none = np.zeros(3, np.int64)
    rows: list[tuple[str | None, list[Any]]] = [(None, [None])]
    rows += [
        (f"{secret}{number}" if secret else value, [value])
        for number, value in enumerate(values[:_VALUES], 1)
    ]
    rows += [(_OTHER, values[_VALUES:])] if values[_VALUES:] else []
    return [
        {
            "source": name,
            **{
                when: dict(
                    zip(_SUMS, sum((of.get(v, none) for v in group), none).tolist(), strict=True)
                )
                for when, of in (("before", first), ("after", last))
            },
        }
        for name, group in rows
    ]


def _documents(first: Mapping[Any, np.ndarray], value: Any) -> int:
    return int(first[value][0]) if value in first else 0


def _step(run: Run[Any]) -> dict[str, Any]:
    record = run.summary
    counts, bands = record["counts"], record.get("bands")
    removed = {"documents": counts.get("removed", counts.get("dropped", 0))}
    for name in ("same", "equal_words", "contaminated", "cut_words", "copied_words"):
        if name in counts:
            removed[name] = counts[name]
    if "equal_words" in counts:
        removed["near"] = removed["documents"] - counts["same"] - counts["equal_words"]
    line = _line(record, str(run._storage.name))
    notes = [
        f"{name} in the command has no name: it was in memory, a pipe, or several files"
        for name in _NAMELESS
        if name in line.split()
    ]
    return {
        "command": record["command"],
        "name": name_of(run),
        "date": record["date"],
        "documents": counts["documents"],
        "kept": counts["kept"],
        "removed": removed,
        "recall": {"predicted": 1.0 if bands is None else bands["predicted_recall"], **_audit(run)},
        "settings": record.get("settings") or {**record["spec"], **record.get("cut", {})},
        "recipe_digest": record.get("recipe_digest"),
        "versions": record["versions"],
        "line": line,
        "notes": [*run.notes, *notes],
    }


def name_of(run: Run[Any]) -> str:
    """Return the name of a run, without its folder."""
    return str(run._storage.name).rstrip("/").rpartition("/")[2]


def _audit(run: Run[Any]) -> dict[str, float]:
    """Return the recall that an audit of a run has measured, and its interval."""
    about = stored_audit(Results(run._storage)) if run.command in ("dedup", "recluster") else None
    if not about or about["recall"] is None:
        return {}
    return {"audited": about["recall"], "low": about["recall_low"], "high": about["recall_high"]}


def _line(record: Mapping[str, Any], out: str) -> str:
    """Return a command that makes the same result."""
    command, source = record["command"], record.get("source") or {}
    name = "dedup" if command == "recluster" else command.split()[0]  # of the input, too
    words = ["neardup", name, *map(shlex.quote, source.get("given", ["INPUT"]))]
    words += _options({name: source.get(name) for name in _READING}, _READING)
    if command == "passages":
        if record["counts"]["old_documents"]:
            words += _old(record["against"], source, source.get("input_format"))
        defaults = asdict(PassageSpec()) | asdict(CutSpec()) | {"by": None}
        words += _options({**record["spec"], **record["cut"]}, defaults)
    elif command == "decontaminate":
        settings = dict(record["settings"])
        items = record["test_source"]
        for file in items["given"] or ["TEST"]:
            words += ["--against", shlex.quote(file)]
        other = {"text": source.get("text", ["text"]), "input_format": source.get("input_format")}
        for option in _options(items | {"given": None}, other):
            words.append(f"--test-{option.removeprefix('--')}")
        defaults = asdict(ContainSpec()) | {"shingle": "word:5"}
        if settings["by"] == "passage":
            settings |= {"passage": int(settings["shingle"].partition(":")[2])}
            settings |= {name: defaults[name] for name in ("by", "threshold", "shingle")}
        words += _options(settings, {**asdict(ShingleSpec()), **defaults})
    elif command == "dedup --against" and record["old"]["kind"] != "corpus":  # its settings apply
        path = (record["old"]["path"] or "OLD").removeprefix(f"{source.get('directory')}{os.sep}")
        words += ["--against", shlex.quote(path), *["--old-only"] * record["old_only"]]
    else:
        if command == "dedup --against":
            words += _old(record["old"]["source"], source, None)
            words += ["--old-only"] * record["old_only"]
        if record["spec"]["shingle"] != Spec().as_dict()["shingle"]:
            words.append(shingle_options(Spec.from_dict(dict(record["spec"])).shingle))
        words += _options({**record["spec"], "shingle": None}, Spec().as_dict())
    return " ".join([*words, "-o", shlex.quote(out)])


def _old(old: Mapping[str, Any] | None, new: Mapping[str, Any], format: str | None) -> list[str]:
    """Return the options for an old corpus of files; it is read as the new one by default."""
    given: list[str] = old["given"] if old else []
    words = ["--against", shlex.quote(given[0]) if len(given) == 1 else "OLD"]
    if old:
        read = {name: old[name] for name in ("text", "id", "delimiter", "input_format")}
        other = {"text": ["text"], **new, "input_format": format}
        words += (f"--old-{one.removeprefix('--')}" for one in _options(read, other))
    return words


def _options(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options of the command line for values that are none of the defaults."""
    for name, value in values.items():
        default = defaults.get(name)
        if value == default or value is None or _listed(value) == _listed(default):
            continue
        option = f"--{name.removeprefix('num_').replace('_', '-')}"
        if value is True:
            yield option
        elif name == "text":
            yield f"{option} {shlex.quote(','.join(value))}"
        else:
            yield from (f"{option} {shlex.quote(str(one))}" for one in _listed(value))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def markdown(card: Mapping[str, Any], title: str) -> str:
    """Return a data card as Markdown, with the head of a dataset card of Hugging Face."""
    documents = card["sources"][0]["after"]["documents"]
    size = next((name for least, name in _SIZES if documents < least), _MORE)
    head = ["---", f"pretty_name: {json.dumps(title)}", "size_categories:", f"- {size}"]
    head += ["tags:", "- deduplicated", "- neardup", "---", ""]
    body = [f"# {_plain(title)}", "", _summary(card), "", "## Sources", ""]
    body += [*_table_of_sources(card), "", "## Steps", "", *_table_of_steps(card), ""]
    body += ["## How it was made", "", _plain(card["methods"]), ""]
    body += [f"{n}. {_plain(of)}" for n, of in enumerate(card["references"], 1)]
    body += ["", "## Settings", ""]
    for step in card["steps"]:
        body += [f"**{_plain(step['name'])}**, {_plain(_about(step))}", ""]
        body += ["```sh", step["line"].replace("\n", " ").replace("```", "` ` `"), "```", ""]
        body += [f"* {_plain(note)}" for note in step["notes"]]
    return "\n".join([*head, *body]).rstrip() + "\n"


def _summary(card: Mapping[str, Any]) -> str:
    total = card["sources"][0]
    before, after = total["before"], total["after"]
    names = ", ".join(f"`{name}`" for name in card["inputs"]) or "a frame"
    left = share(after["words"], before["words"])
    return _plain(
        f"{counted(after['documents'], 'document')} of {after['words']:,} words, which are {left} "
        f"of the words of {counted(before['documents'], 'document')} of {names}."
    )


def _table_of_sources(card: Mapping[str, Any]) -> Iterator[str]:
    heads = [card["by"] or "source"]
    heads += [f"{name} {when}" for name in _SUMS for when in ("before", "after")]
    yield from _heads(heads)
    for row in card["sources"]:
        name = "all" if row["source"] is None else row["source"] or "no value"
        cells = [f"{row[when][of]:,}" for of in _SUMS for when in ("before", "after")]
        yield f"| {_plain(name)} | {' | '.join(cells)} |"


def _table_of_steps(card: Mapping[str, Any]) -> Iterator[str]:
    yield from _heads(["step", "documents", "kept", "removed", "cut words", "recall"])
    for step in card["steps"]:
        removed, recall = step["removed"], step["recall"]
        says = f"{removed['documents']:,}"
        if "near" in removed:
            exact = removed["same"] + removed["equal_words"]
            says += f": {exact:,} exact, {removed['near']:,} near-duplicates"
        elif removed.get("contaminated"):
            says += f"; {removed['contaminated']:,} have a test item"
        found = f"{percent(recall['predicted'])} at the threshold, predicted"
        found = "all" if recall["predicted"] == 1 else found
        if "audited" in recall:
            found = f"{percent(recall['audited'])}, audited"
        cells = [f"{step['documents']:,}", f"{step['kept']:,}", says]
        cells += [f"{removed.get('cut_words', 0):,}", found]
        yield f"| {step['command']} | {' | '.join(cells)} |"


def _about(step: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in step["versions"].items())
    says = f"{day(step['date'])}, with {versions}"
    return says + (f"; recipe {step['recipe_digest'][:12]}" if step["recipe_digest"] else "")


def _heads(names: Sequence[str]) -> Iterator[str]:
    yield f"| {' | '.join(map(_plain, names))} |"
    yield f"|---|{'--:|' * (len(names) - 1)}"


def _plain(text: str) -> str:
    """Return a text in one line, in which nothing is HTML or ends a cell."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "\\|")
