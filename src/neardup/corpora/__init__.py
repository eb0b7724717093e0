"""A corpus against an old corpus or an index."""
