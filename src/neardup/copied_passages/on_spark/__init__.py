"""Copied passages on Apache Spark: the tables of one machine.

Documents are divided into ranges of the keep order. A range is summed up by its distinct runs, and
the ranges before it answer with a row for each: so no task ever has all positions of a run.
"""
