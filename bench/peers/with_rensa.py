"""rensa: full R-MinHash (not the sampled "rho" path), its LSH, every document queried.

Tokens are white-space words in lower case, as in rensa's README; shingles must be made in
Python, which is most of the work, so documents are spread over processes, if there are several.
"""

import numpy as np
import pyarrow.parquet as pq
from peer import arguments, mapper, write_components
from rensa import RMinHash, RMinHashLSH

BATCH = 2_000


def shingles(text: str, n: int) -> list[str]:
    words = text.lower().split()
    if len(words) < n:
        return [" ".join(words)]
    return list(map(" ".join, zip(*(words[i:] for i in range(n)), strict=False)))


def sketch(job: tuple[list[str], int, int]) -> list[RMinHash]:
    texts, n, num_hashes = job
    return RMinHash.from_token_sets([shingles(t, n) for t in texts], num_hashes, 42)


def nearest_bands(threshold: float, num_hashes: int) -> int:
    """The number of bands, a divisor of `num_hashes`, whose curve is nearest to the threshold."""
    divisors = [b for b in range(2, num_hashes) if num_hashes % b == 0]
    return min(divisors, key=lambda b: abs((1 / b) ** (b / num_hashes) - threshold))


def main() -> None:
    args = arguments()
    texts = pq.read_table(args.input, columns=["text"])["text"].to_pylist()
    jobs = (
        (texts[i : i + BATCH], args.shingle, args.num_hashes) for i in range(0, len(texts), BATCH)
    )
    bands = nearest_bands(args.threshold, args.num_hashes)
    lsh = RMinHashLSH(args.threshold, args.num_hashes, bands)
    sketches = []
    with mapper(args.threads) as imap:
        for batch in imap(sketch, jobs):
            lsh.insert_many(batch, start_key=len(sketches))
            sketches += batch
    left, right = [], []
    for start in range(0, len(sketches), BATCH):
        found = lsh.query_all(sketches[start : start + BATCH])
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        a = np.repeat(np.arange(start, start + len(found)), sizes)
        b = np.fromiter((row for rows in found for row in rows), np.int64, sizes.sum())
        left.append(a[a < b])
        right.append(b[a < b])
    write_components(args.output, np.concatenate(left), np.concatenate(right), len(texts))


if __name__ == "__main__":
    main()
