"""Results of a linkage: tables, files, scores, lines of text, a page; the objects of users."""
