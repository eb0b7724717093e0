"""Private files, and scratch files for arrays that do not fit into memory."""
