"""The index behind HTTP: one process that writes, several that answer."""
