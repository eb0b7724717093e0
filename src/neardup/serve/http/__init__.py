"""The processes that answer: HTTP, and questions to the index."""
