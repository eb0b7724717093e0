"""What a linkage found: tables, files, scores, lines of text, a page; the objects of users."""
