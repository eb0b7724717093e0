"""What a person reads of a run: texts for a terminal, charts, and one page for a browser."""
