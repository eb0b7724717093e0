"""The frame of all commands: their options, how a source is read, and their results."""
