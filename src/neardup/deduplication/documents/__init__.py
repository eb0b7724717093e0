"""Documents of a run: metadata, ids, and the order in which they are kept."""
