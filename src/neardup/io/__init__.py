"""The only package that knows formats: files and frames as Arrow batches of documents, and back.

`opening.open_source` gives a `source.Source`; its partitions are cut in order by one thread and
read by many. `outputs` and `writers` write the records of the documents that are kept.
"""
