"""What a person reads of a run: texts for a terminal, and one page for a browser."""
