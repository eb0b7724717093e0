"""Pages of results, which open in any browser."""
