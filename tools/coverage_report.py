"""Print which branches the tests took, and fail below a share: ``coverage_report.py 92``.

Tests kill processes; the data of one that was killed while it wrote them can't be read. `coverage
combine` gives up then, and here they are left out, and counted.
"""

from __future__ import annotations

import sys
from pathlib import Path

import coverage


def main(least: float) -> int:
    """Return 1 where less than ``least`` percent are covered."""
    report = coverage.Coverage()
    found, unreadable = report.get_data(), 0
    for path in sorted(Path().glob(".coverage.*")):
        try:
            data = coverage.CoverageData(str(path))
            data.read()
            coverage.CoverageData(no_disk=True).update(data)  # an error leaves nothing behind
        except coverage.exceptions.CoverageException:
            unreadable += 1
        else:
            found.update(data)
        path.unlink()
    total = report.report(show_missing=True)
    print(f"{total:.1f} %; the data of {unreadable} processes that were killed could not be read")
    return int(total < least)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
