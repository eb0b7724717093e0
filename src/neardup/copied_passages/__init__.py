"""Copied passages: which runs of words occur earlier, and where."""
