"""The commands that write an output folder, each once."""

from importlib import import_module
from typing import Any, NamedTuple


class Parts(NamedTuple):
    """Where the parts of a command are, which are imported when they are needed.

    Attributes:
        run: Module and class of its results.
        record: Module and class of the members of its record.
        on_spark: The same where Spark did it; none of a command that it does not do.
    """

    run: str
    record: str
    on_spark: str = ""


_SCHEMA = "neardup.result_record.schema"
_DEDUP = "neardup.api.finished.runs:DedupRun"
#: By the name in the record.
COMMANDS = {
    "dedup": Parts(_DEDUP, f"{_SCHEMA}:DedupRecord", f"{_SCHEMA}:SparkRecord"),
    "recluster": Parts(_DEDUP, f"{_SCHEMA}:ReclusterRecord"),
    "dedup --against": Parts("neardup.api.against:AgainstRun", f"{_SCHEMA}:AgainstRecord"),
    "passages": Parts(
        "neardup.api.copying:PassagesRun",
        f"{_SCHEMA}:PassageRecord",
        f"{_SCHEMA}:SparkPassageRecord",
    ),
    "decontaminate": Parts(
        "neardup.api.decontaminating:DecontaminateRun", f"{_SCHEMA}:ContainRecord"
    ),
    "link": Parts("neardup.api.finished.link_runs:LinkRun", f"{_SCHEMA}:LinkRecord"),
}


def imported(name: str) -> Any:
    """Return a class by its module and name.

    >>> imported("neardup.errors:SpecError").__name__
    'SpecError'
    """
    module, _, of_module = name.partition(":")
    return getattr(import_module(module), of_module)
