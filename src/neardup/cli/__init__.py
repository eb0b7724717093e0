"""The command line: parse, spec, library call, write. What it can do, a library user can."""

from neardup.cli.main import main

__all__ = ["main"]
