"""Compile all kernels beforehand, as for a container image or before a timed run."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

import neardup
from neardup.api.indexes.index_folders import settings_of
from neardup.api.indexes.index_warming import warm
from neardup.errors import DependencyError
from neardup.files.temporary_folder import temporary_folder
from neardup.spec import preset
from neardup.synth.persons import PersonSpec, persons

_WORDS = [f"word{number}" for number in range(12)]
#: Notes of some 500 bytes.
_NOTES = 2000


class Warmed(NamedTuple):
    """Where compiled kernels are stored, and how many there are."""

    folder: Path
    kernels: int


def warmup() -> Warmed:
    """Run a tiny job of each kind: Numba stores every kernel that later jobs call.

    Numba compiles a kernel when it is first called, and stores it in ``NUMBA_CACHE_DIR`` if that is
    set, else next to the package, or in the cache folder of the user where the package can't be
    written. Takes about a minute on one core where nothing is compiled yet, and a few seconds else.

    Raises:
        OutputError: A temporary folder can't be written.
    """
    with temporary_folder("warmup") as folder:
        _run_all(folder)
    return _stored()


def _run_all(folder: Path) -> None:
    texts = [" ".join(_WORDS[first : first + 9]) for first in (0, 0, 1, 2, 3)]
    texts += ["C++", "C#", "<"]
    rows = [{"id": f"n{number}", "name": text, "text": text} for number, text in enumerate(texts)]
    lines = folder / "texts.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    other = folder / "other.jsonl"
    other.write_text(json.dumps({"text": texts[0]}) + "\n", encoding="utf-8")
    table = folder / "texts.csv"
    table.write_text("id,text\n" + "".join(f'{row["id"]},"{row["text"]}"\n' for row in rows))
    for shingle in ("word:3", "char:3"):
        for cluster in ("star", "bounded", "disjoint-sets", "components"):
            neardup.dedup(lines, shingle=shingle, threshold=0.3, cluster=cluster)
    old = neardup.dedup(table, id="id", out=folder / "old")
    neardup.dedup(lines, spec=neardup.Spec(method="allpairs"), id="id")
    listed = neardup.dedup(lines, preset="clinical", shingle="word:3", threshold=0.3, id="id")
    neardup.against(lines, folder / "old", id="id")
    neardup.against(lines, lines, id="id", spec=neardup.Spec(pairs="all"))
    neardup.against(lines, lines, id="id", old_only=True)
    neardup.decontaminate(lines, against=other, id="id")
    _run_passages(folder)
    records, fields = persons(PersonSpec(300)), ["given_name", "surname", "suburb"]
    for cluster in ("average", "complete"):
        neardup.link(records, id="id", fields=fields, cluster=cluster)
    for cluster in ("star", "components"):
        spec = neardup.Spec(neardup.ShingleSpec(bag=True), pairs="all", cluster=cluster)
        neardup.dedup(lines, id="id", spec=spec)
    stored = neardup.dedup(lines, id="id", out=folder / "stored")
    for run in (old, stored, listed):
        run.explain("n0")
        run.audit()
        with suppress(DependencyError):
            run.report(folder / "report.html", overwrite=True)
    index = neardup.Index.create(folder / "index", threshold=0.3, passages=3)
    index.add_if_new(texts, ids=[row["id"] for row in rows])
    index.query(texts[0])
    index.add(20 * texts[:1], ids=[f"more {number}" for number in range(20)])
    index.compact()
    index.copied(texts[0])
    index.close()
    shingles = [neardup.ShingleSpec(name) for name in ("word:5", "char:5", "item")]
    shingles.append(neardup.ShingleSpec(hash_bytes=4, stop_passages=(texts[0],)))
    specs = [neardup.Spec(shingle=shingle) for shingle in shingles]
    for spec in (*specs, preset("clinical"), neardup.Spec(scheme="oph32")):
        warm(*settings_of(spec, None, None, {}))


def _run_passages(folder: Path) -> None:
    """Find passages in notes with a template, more of them than are looked at together."""
    template = " ".join(f"{word} {word}" for word in _WORDS)
    texts = []
    for number in range(_NOTES):
        words = [f"{number} {word}" for word in _WORDS]
        copied = f"as {number // 3} was noted before {number // 3}" if number % 3 < 2 else ""
        texts.append(" ".join([copied, *words[: 4 + number % 4], template, *words, *words[::2]]))
    columns = {"id": range(_NOTES), "text": texts, "of": [n % 3 for n in range(_NOTES)]}
    notes = folder / "notes.parquet"
    pq.write_table(pa.table(columns), notes)
    neardup.passages(notes, id="id", words=3, out=folder / "passages", cut=True, bridge=2)
    for groups in ("within", "across"):
        options: dict[str, Any] = {groups: "of", "order_by": "text", "boilerplate": 9}
        neardup.passages(notes, id="id", words=3, whole="sentence", cut=True, **options)
    neardup.passages(notes, id="id", words=3, cut=True, drop_above=0.1, keep_sources=True)
    neardup.copied(template, template, words=3)


def _stored() -> Warmed:
    """Return where the kernels are that Numba has stored, and how many files of code."""
    from neardup.kernels.passages import anchoring
    from neardup.kernels.text import tokens

    if not hasattr(tokens.words, "stats"):  # the compiler is switched off
        return Warmed(Path(), 0)
    # Numba has a folder for each folder of modules.
    folders = {kernel.stats.cache_path for kernel in (tokens.words, anchoring.divide)}
    common = Path(os.path.commonpath(folders))
    return Warmed(common, sum(1 for _ in common.rglob("*.nbc")))
