"""The calls of other packages, for code that was written for them."""
