"""The frame of all commands: their options, and how a source is read by them."""
