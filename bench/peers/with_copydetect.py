"""Copied words by copydetect: each text with each earlier one.

    python with_copydetect.py NOTES.jsonl OUT --words 25

It knows characters without white space, not words: six for each word of a run are guaranteed.
"""

from __future__ import annotations

import io

from copydetect import CodeFingerprint, compare_files
from passage_peer import arguments, texts_of, words_within, write


def main() -> None:
    args = arguments()
    size = 6 * args.words
    gram = size // 2
    texts = texts_of(args.source)
    prints = [
        CodeFingerprint(f"{i}.txt", gram, size - gram + 1, filter=False, fp=io.StringIO(text))
        for i, text in enumerate(texts)
    ]
    copied = 0
    for i, text in enumerate(texts):
        spans: list[tuple[int, int]] = []
        for other in prints[:i]:
            _, _, slices = compare_files(prints[i], other)
            spans += zip(*slices[0].tolist(), strict=True) if len(slices[0]) else ()
        copied += words_within(text, spans)
    write(args.output, copied)


if __name__ == "__main__":
    main()
