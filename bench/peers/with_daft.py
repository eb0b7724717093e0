"""daft: its MinHash expression, bands exploded and grouped, the documents of a bucket joined.

As in daft's own tutorial on Common Crawl, with two steps made faster: a band is grouped by its
hash instead of its list of values, and the connected components come from SciPy instead of
alternating joins. Bands and rows by the tutorial's rule.
"""

import os

from peer import arguments, optimal_bands, write_components

args = arguments()
os.environ["DAFT_PROGRESS_BAR"] = "0"

import daft  # noqa: E402
import numpy as np  # noqa: E402
from daft import col, lit  # noqa: E402
from daft.functions import monotonically_increasing_id, to_list  # noqa: E402

daft.set_runner_native(num_threads=args.threads)
bands, rows = optimal_bands(args.threshold, args.num_hashes)

text = col("text").normalize(
    remove_punct=True, lowercase=True, nfd_unicode=False, white_space=False
)
minhash = text.minhash(num_hashes=args.num_hashes, ngram_size=args.shingle, hash_function="xxhash")
keys = [col("minhash").slice(i * rows, (i + 1) * rows).hash(seed=lit(i)) for i in range(bands)]
corpus = daft.read_parquet(args.input)
buckets = (
    corpus.select(minhash.alias("minhash"))
    .with_column("row", monotonically_increasing_id())
    .select("row", to_list(*keys).alias("key"))
    .explode("key")
    .groupby("key")
    .agg(col("row").list_agg().alias("rows"))
    .where(col("rows").list_count() > 1)
    .select("rows")
    .to_arrow()["rows"]
    .combine_chunks()
)
offsets = buckets.offsets.to_numpy()
members = buckets.flatten().to_numpy().astype(np.int64)
first = np.repeat(members[offsets[:-1]], np.diff(offsets))
write_components(args.output, first, members, corpus.count_rows())
