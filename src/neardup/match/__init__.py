"""Buckets to pairs, pairs to exact similarities and to answers: kept, or a duplicate of which."""
