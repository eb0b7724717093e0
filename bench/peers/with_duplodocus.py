"""duplodocus: its command `minhash-memory`, which removes and writes; no clusters, no pairs.

The command needs a folder of JSON lines. Bands and rows as for the other peers. It is not in a
package registry: setup_peers.py builds it from its repository, where that can be reached.
"""

import os
import subprocess
import tempfile
from pathlib import Path

from peer import arguments, optimal_bands

args = arguments()
bands, rows = optimal_bands(args.threshold, args.num_hashes)
binary = Path(__file__).parents[1] / ".venvs/duplodocus/bin/duplodocus"
with tempfile.TemporaryDirectory(dir=args.output.parent) as name:
    notes = Path(name, "in")
    notes.mkdir()
    os.link(args.input, notes / Path(args.input).name)
    options = {
        "input-dir": notes,
        "storage-dir": Path(name, "work"),
        "output-dir": Path(name, "out"),
        "num-buckets": bands,
        "bucket-size": rows,
        "ngram-size": args.shingle,
        "tokenizer": "uniseg",
        "remove-duplicates": "true",
    }
    words = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
    command = [str(binary), "--threads", str(args.threads), "minhash-memory", *words]
    subprocess.run([*command, "--cleanup-storage"], check=True)
