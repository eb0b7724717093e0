"""Have the kernels compiled that tests call, before several processes compile them at once.

python tests/all_kernels.py
"""

from __future__ import annotations

import gc
import io
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stdout

import neardup
from neardup.cli import main

__all__ = ["compile_all"]

TEXTS = ["some text to begin with", "and another"]
#: Commands of which each calls kernels that no other calls.
COMMANDS = {
    "texts": """
        synth -n 300 -o notes.jsonl --quiet
        dedup notes.jsonl -o out --id id --shingle char:5 --cluster bounded --quiet
        dedup notes.jsonl -o in-csv --id id --format csv --quiet
        dedup in-csv/clean -o from-csv --id id --scheme oph32 --quiet
        index create index --passages 5
        index add index notes.jsonl --id id --quiet
        index copied index notes.jsonl
        """,
    "passages": """
        synth -n 200 --kind copy-forward -o notes.jsonl --quiet
        passages notes.jsonl -o out --id id --words 5 --within patient --bridge 2 --quiet
        passages notes.jsonl -o apart --id id --words 5 --across patient --boilerplate 3 --quiet
        synth --kind persons -n 300 -o persons.csv --quiet
        link persons.csv -o linked --id id --fields given_name,surname,birth:digits,suburb --quiet
        """,
}


def compile_all() -> None:
    """Compile what runs call, unless it is on disk already."""
    for shingle in ("word:5", "char:5"):
        neardup.dedup(TEXTS, shingle=shingle, cluster="bounded")


def compile_more(kind: str) -> None:
    """Compile what the commands of a list call."""
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(said):
        for line in COMMANDS[kind].strip().splitlines():
            main(line.split())


if __name__ == "__main__":
    gc.disable()  # the compiler makes millions of objects: to look for cycles takes a tenth
    if len(sys.argv) > 1:
        compile_more(sys.argv[1])
    else:
        every = [subprocess.Popen([sys.executable, __file__, kind]) for kind in COMMANDS]
        sys.exit(max(one.wait() for one in every))
