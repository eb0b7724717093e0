"""Copied words are cut: which, their replacement, and the records with another text."""
