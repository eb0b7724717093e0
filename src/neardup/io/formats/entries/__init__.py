"""Files of entries, citations and contacts: each entry is some lines of text with named fields."""
