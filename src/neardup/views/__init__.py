"""Results for readers: texts for a terminal, and one page for a browser."""
