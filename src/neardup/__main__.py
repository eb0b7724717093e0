"""``python -m neardup``: the command line."""

from neardup.cli.main import main

main()
