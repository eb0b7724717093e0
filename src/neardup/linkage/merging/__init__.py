"""Merged records: one for each cluster, of the values of its records."""
