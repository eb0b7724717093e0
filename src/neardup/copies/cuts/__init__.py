"""Copied words are cut: which, what takes their place, and the records with another text."""
