"""Finished runs: opened, shown, and their tables."""
