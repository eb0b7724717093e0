"""Records that stay, on the persistent index, and new records that are linked against them."""
