"""Texts to tokens, shingles, signatures and band keys; how many bands of how many rows."""
