"""Bounds of work: how much is done together, and from which size on a way of doing it pays.

None changes a result; tests compare results with bounds chosen at random. `TUNING` has
those of this process. They are no options: whoever runs neardup gives it memory and threads.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class Tuning:
    """Numbers that were measured, each with its unit; times are in seconds.

    Kernels have constants of their own, which are compiled into them. (Members of the class, and no
    fields: a class with so many fields takes 4 ms to make.)
    """

    __slots__ = ()

    # Sources.

    #: Bytes of a partition of a source, at most, and at least.
    partition_bytes: int = 8 << 20
    smallest_partition: int = 1 << 20
    #: Partitions that a source has if they do not get too small: enough for all threads.
    few_partitions: int = 32
    #: Bytes of a source from which on a system may have no cache for it.
    cached_source: int = 1 << 30
    #: Partitions in a row group of Parquet from which on it is sliced, and not decoded at once.
    sliced_partitions: int = 8
    #: Bytes of columns of Parquet, encoded, that are decoded at once.
    small_columns: int = 16 << 20
    #: Bytes of the values, by the mean, of rows whose indices are read at once.
    looked_up_bytes: int = 32 << 20
    #: Slices that wait for the thread that wants them.
    waiting_slices: int = 16

    # Files that are written.

    #: Bytes that are gathered for a direct write; smaller files go through the cache.
    direct_bytes: int = 4 << 20
    #: Bytes of the source that one output file covers, where the source is one file.
    output_bytes: int = 512 << 20
    #: The same of a small source in a format whose files are compressed by one thread each: at most
    #: four parts, which threads share, none of them smaller than this.
    packed_bytes: int = 16 << 20
    #: Rows of a table that are written together.
    table_rows: int = 1 << 17

    # State between steps.

    #: Bytes of an array from which on it may be a file; others are counted with working memory.
    scratch_bytes: int = 1 << 20
    #: Bytes of a row of a table of blobs: they stay in the cache until they are written.
    blob_bytes: int = 8 << 20
    #: Bytes of a row of Cassandra, far below half a commit log segment (16 MiB).
    cassandra_row: int = 1 << 20
    #: Bytes, and rows, of a page of an answer of Cassandra.
    cassandra_page: int = 4 << 20
    cassandra_page_rows: int = 10_000

    # Memory.

    #: Share of the memory above the minimum that documents are cached in, which are not read again.
    cached_share: float = 0.25
    #: Bytes that each thread takes which searches a usual partition for passages.
    searching_bytes: int = 45_000_000

    # Texts to sketches.

    #: Bytes of text that go through all steps together: intermediate arrays stay in the cache of
    #: the processor.
    text_bytes: int = 256 << 10
    #: Bytes of a large document that go together, and those that are searched for a space behind.
    large_text: int = 1 << 20
    near_bytes: int = 4096
    #: Occurrences of sequences that a kernel returns at once, besides one for each sequence.
    sequence_hits: int = 1 << 14
    #: Entries of signatures that are made at a time.
    signature_entries: int = 1 << 20

    # Pairs of documents.

    #: Documents that are compared with those before them at the same time; and the same where
    #: buckets are large: documents of one batch are compared by one thread.
    resolved_documents: int = 4096
    resolved_in_large: int = 512
    #: Pairs that are kept together.
    kept_pairs: int = 1 << 18
    #: Members from which on a bucket counts as large.
    large_bucket: int = 64
    #: Kept documents of a bucket from which on an index searches them for very large sets; and
    #: from which on it may take less time than to look at each bitmap.
    indexed_bucket: int = 1024
    full_bucket: int = 16_384
    #: A bitmap is of use for two sets that may differ in up to this share of its bits.
    clear_share: float = 0.3
    #: Documents whose rarest shingles are found together, and about how many shingles these have.
    ranked_documents: int = 4096
    ranked_shingles: int = 1 << 23
    #: Members of a family that are counted for an index: a shingle that is rare among so many is
    #: rare.
    counted_members: int = 8192
    #: Costs of a visit to a document in a chain, and of adding one, in comparisons of a bitmap, of
    #: some 2 ns each.
    visit_cost: float = 8
    adding_cost: float = 8000
    #: Of a shingle that such a share of the queries have, and so many of them, a row of bytes is
    #: quicker than a list.
    dense_share: float = 1 / 16
    dense_queries: int = 32
    #: Pairs that an exact search reports at a time, or a pair for each query.
    reported_pairs: int = 1 << 17

    # Clusters.

    #: Edges that are looked at together; while they are sorted, each takes about 60 bytes.
    edges: int = 1 << 21
    #: Pairs of roots that are remembered as refused.
    refused_roots: int = 1 << 18
    #: Buckets whose documents are united together.
    united_buckets: int = 1 << 16

    # Passages.

    #: Parts of the free memory that rows of a kind may take before they go to files, and that
    #: arrays as large as the corpus may. Rows of two kinds are there at a time.
    spill_share: int = 6
    scratch_share: int = 6
    #: Bytes that a part of a spill should have, as a few are in memory at the same time; the share
    #: of less than 1 GB of memory that it is; and parts, at most.
    spill_part: int = 12 << 20
    spill_part_share: int = 80
    spill_parts: int = 1024
    #: Rows of a part that are sorted at once, at most.
    sorted_rows: int = 1 << 21
    #: Steps in which the disk of rows is given back.
    freeing_steps: int = 16
    #: Words of records for each word of bits by hash: a hash has two of them.
    words_of_records: int = 32
    #: Segments of repeated runs that a thread looks at together.
    run_segments: int = 1 << 16
    #: Seconds of a first pass that is repeated: to store it would take up to a tenth of the run.
    repeated_pass: float = 5.0

    # Linkage.

    #: Records that a thread prepares at a time.
    prepared_records: int = 4096

    # Index.

    #: Documents of the log from which on they become a segment; and of a batch, which is one at
    #: once.
    logged_documents: int = 16_384
    batched_documents: int = 4096
    #: The same of keys of copied passages.
    logged_keys: int = 1 << 18
    batched_keys: int = 1 << 17
    #: Documents that are sketched and inserted at a time, and those of a thread.
    inserted_documents: int = 10_000
    sketched_documents: int = 512
    #: Rows whose candidates are looked up together, and about how many candidates that may be.
    looked_up_rows: int = 512
    looked_up_candidates: int = 1 << 20
    #: Documents whose sizes and bitmaps are kept in memory, of 72 bytes each.
    known_bitmaps: int = 1 << 19
    #: Texts whose copied passages are looked for together, and those of a thread at a time.
    copied_texts: int = 256
    copied_texts_of_thread: int = 16
    #: Of a new index: documents that have an anchor from which on its runs are entered; and see
    #: `RunLength.part`: a third costs a sixth fewer keys than a half, and answers take no longer.
    frequent_anchor: int = 16
    run_part: int = 3

    # Spark.

    #: Ranges from which on half as many comparisons as their square take long.
    many_ranges: int = 200
    #: Tables of answers that are put into one.
    joined_tables: int = 16

    # Estimates.

    #: Bytes of a source below which all partitions are known in no time.
    small_source: int = 64 << 20
    #: Seconds in which a source is read to choose documents; and documents, at most.
    looked_seconds: float = 7.0
    looked_documents: int = 5_000_000
    #: Documents, bytes of text, and partitions that are sampled, at most.
    sampled_documents: int = 20_000
    sampled_text: int = 64 << 20
    sampled_partitions: int = 24
    #: Documents of one smallest shingle in a sample, at most.
    sampled_alike: int = 100
    #: Documents that are compared first; and shingles to go through while pairs of more of them are
    #: compared: some ten seconds of one core.
    compared_documents: int = 1000
    compared_shingles: int = 2_000_000_000

    # Progress and reports.

    #: Seconds of comparing after which a run estimates how long it takes, and from which on it says
    #: so.
    estimate_after: float = 5.0
    long_run: float = 120.0
    #: Seconds after which a notebook shows a bar.
    bar_after: float = 1.0
    #: Bytes of a page for the ids of documents that it does not show.
    page_ids: int = 16_000_000
    #: Cells of the table of an alignment, a bit each; larger ones are cut.
    aligned_cells: int = 1 << 30

    # What numbers can express: what needs more is refused.

    #: Buckets of all bands together, and entries of an index of rarest shingles: int32.
    most_buckets: int = 2**31 - 1
    most_entries: int = 2**31 - 1
    #: Documents of an index: uint32, of which the last means none.
    most_documents: int = 2**32 - 1

    @contextmanager
    def replaced(self, **bounds: float) -> Iterator[None]:
        """Have other bounds in this process, all its threads included, until the context ends.

        Objects that are made in the context may keep them.

        Raises:
            TypeError: There is no such bound.
        """
        if unknown := bounds.keys() - type(self).__annotations__.keys():
            raise TypeError(f"no bounds: {', '.join(sorted(unknown))}")
        before = {name: getattr(self, name) for name in bounds}
        try:
            for name, bound in bounds.items():
                setattr(type(self), name, bound)
            yield
        finally:
            for name, bound in before.items():
                setattr(type(self), name, bound)


#: The bounds of this process.
TUNING = Tuning()
