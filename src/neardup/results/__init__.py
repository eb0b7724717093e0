"""What a run found, opened again."""
