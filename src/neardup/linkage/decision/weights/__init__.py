"""Weights of agreements and disagreements, learnt from the records."""
