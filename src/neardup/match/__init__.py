"""Buckets to pairs, pairs to exact similarities, and what is a duplicate of what."""
