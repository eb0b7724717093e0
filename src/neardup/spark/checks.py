"""What is refused before the work: columns, ids, and more ids than machines can hold."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from neardup.errors import ColumnError, DuplicateIdError, InputError, SpecError
from neardup.spec import Spec

_IDS = ("string", "bigint", "int", "smallint", "tinyint")
_RESULT = ("cluster", "kept", "duplicate_of", "similarity")
#: Bytes of an id that is sent to all machines, in memory; and what Spark can send.
_ID_BYTES, _MOST_SENT = 100, 8 << 30
#: Numbers as text, which are ordered as numbers, as one machine does.
_NUMBER = r"(?i)^([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|nan)\z"
#: A column of such numbers.
BEST = "neardup: best"


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
    """Raise ColumnError for columns that are not there, or of another type, SpecError for items."""
    if spec.shingle.unit == "item":
        hint = "run neardup dedup on one machine"
        raise SpecError("Apache Spark compares texts here, and the shingle is item", hint)
    types = dict(df.dtypes)
    for setting, name in {"text": text, "id": id, "keep": kept_by(spec) or id}.items():
        if name not in types:
            message = f"`{setting}` is {name!r}, and there is no such column"
            raise ColumnError(message, f"there are {', '.join(types) or 'none'}")
    if types[text] != "string":
        raise ColumnError(f"column {text!r} is of type {types[text]}; expected string")
    if types[id] not in _IDS:
        raise ColumnError(f"column {id!r} is of type {types[id]}; expected string or whole numbers")
    if id.lower() in _RESULT:
        message = f"`id` is {id!r}, which is also a column of the result"
        raise ColumnError(message, "give the column of the ids another name")
    if types[name].startswith(("array", "map", "struct", "variant")):
        raise ColumnError(f"column {name!r} of type {types[name]} can't be ordered")


class Ids(NamedTuple):
    """What is known of the ids."""

    documents: int
    numeric: bool  # all of them are whole numbers as text
    digest: int  # hash of them, and of the other columns that the result depends on


def check_ids(df: DataFrame, id: str, others: Iterable[str] = ()) -> Ids:
    """Make sure that every document has an id of its own, of an order that both engines have.

    Raises DuplicateIdError, InputError, or ColumnError.
    """
    hashed = f.bit_xor(f.xxhash64(column(id), *map(column, others)))
    groups = df.groupBy(column(id).alias("id")).agg(f.count("*").alias("n"), hashed.alias("hash"))
    text, size = f.col("id").cast("string"), f.length("id")
    tests = map(f.bool_and, (_whole(text), text.rlike(_NUMBER), text.rlike(r"^[0-9]+\z")))
    found = ["sum(n)", "min(if(n > 1, id, null))", "count_if(id is null)", "bit_xor(hash)"]
    columns = *map(f.expr, found), *tests, f.min(size) == f.max(size)
    documents, doubled, nulls, digest, numeric, number, digits, even = groups.agg(*columns).first()
    if not documents:
        raise InputError("the input holds no documents", "is this the right table?")
    hint = "give a column in which each value is there once"
    if nulls:
        raise DuplicateIdError(f"a document has no id in column {id!r}", hint)
    if doubled is not None:
        message = f"two documents have the id {str(doubled)[:40]!r} in column {id!r}"
        raise DuplicateIdError(f"{message}; ids must be unique", hint)
    if number and not (numeric or (digits and even)):  # digits of one length are in order as text
        raise ColumnError(
            f"column {id!r} holds numbers as text, with fractions, signs, exponents, or zeros "
            "before them, or beyond 64 bits: they would be ordered otherwise than on one machine",
            "write them as whole numbers, or with as many digits each, or put a letter before each",
        )
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
        raise SpecError(
            f"the ids of {documents:,} documents that share a bucket take {needed:,} bytes on each "
            f"machine; expected {most:,} or fewer, half of the smallest heap",
            "raise spark.driver.memory and spark.executor.memory, or `documents`, for more rows",
        )
