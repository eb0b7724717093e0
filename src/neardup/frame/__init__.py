"""The frame of all commands: a request is executed, its result is stored, opened and shown."""
