"""An index on the disk: segments, their transactions and checks."""
