"""Which pairs of records are worth a comparison."""
