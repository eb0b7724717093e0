"""Which runs of words occur earlier: two passes over the texts, that can be resumed."""
