"""Which documents contain a test item, or a passage of it."""
