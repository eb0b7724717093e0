"""Errors of Spark, Hadoop and the workers as errors of ours: one line, without texts."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from neardup import errors

#: Patterns of their messages, and the error that each becomes.
_KNOWN: dict[str, errors.NeardupError] = {
    r"\[PATH_NOT_FOUND\]": errors.InputNotFoundError("{file}: there is no such file"),
    "CSV header does not conform|number of columns in the CSV header": errors.FormatError(
        "{file}: the header differs from that of another file", "give files with the same header"
    ),
    "MALFORMED_RECORD|MALFORMED_CSV_RECORD|INVALID_JSON_RECORD_TYPE": errors.FormatError(
        "{file}: a record is malformed", "has it all columns, and each quote its end?"
    ),
    r"(?<=\[AMBIGUOUS_REFERENCE\] Reference )\S+|"
    r"(?<=\[COLUMN_ALREADY_EXISTS\] The column )\S+": errors.ColumnError(
        "two columns have the name {found}, but for upper and lower case",
        "rename one, or set spark.sql.caseSensitive to true",
    ),
    r"\[FAILED_READ_FILE|\[UNABLE_TO_INFER_SCHEMA\]": errors.FormatError(
        "{file}: can't be read", "is it damaged, or of another format?"
    ),
    r"(?<=data source: )\w+|(?<=FileSystem for scheme )\S+|"
    r"\w+FileSystem(?= not found)": errors.DependencyError(
        "Spark does not know this format or file system: {found}", "give Spark its jar"
    ),
    r"\[JAVA_GATEWAY_EXITED\]": errors.DependencyError(
        "Java does not start, which Spark needs", "install Java 17, and set JAVA_HOME to it"
    ),
    r"The \w+ datasource doesn't support the column \S+ of the type [^.]+": errors.SpecError(
        "{found}", "give `format` another value"
    ),
    r"Mkdirs failed to create \S+?(?=/_temporary|\s)|Parent path is not a directory: \S+|"
    r"Permission denied|No space left on device": errors.OutputError(
        "the file system refused: {found}", "check the folder, its permissions, and the free space"
    ),
}


#: Messages about the Python of executors if it does not start, or lacks something.
_PYTHON = (
    r"ModuleNotFoundError: No module named '([\w.]+)'|No package metadata was found for (\S+)|"
    r"\[(?:PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION)\] ([^\n]+)|"
    r"\bImportError: ([^\n]+)|(PYTHON_VERSION_MISMATCH)|Cannot run program|"
    r"reading the port number from pyspark|Python worker failed to connect back"
)


@contextmanager
def worker_errors() -> Iterator[None]:
    """Raise an error of ours that a worker raised with its own type, in one line."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:  # some errors of Java are not converted
        text = str(error)
        if known := _known(text):
            raise known from None  # the error of Spark quotes the record
        if found := re.search(r"neardup\.errors\.(\w+): ([^\n]*)(?:\nhint: ([^\n]*))?", text):
            kind = getattr(errors, found[1])
            raise kind(found[2], found[3] or "") from error
        if found := re.search(_PYTHON, text):
            raise _not_usable(next(filter(None, found.groups()), "")) from None  # not Java's trace
        raise


def _not_usable(found: str) -> errors.DependencyError:
    """Return an error of the Python of executors, of which something was found to be missing."""
    session = SparkSession.getActiveSession()
    python = "python3" if session is None else session.sparkContext.pythonExec
    if found == "PYTHON_VERSION_MISMATCH":
        message = "Python has another version on an executor"
    elif re.fullmatch(r"[\w.]+", found):
        message = f"{found} is not installed on an executor"
    else:
        message = f"Python can't be used on an executor: {found or 'it does not start'}"
    return errors.DependencyError(
        message,
        f"set PYSPARK_PYTHON, here {python}, to a Python with neardup[spark] of the same versions "
        "on all machines",
    )


def _known(text: str) -> errors.NeardupError | None:
    """Return an error of Spark as one of ours, without the text of a record."""
    file = re.search(r"(?m)(?:reading file|CSV file:|does not exist:) (.+?)(?=\. |\.?\s*$)", text)
    name = file[1] if file else "the input"
    for pattern, known in _KNOWN.items():
        if found := re.search(pattern, text):
            return type(known)(known.message.format(file=name, found=found[0]), known.hint)
    return None
