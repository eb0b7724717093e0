"""Values for people and files: numbers in words, JSON, intervals."""
