"""text-dedup: its own MinHash program with its documented configuration, in process.

It reads, tokenises, hashes, clusters and saves by itself. Its check of false positives is left
at the default (off): it compares all pairs of a cluster in Python and does not end on families
of thousands. It exposes clusters, no pairs.
"""

import os
import pickle
import tempfile
from pathlib import Path

from peer import arguments, write_clusters

CONFIG = """
[input]
input_type = "local_files"
file_type = "parquet"
[input.read_arguments]
path = "parquet"
data_files = "{input}"
split = "train"
cache_dir = "{work}/cache"
[algorithm]
algorithm_name = "minhash"
text_column = "text"
num_perm = {args.num_hashes}
threshold = {args.threshold}
ngram_size = {args.shingle}
num_proc = {args.threads}
[output]
output_dir = "{work}/output"
save_clusters = true
[debug]
enable_profiling = false
"""


def run(work: Path) -> None:
    args = arguments()
    os.environ["POLARS_MAX_THREADS"] = str(args.threads)
    os.environ["HF_HOME"] = str(work)
    os.environ["HF_HUB_OFFLINE"] = "1"

    import numpy as np
    import pyarrow.parquet as pq
    from text_dedup.config.base import load_config_from_toml
    from text_dedup.minhash import main

    toml = work / "config.toml"
    toml.write_text(CONFIG.format(args=args, work=work, input=Path(args.input).resolve()))
    main(load_config_from_toml(toml))
    with (work / "output" / "clusters.pickle").open("rb") as file:
        found = pickle.load(file)
    cluster = np.arange(pq.read_metadata(args.input).num_rows)
    labels = np.fromiter(found.values(), np.int64, len(found))
    cluster[np.fromiter(found.keys(), np.int64, len(found))] = labels + len(cluster)
    write_clusters(args.output, cluster)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))
