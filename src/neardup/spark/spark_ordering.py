"""The order of the documents on Spark: that of `neardup.deduplication.documents.ordering`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from neardup.errors import ColumnError
from neardup.spark.workers import order_of
from neardup.spec import Spec
from neardup.stages.number_text import EXACT, NUMBER, REMEDY

#: Types of integers that are text, the first that fits; one machine compares 38 digits, too.
INTEGER_TYPES = ("bigint", "decimal(38,0)")
_INTEGER = r"^[+-]?[0-9]+\z"


def column(name: str) -> Column:
    """Return a column by its name, which may have a dot in it."""
    return f.col(f"`{name.replace('`', '``')}`")


def is_number(values: Column) -> Column:
    """Whether texts are numbers, by the rule of one machine."""
    return values.rlike(NUMBER)


def is_canonical(values: Column, kind: str) -> Column:
    """Whether texts are integers of a type, as Spark writes them, or null."""
    return values.try_cast(kind).cast("string").eqNullSafe(values)


def ordered_by(df: DataFrame, name: str) -> Column:
    """Return a column that ``keep`` names; text as numbers if all of it is, empty text as null.

    ColumnError if these numbers are not exact in any type that Spark has.
    """
    values = column(name)
    if dict(df.dtypes)[name] != "string":
        return values
    values = f.when(values != "", values)
    number = values.try_cast("double")
    finite = f.when(f.abs(number) < float("inf"), f.abs(number))
    fitting = [values.rlike(_INTEGER) & values.try_cast(k).isNotNull() for k in INTEGER_TYPES]
    tests = [f.coalesce(f.bool_and(test), f.lit(True)) for test in (is_number(values), *fitting)]
    numeric, *fits, largest = df.agg(*tests, f.max(finite)).first()
    if not numeric:
        return values
    for kind, fit in zip(INTEGER_TYPES, fits, strict=True):
        if fit:
            return values.cast(kind)
    if (largest or 0.0) >= EXACT:
        message = f"column {name!r} contains numbers as text that Spark can't compare exactly"
        raise ColumnError(message, REMEDY)
    return values.cast("double")


def keep_order(rows: DataFrame, spec: Spec) -> list[Column]:
    """Return the keep order of rows with ``id``, ``best`` and ``old``, as far as these are there.

    It is that of `neardup.spark.workers.in_order`.
    """
    order = [f.desc("old")] if "old" in rows.columns else []
    for name, way in order_of(spec):
        if dict(rows.dtypes)[name] in ("float", "double"):
            # NaN is between numbers and null, as for Arrow; for Spark it is the largest number.
            order.append(f.when(f.col(name).isNull(), 2).otherwise(f.isnan(name).cast("int")))
        order.append(f.desc_nulls_last(name) if way == "descending" else f.asc_nulls_last(name))
    return order
