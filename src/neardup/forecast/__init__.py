"""Estimates before a run; never imported by a run."""
