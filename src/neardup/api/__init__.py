"""What users call: typed, documented, thin."""
