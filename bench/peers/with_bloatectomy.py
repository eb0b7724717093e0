"""Copied words by bloatectomy: sentences and lines of all notes in one text, in memory.

python with_bloatectomy.py NOTES.jsonl OUT
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile

sys.version = "3.9"  # it reads 3.10 and later as 3.1, and refuses them

from bloatectomy import bloatectomy  # noqa: E402
from passage_peer import arguments, count, texts_of, write  # noqa: E402


def main() -> None:
    args = arguments()
    text = "\n".join(texts_of(args.source))
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        found = bloatectomy(text, path=f"{folder}/", style="remov", output="html")
    write(args.output, count(text) - sum(map(count, found.tokens)))


if __name__ == "__main__":
    main()
