"""Steps of a run that all engines call, on arrays."""
