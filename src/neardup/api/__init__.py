"""Public functions and classes: typed, documented, thin."""
