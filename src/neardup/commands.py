"""The commands that write an output folder, each once; options that a command does not take."""

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


_RECORDS = "neardup.result_record"
_OF_DEDUP, _OF_PASSAGES = f"{_RECORDS}.dedup_record", f"{_RECORDS}.passages_record"
_DEDUP = "neardup.api.finished.runs:DedupRun"
#: By the name in the record.
COMMANDS = {
    "dedup": Parts(_DEDUP, f"{_OF_DEDUP}:DedupRecord", f"{_OF_DEDUP}:SparkRecord"),
    "recluster": Parts(_DEDUP, f"{_OF_DEDUP}:ReclusterRecord"),
    "dedup --against": Parts("neardup.api.against:AgainstRun", f"{_OF_DEDUP}:AgainstRecord"),
    "passages": Parts(
        "neardup.api.copying:PassagesRun",
        f"{_OF_PASSAGES}:PassageRecord",
        f"{_OF_PASSAGES}:SparkPassageRecord",
    ),
    "decontaminate": Parts(
        "neardup.api.decontaminating:DecontaminateRun", f"{_RECORDS}.contain_record:ContainRecord"
    ),
    "link": Parts("neardup.api.finished.link_runs:LinkRun", f"{_RECORDS}.link_record:LinkRecord"),
}


#: Options, by their arguments, that some commands do not take though others do, and why.
NOT_TAKEN = (
    ("nfkc strip_accents keep_case", "link, blocks", "records have one form of characters"),
    ("join_hyphens", "link, blocks", "values of records have no line ends"),
    ("signs", "link, blocks", "values are compared by their characters"),
    ("signs", "passages", "passages are runs of words"),
    (
        "only_same",
        "plan, against, index, stream, passages, decontaminate, link, blocks, spark, compare",
        "only dedup can leave out just the documents of equal bytes",
    ),
    ("within", "decontaminate", "test items have no group"),
    ("within", "compare", "two texts have no group"),
    ("within", "link, blocks", "name the column among the fields"),
    (
        "boilerplate",
        "plan, against, index, stream, decontaminate, link, blocks, compare",
        "dedup and passages find it, and write it for `stop_passages`",
    ),
    (
        "ttl expire expires",
        "index, stream, link",
        "nothing expires: remove the ids that your data has before a date with index remove",
    ),
    (
        "encoding escape skip_bad delimiter sheet header_row encoding_errors skip_large",
        "spark",
        "Spark reads the files",
    ),
    ("escape skip_bad", "compare", "a file is one text, without records"),
    ("encoding escape skip_bad", "stream", "each line of JSON, in UTF-8, has an answer"),
    (
        "nfkc strip_accents keep_case join_hyphens signs within",
        "index add, index update, index query, index copied, stream",
        "an index has the settings that it was made with",
    ),
    (
        "nfkc strip_accents keep_case join_hyphens signs only_same within boilerplate encoding "
        "escape skip_bad",
        "audit",
        "the run has its settings, and its input is read again with them",
    ),
)


def why_not(command: str, option: str) -> str:
    """Return why a command does not take an option; empty where that is not known.

    Args:
        command: As on the command line, or a function, such as ``Index.add``.
        option: The argument.

    >>> why_not("decontaminate", "within")
    'no `within` here: test items have no group'
    """
    words = f" {command.lower().replace('.', ' ')} "
    for options, commands, why in NOT_TAKEN:
        if option in options.split() and any(f" {name} " in words for name in commands.split(", ")):
            return f"no `{option}` here: {why}"
    return ""


def imported(name: str) -> Any:
    """Return a class by its module and name.

    >>> imported("neardup.errors:SpecError").__name__
    'SpecError'
    """
    module, _, of_module = name.partition(":")
    return getattr(import_module(module), of_module)
