"""What is refused before the work, and the checkpoint that a job continues from."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from neardup import errors
from neardup.json_values import differences
from neardup.spec import Spec

_IDS = ("string", "bigint", "int", "smallint", "tinyint")
_RESULT = ("cluster", "kept", "duplicate_of", "similarity")
#: Bytes of an id that is sent to all machines, in memory; and what Spark can send.
_ID_BYTES, _MOST_SENT = 100, 8 << 30
#: Numbers as text, which are ordered as numbers, as one machine does.
_NUMBER = r"(?i)^([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|nan)\z"
#: A column of such numbers.
BEST = "neardup: best"
#: What Spark and Hadoop say, and what it means.
_KNOWN: tuple[tuple[str, type[errors.NeardupError], str, str], ...] = (
    (r"\[PATH_NOT_FOUND\]", errors.InputNotFoundError, "{file}: there is no such file", ""),
    (
        "CSV header does not conform|number of columns in the CSV header",
        errors.FormatError,
        "{file}: the header differs from that of another file",
        "give files that have the same columns in the same order",
    ),
    (
        "MALFORMED_RECORD|MALFORMED_CSV_RECORD",
        errors.FormatError,
        "{file}: a record is malformed",
        "see if each record has all columns, and each quote its end",
    ),
    (
        r"\[FAILED_READ_FILE|\[UNABLE_TO_INFER_SCHEMA\]",
        errors.FormatError,
        "{file}: can't be read",
        "is it damaged, or of another format?",
    ),
    (
        r"(?<=data source: )\w+|(?<=FileSystem for scheme )\S+|\w+FileSystem(?= not found)",
        errors.DependencyError,
        "Spark does not know this format or file system: {found}",
        "give Spark its jar",
    ),
    (
        r"The \w+ datasource doesn't support the column \S+ of the type [^.]+",
        errors.SpecError,
        "{found}",
        "give `format` another value",
    ),
    (
        r"Mkdirs failed to create \S+?(?=/_temporary|\s)|Parent path is not a directory: \S+|"
        "Permission denied|No space left on device",
        errors.OutputError,
        "the file system refused: {found}",
        "check the folder, its permissions, and the free space",
    ),
)


@contextmanager
def worker_errors() -> Iterator[None]:
    """Raise an error of ours that a worker raised as what it is, in one line."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:  # some errors of Java are not converted
        text = str(error)
        if known := _known(text):
            raise known from None  # the error of Spark quotes the record
        if found := re.search(r"neardup\.errors\.(\w+): ([^\n]*)(?:\nhint: ([^\n]*))?", text):
            kind = getattr(errors, found[1])
            raise kind(found[2], found[3] or "") from error
        if "No module named" in text or "PYTHON_VERSION_MISMATCH" in text:
            missing = re.search(r"No module named '([\w.]+)'", text)
            what = f"{missing[1]} is not installed" if missing else "Python has another version"
            hint = "install neardup with the same versions on all machines"
            raise errors.DependencyError(f"{what} on an executor", hint) from error
        raise


def _known(text: str) -> errors.NeardupError | None:
    """Return an error of Spark as one of ours, without the text of a record."""
    named = re.search(r"(?:reading file|CSV file:|does not exist:) (\S+?)\.?(?=\s|$)", text)
    for pattern, kind, message, hint in _KNOWN:
        if found := re.search(pattern, text):
            file = named[1] if named else "the input"
            return kind(message.format(file=file, found=found[0]), hint)
    return None


def column(name: str) -> Column:
    """Return a column by its name, which may have a dot in it."""
    return f.col(f"`{name.replace('`', '``')}`")


def _whole(values: Column) -> Column:
    """Whether texts are whole numbers of 64 bits, as they are written, or null."""
    return values.try_cast("bigint").cast("string").eqNullSafe(values)


def kept_by(spec: Spec) -> str:
    """Return the column that decides what is kept; empty where none does."""
    return spec.keep.partition(":")[2]


def check_columns(df: DataFrame, text: str, id: str, spec: Spec) -> None:
    """Raise ColumnError for columns that are not there, or of another type."""
    types = dict(df.dtypes)
    for setting, name in {"text": text, "id": id, "keep": kept_by(spec) or id}.items():
        if name not in types:
            message = f"`{setting}` is {name!r}, and there is no such column"
            raise errors.ColumnError(message, f"there are {', '.join(types)}")
    if types[text] != "string":
        raise errors.ColumnError(f"column {text!r} is of type {types[text]}; expected string")
    if types[id] not in _IDS:
        raise errors.ColumnError(
            f"column {id!r} is of type {types[id]}; expected string or whole numbers"
        )
    if id.lower() in _RESULT:
        message = f"`id` is {id!r}, which is also a column of the result"
        raise errors.ColumnError(message, "give the column of the ids another name")
    if types[name].startswith(("array", "map", "struct", "variant")):
        raise errors.ColumnError(f"column {name!r} of type {types[name]} can't be ordered")


