"""Writing results: tables, the clean corpus, the record."""
