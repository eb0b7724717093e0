"""Commands in this process, which is quicker than to start one for each."""

from __future__ import annotations

import contextlib
import io

from neardup.cli import main


def called(*arguments: str) -> tuple[str, str]:
    """What ``neardup`` with these arguments prints (stdout, stderr); it must succeed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as stop:
            assert not stop.code, (arguments, err.getvalue())
    return out.getvalue(), err.getvalue()