class Ids(NamedTuple):
    """What is known of the ids."""

    documents: int
    numeric: bool  # all of them are whole numbers as text
    digest: int  # hash of them, and of the other columns that the result depends on


def check_ids(df: DataFrame, id: str, others: Iterable[str] = ()) -> Ids:
    """Make sure that every document has an id of its own; or raise DuplicateIdError, InputError."""
    hashed = f.bit_xor(f.xxhash64(column(id), *map(column, others)))
    groups = df.groupBy(column(id).alias("id")).agg(f.count("*").alias("n"), hashed.alias("hash"))
    whole = f.bool_and(_whole(f.col("id").cast("string")))
    found = ["sum(n)", "min(if(n > 1, id, null))", "count_if(id is null)", "bit_xor(hash)"]
    documents, doubled, nulls, digest, numeric = groups.agg(*map(f.expr, found), whole).first()
    if not documents:
        raise errors.InputError("the input holds no documents", "is this the right table?")
    hint = "give a column in which each value is there once"
    if nulls:
        raise errors.DuplicateIdError(f"a document has no id in column {id!r}", hint)
    if doubled is not None:
        message = f"two documents have the id {str(doubled)[:40]!r} in column {id!r}"
        raise errors.DuplicateIdError(f"{message}; ids must be unique", hint)
    return Ids(documents, bool(numeric) and dict(df.dtypes)[id] == "string", digest)


def as_numbers(df: DataFrame, name: str) -> DataFrame:
    """Add a column of text as one of numbers if all of its values are; CSV has no others."""
    if not name or dict(df.dtypes)[name] != "string":
        return df
    tests = _whole(column(name)), column(name).rlike(_NUMBER)
    whole, number = df.agg(*map(f.bool_and, tests)).first()
    kind = "bigint" if whole else "double" if number else "string"
    return df.withColumn(BEST, column(name).cast(kind))


def check_sent(spark: SparkSession, documents: int) -> None:
    """Raise SpecError if the ids of so many documents do not fit into all machines."""
    context: Any = spark.sparkContext
    memory = context._jvm.java.lang.Runtime.getRuntime().maxMemory()
    if not context._jsc.isLocal():
        memory = min(memory, context._jsc.sc().executorMemory() << 20)
    needed, most = documents * _ID_BYTES, min(memory // 2, _MOST_SENT)
    if needed > most:
        raise errors.SpecError(
            f"the ids of {documents:,} documents that share a bucket take {needed:,} bytes on each "
            f"machine; expected {most:,} or fewer, half of the smallest heap",
            "raise spark.driver.memory and spark.executor.memory, or `documents`, for more rows",
        )


def hadoop_file(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return a path of any file system that Spark knows, and that file system."""
    context: Any = spark.sparkContext
    name = context._jvm.org.apache.hadoop.fs.Path(path)
    return name, name.getFileSystem(context._jsc.hadoopConfiguration())


class Checkpoint(NamedTuple):
    """Where the tables of finished stages are; without a folder Spark keeps them while it runs."""

    df: DataFrame
    folder: str | None

    def begin(self, about: dict[str, Any], ids: Ids) -> None:
        """Write down what the job is; raise ResumeError if that is not the one that was begun."""
        if self.folder is None:
            return
        about |= {"input": {"documents": ids.documents, "hash": ids.digest}}
        path, session = f"{self.folder}/about", self.df.sparkSession
        if not self._done(path):
            lines = session.createDataFrame([(json.dumps(about),)], "value string")
            lines.coalesce(1).write.mode("overwrite").text(path)
        stored = json.loads(session.read.text(path).collect()[0][0])
        if found := differences(stored, json.loads(json.dumps(about))):
            message = f"{self.folder}: the checkpoint has other settings or inputs: {found}"
            raise errors.ResumeError(message, "use the same as before, or another `checkpoint`")

    def stage(self, name: str, make: Callable[[], DataFrame], final: bool = False) -> DataFrame:
        """Return the table of a stage, which is not run again if it is stored.

        Without a folder, a final one can't be recomputed if an executor is lost. But its plan does
        not hold those of all stages before, which would double with each round.
        """
        if self.folder is None and final:
            return make().localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
        if self.folder is None:
            (made := make().persist(StorageLevel.DISK_ONLY)).count()
            return made
        path = f"{self.folder}/{name}"
        if not self._done(path):
            make().write.mode("overwrite").parquet(path)
        return self.df.sparkSession.read.parquet(path)

    def _done(self, path: str) -> bool:
        name, system = hadoop_file(self.df.sparkSession, f"{path}/_SUCCESS")
        return bool(system.exists(name))
