"""The formats of files, each in a module that is imported by those who read it."""
