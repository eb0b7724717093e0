"""Which pairs are one record: seeds, agreement, match weights, probabilities, clusters."""
