"""The command line: parse, spec, library call, write. The library can do all that it can."""

from neardup.cli.main import main

__all__ = ["main"]
