"""Results of a run, opened again."""
