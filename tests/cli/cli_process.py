"""How the tests start a real process."""

import sys

NEARDUP = [sys.executable, "-c", "from neardup.cli import main; main()"]
