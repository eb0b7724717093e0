"""Whole corpora against an index, a run or test items."""
