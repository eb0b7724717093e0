"""Copied words by copyforward, exactly: characters that an earlier text has, in memory.

    python with_copyforward.py NOTES.jsonl OUT --words 25

It knows characters, not words: a reference of at least seven characters for each word of a run.
"""

from __future__ import annotations

import copyforward
from passage_peer import arguments, texts_of, words_within, write


def main() -> None:
    args = arguments()
    texts = texts_of(args.source)
    found = copyforward.CopyForwardText.from_texts(
        texts, exact_mode=True, min_match_len=7 * args.words
    )
    copied = 0
    for text, segments in zip(texts, found.segments(), strict=True):
        at, spans = 0, []
        for segment in segments:
            size = len(segment.text) if hasattr(segment, "text") else segment.len
            if not hasattr(segment, "text"):
                spans.append((at, at + size))
            at += size
        copied += words_within(text, spans)
    write(args.output, copied)


if __name__ == "__main__":
    main()
