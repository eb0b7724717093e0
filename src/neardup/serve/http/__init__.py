"""The processes that answer: HTTP, and what is only read from the index."""
