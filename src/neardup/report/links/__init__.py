"""A linkage as it is shown: in lines of text, and as a page."""
