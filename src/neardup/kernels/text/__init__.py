"""Kernels from characters to signatures."""
