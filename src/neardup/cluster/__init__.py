"""Kept sets and clusters as functions of the edges only.

Documents are numbers from 0 in keep order: of two similar documents the lower number is kept.
"""
