"""What a run found, as tables and files, and what is left of it when it is opened again."""
