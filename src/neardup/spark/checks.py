"""Checks before the work: columns, ids, and more ids than fit into memory."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from neardup.errors import ColumnError, DuplicateIdError, SpecError
from neardup.spark.spark_ordering import INTEGER_TYPES, column, is_canonical, is_number
from neardup.spec import Spec

#: Of unsigned numbers of 64 bits in Parquet, Spark makes decimals.
_IDS = re.compile(r"string|bigint|int|smallint|tinyint|decimal\(\d+,0\)")
_GROUPS = re.compile(rf"{_IDS.pattern}|boolean|date|timestamp.*|void")
_RESULT = ("cluster", "kept", "duplicate_of", "similarity")
#: Bytes of an id that is sent to all machines, in memory; and the limit of Spark for all.
_ID_BYTES, _MOST_SENT = 100, 8 << 30


def check_columns(df: DataFrame, text: str, id: str, spec: Spec) -> None:
    """Raise ColumnError for columns that are not there, or of another type, SpecError for items."""
    if spec.shingle.unit == "item":
        hint = "run neardup dedup on one machine"
        raise SpecError("Apache Spark compares texts here, and the shingle is item", hint)
    check_types(df, text, id, {"keep": spec.keep_column} if spec.keep_column else {})
    if spec.within is not None:
        check_group(df, "within", spec.within)
    if id.lower() in _RESULT:
        message = f"`id` is {id!r}, which is also a column of the result"
        raise ColumnError(message, "give the column of the ids another name")


def check_types(df: DataFrame, text: str, id: str, ordered: Mapping[str, str]) -> None:
    """Raise ColumnError for columns that are not there, or of another type.

    ``ordered`` are other columns, by settings, whose values are compared.
    """
    types = dict(df.dtypes)
    for setting, name in {"text": text, "id": id, **ordered}.items():
        if name not in types:
            message = f"`{setting}` is {name!r}, and there is no such column"
            raise ColumnError(message, f"there are {', '.join(types) or 'none'}")
    if types[text] != "string":
        # Spark gives the type void, or double for NaN, to a column without a value.
        hint = "cast it to string; NaN becomes text by that, so replace it by null before"
        raise ColumnError(f"column {text!r} is of type {types[text]}; expected string", hint)
    if not _IDS.fullmatch(types[id]):
        raise ColumnError(f"column {id!r} is of type {types[id]}; expected string or integers")
    for name in ordered.values():
        if types[name].startswith(("array", "map", "struct", "variant")):
            raise ColumnError(f"column {name!r} of type {types[name]} can't be ordered")


def check_group(df: DataFrame, setting: str, name: str) -> None:
    """Raise ColumnError for a column of groups that is not there, or of a type that forms none."""
    types = dict(df.dtypes)
    if name not in types:
        message = f"`{setting}` is {name!r}, and there is no such column"
        raise ColumnError(message, f"there are {', '.join(types) or 'none'}")
    if not _GROUPS.fullmatch(types[name]):
        message = f"column {name!r} has values of type {types[name]}, which form no groups"
        raise ColumnError(message, "cast it to integers or text")


def check_same_types(df: DataFrame, old: DataFrame, names: Iterable[str]) -> None:
    """Raise ColumnError for columns whose types differ in an old corpus."""
    for name in names:
        mine, kind = dict(df.dtypes)[name], dict(old.dtypes)[name]
        if mine != kind:
            message = f"column {name!r} is of type {mine}, and of type {kind} in `against`"
            raise ColumnError(message, "give both the same type")


def with_columns(df: DataFrame, text: str, id: str, kind: str = "string") -> DataFrame:
    """Return a frame without rows and columns, such as of an empty file, with columns."""
    if df.columns or not df.isEmpty():
        return df
    fields = StructType().add(id, kind).add(text, "string")
    return df.sparkSession.createDataFrame([], fields)


class Ids(NamedTuple):
    """Number, type and checksum of the ids."""

    documents: int
    type: str  # as which they are ordered: that of the column, or of numbers if these are text
    digest: int  # hash of them, and of the other columns that the result depends on


def check_ids(df: DataFrame, id: str, others: Iterable[str] = (), private: bool = False) -> Ids:
    """Make sure that every document has an id of its own, of an order that both engines have.

    Raises DuplicateIdError, InputError, or ColumnError; no message quotes ``private`` ids.
    """
    hashed = f.bit_xor(f.xxhash64(column(id), *map(column, others)))
    groups = df.groupBy(column(id).alias("id")).agg(f.count("*").alias("n"), hashed.alias("hash"))
    text, size = f.col("id").cast("string"), f.length("id")
    tests = [is_canonical(text, kind) for kind in INTEGER_TYPES]
    tests += [is_number(text), text.rlike(r"^[0-9]+\z")]
    found = ["sum(n)", "min(if(n > 1, id, null))", "count_if(id is null)", "bit_xor(hash)"]
    columns = *map(f.expr, found), f.min(size) == f.max(size), *map(f.bool_and, tests)
    documents, doubled, nulls, digest, even, *fits, number, digits = groups.agg(*columns).first()
    hint = "give a column in which each value is there once"
    if nulls:
        raise DuplicateIdError(f"a document has no id in column {id!r}", hint)
    if doubled is not None:
        which = "one id" if private else f"the id {str(doubled)[:40]!r}"
        message = f"two documents have {which} in column {id!r}"
        raise DuplicateIdError(f"{message}; ids must be unique", hint)
    kind = dict(df.dtypes)[id]
    if kind != "string" or not documents:
        return Ids(documents or 0, kind, digest or 0)
    kinds = [number_type for number_type, fit in zip(INTEGER_TYPES, fits, strict=True) if fit]
    if number and not (kinds or (digits and even)):  # digits of one length are in order as text
        raise ColumnError(
            f"column {id!r} contains numbers as text, with fractions, signs, exponents, or zeros "
            "before them, or beyond 38 digits: they would be ordered otherwise than on one machine",
            "write them as integers, or with as many digits each, or put a letter before each",
        )
    return Ids(documents, kinds[0] if kinds else kind, digest)


def check_sent(spark: SparkSession, documents: int, which: str = "", more: str = "") -> None:
    """Raise SpecError if the ids of so many documents do not fit into all machines.

    The message says ``which`` documents these are, and the hint ``more`` that helps.
    """
    context: Any = spark.sparkContext
    memory = context._jvm.java.lang.Runtime.getRuntime().maxMemory()
    if not context._jsc.isLocal():
        memory = min(memory, context._jsc.sc().executorMemory() << 20)
    needed, most = documents * _ID_BYTES, min(memory // 2, _MOST_SENT)
    if needed > most:
        raise SpecError(
            f"the ids of {documents:,} documents{which} take {needed:,} bytes on each machine; "
            f"expected {most:,} or fewer, half of the smallest heap",
            f"raise spark.driver.memory and spark.executor.memory{more}",
        )
