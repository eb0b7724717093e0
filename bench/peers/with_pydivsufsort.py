"""Copied words by a suffix array of words, in memory: no source is named.

    python with_pydivsufsort.py NOTES.jsonl OUT --words 25

Words are those of a plain pattern, in lower case. A word is copied if it is in a run that occurs
earlier: the smallest position among the suffixes with so many equal words is another one.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
import pydivsufsort


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("output")
    parser.add_argument("--words", type=int, default=25)
    args = parser.parse_args()
    numbers: dict[str, int] = {}
    parts, ends = [], [0]
    with Path(args.source).open(encoding="utf-8") as lines:
        for document, line in enumerate(lines):
            words = re.findall(r"\w+", json.loads(line)["text"].lower())
            ids = [numbers.setdefault(word, len(numbers)) for word in words]
            parts.append(np.array([*ids, -1 - document], np.int64))
            ends.append(ends[-1] + len(words) + 1)
    text = np.concatenate(parts)
    text[text < 0] = len(numbers) - 1 - text[text < 0]  # an end of its own for each document
    array = pydivsufsort.divsufsort(text.astype(np.int64))
    common = pydivsufsort.kasai(text.astype(np.int64), array)
    group = np.zeros(len(array), np.int64)
    group[1:] = np.cumsum(common[:-1] < args.words)
    first = np.full(int(group[-1]) + 1, len(text), np.int64)
    np.minimum.at(first, group, array)
    repeated = np.zeros(len(text) + 1, np.int64)
    starts = array[first[group] < array]
    np.add.at(repeated, starts, 1)
    np.add.at(repeated, np.minimum(starts + args.words, len(text)), -1)
    copied = np.cumsum(repeated[:-1]) > 0
    Path(args.output).write_text(json.dumps({"copied_words": int(copied.sum())}))


if __name__ == "__main__":
    main()
