"""What every command promises, and what one has not: also for the table in ``docs/running.md``."""

from __future__ import annotations

#: The promises, by cell, as the table says them.
CELLS = {
    "memory": "the same answer in memory",
    "folder": "output folder, opened again",
    "url": "output at a URL",
    "resume_killed": "continues after a kill",
    "resume_complete": "done already: nothing runs",
    "overwrite": "`--overwrite`",
    "foreign": "your files in the folder stay",
    "chdir": "another working directory",
    "pickle_folder": "pickled, in a folder",
    "pickle_memory": "pickled, in memory",
    "threads": "two at the same time",
    "stages": "seconds by stage, and progress",
    "private_ids": "private ids",
}
#: What a command has not, by cell: the command and the reason.
LACKS: dict[str, dict[str, str]] = {}
#: What `neardup spark` has not, by cell, and the reason.
_FRAMES = "the function has DataFrames, which Spark writes"
SPARK_LACKS = {
    "memory": _FRAMES,
    "folder": _FRAMES,
    "url": "Spark writes to folders that it reaches, and not through the stores of this package",
    "resume_killed": "the driver continues with `--checkpoint`",
    "pickle_memory": _FRAMES,
    "threads": _FRAMES,
    "stages": "seconds are in the record; progress is that of Spark's own page",
}
