"""Synthetic notes with known near-duplicates, for first tries and demos."""

from neardup.synth.demo_notes import NoteSpec, write

__all__ = ["NoteSpec", "write"]
