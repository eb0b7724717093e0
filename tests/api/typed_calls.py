"""Calls that mypy checks with the package: right ones, and wrong ones with the error of each.

An error that is not raised any more is one too: strict mypy refuses comments that ignore none.
"""

from __future__ import annotations

import neardup
from neardup import Reading, Resources, Writing


def right(texts: list[str], index: neardup.Index, run: neardup.DedupRun) -> None:
    """Calls with options, and with groups of them."""
    reading = Reading(text=["title", "body"], id="id", max_document="1MB")
    resources = Resources(memory="4GB", threads=2, progress=False)
    neardup.dedup(texts, threshold=0.8, memory="4GB", out="out", format="csv", keep_run=True)
    neardup.dedup(texts, reading=reading, resources=resources, writing=Writing(out="out"))
    neardup.against(texts, texts, old_text="body", old_reading=reading, removed=True)
    neardup.passages(texts, words=25, skip_large=True, old_id="id", resume=True)
    neardup.decontaminate(texts, texts, test_text="item", removed=True, resources=resources)
    neardup.plan(texts, delimiter=";", private_ids=True, memory=10**9)
    neardup.sketch_corpus(texts, store="sqlite:keys", run="a", shard="1/2")
    neardup.link({"a": texts}, fields="a", id="id", encoding_errors="replace", out="out")
    neardup.blocks({"a": texts}, fields="a", out="pairs.csv", overwrite=True)
    neardup.save_signatures(texts, "file", id="id", overwrite=True)
    index.add(texts, ids=[1], input_format="jsonl", reading=None or reading)
    index.query(texts, top=3, text="body", encoding_errors="replace")
    run.audit(sample=10, memory="1GB", resources=resources)
    run.recluster("out", threshold=0.9, annotate=True, threads=1)
    run.evaluate("truth.csv", delimiter=";", reading=reading)


def wrong(texts: list[str], index: neardup.Index, run: neardup.DedupRun) -> None:
    """Options that are not there, or not of this type."""
    neardup.dedup(texts, memory=4.5)  # type: ignore[arg-type]
    neardup.dedup(texts, treshold=0.8)  # type: ignore[call-arg]
    neardup.dedup(texts, reading=Resources())  # type: ignore[arg-type]
    neardup.against(texts, texts, keep_run=True)  # type: ignore[call-arg]
    neardup.passages(texts, word=3)  # type: ignore[call-arg]
    neardup.passages(texts, store="sqlite:keys")  # type: ignore[call-arg]
    neardup.decontaminate(texts, texts, keep_run=True)  # type: ignore[call-arg]
    neardup.plan(texts, out="out")  # type: ignore[call-arg]
    neardup.link({"a": texts}, fields="a", text="a")  # type: ignore[call-arg]
    neardup.save_signatures(texts, "file", private_ids="yes")  # type: ignore[arg-type]
    index.add(texts, threads=2)  # type: ignore[call-arg]
    index.query(texts, skip_large=1.5)  # type: ignore[arg-type]
    run.audit(out="out")  # type: ignore[call-arg]
    run.evaluate("truth.csv", text="a")  # type: ignore[call-arg]
    Reading(texts="a")  # type: ignore[call-arg]
