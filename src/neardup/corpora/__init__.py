"""A corpus against an old corpus, an index or test items."""
