"""Commands for a persistent index."""
