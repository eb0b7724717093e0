"""Copied words by the sentence deduplication of datatrove: spans of three sentences, hashed.

python with_datatrove.py NOTES.jsonl OUT
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    SentenceDedupFilter,
    SentenceDedupSignature,
    SentenceFindDedups,
)
from datatrove.pipeline.dedup.sentence_dedup import SentDedupConfig
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from passage_peer import arguments, count, texts_of, write


def main() -> None:
    args = arguments()
    config = SentDedupConfig(min_doc_words=0, min_num_sentences=0, only_dedup_in_index=False)
    with tempfile.TemporaryDirectory() as folder:
        read = JsonlReader(str(args.source.parent), glob_pattern=args.source.name)
        signatures, found, clean = (f"{folder}/{name}" for name in ("sigs", "dups", "clean"))
        steps = [
            [read, SentenceDedupSignature(signatures, config=config)],
            [SentenceFindDedups(signatures, found, config=config)],
            [
                read,
                SentenceDedupFilter(found, config=config),
                JsonlWriter(clean, compression=None),
            ],
        ]
        for number, step in enumerate(steps):
            LocalPipelineExecutor(step, logging_dir=f"{folder}/logs{number}").run()
        left = sum(count(text) for path in Path(clean).glob("*") for text in texts_of(path))
    write(args.output, sum(map(count, texts_of(args.source))) - left)


if __name__ == "__main__":
    main()
