"""gaoya: insert all documents in bulk, then query them all, as in its own example notebook.

gaoya tokenises (white space), shingles, hashes, and keeps the candidates whose estimated
similarity reaches the threshold; it returns documents, not clusters. Its examples give bands and
rows, so here they follow the rule used for the other peers: its own choice for 0.7 (32 bands of
4) is slower. Of its containers, "set" is the fastest on big buckets.
"""

import os

from peer import arguments, optimal_bands, write_components

args = arguments()
os.environ["RAYON_NUM_THREADS"] = str(args.threads)

import numpy as np  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from gaoya.minhash import MinHashStringIndex  # noqa: E402

BATCH = 10_000

texts = pq.read_table(args.input, columns=["text"])["text"].to_pylist()
bands, rows = optimal_bands(args.threshold, args.num_hashes)
index = MinHashStringIndex(
    hash_size=32,
    jaccard_threshold=args.threshold,
    num_bands=bands,
    band_size=rows,
    analyzer="word",
    lowercase=True,
    ngram_range=(args.shingle, args.shingle),
    id_container="set",
)
left, right = [], []
for start in range(0, len(texts), BATCH):
    batch = texts[start : start + BATCH]
    index.par_bulk_insert_docs(list(range(start, start + len(batch))), batch)
for start in range(0, len(texts), BATCH):
    found = index.par_bulk_query(texts[start : start + BATCH])
    sizes = np.fromiter(map(len, found), np.int64, len(found))
    left.append(np.repeat(np.arange(start, start + len(found)), sizes))
    right.append(np.fromiter((row for rows in found for row in rows), np.int64, sizes.sum()))
    keep = left[-1] < right[-1]
    left[-1], right[-1] = left[-1][keep], right[-1][keep]
write_components(args.output, np.concatenate(left), np.concatenate(right), len(texts))
