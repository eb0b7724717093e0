"""Calls of an index that another process serves, as if it was here."""
