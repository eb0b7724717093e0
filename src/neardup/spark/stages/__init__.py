"""The steps of a run for Spark's workers: Arrow record batches in, record batches out.

    sketch   texts                   -> doc, hash, tokens, shingles, bitmap, keys
    exact    doc, hash               -> doc, first
    bucket   band, key, doc          -> bucket, docs
    sets     texts                   -> doc, shingles
    resolve  buckets, sets           -> doc, duplicate_of, similarity
    pairs    buckets, sets           -> a, b, similarity
    cluster  edges, sets             -> doc, cluster

Each is a top-level function whose arguments can be pickled, and knows nothing of files, threads of
others or engines. ``doc`` is the number of a document in keep order: of two similar documents the
one with the lower number is kept. Which documents are compared together is decided by
`neardup.spark.stages.candidate_stage`.
"""
