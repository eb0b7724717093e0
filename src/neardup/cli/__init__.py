"""The command line: parse, spec, library call, write. What it can do, a library user can."""

from __future__ import annotations

from neardup.cli.main import main

__all__ = ["main"]
