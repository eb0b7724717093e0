"""The persistent index: documents, their keys in sorted segments, and exact answers about them."""
