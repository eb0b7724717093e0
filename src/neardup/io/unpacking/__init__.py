"""From the bytes of a file to its text as UTF-8: its kind, decompressed, out of archives."""
