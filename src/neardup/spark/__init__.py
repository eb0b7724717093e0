"""The same answers on Apache Spark: `dedup`, its steps by themselves, and `passages`.

Spark carries `neardup.spark.stages` to the data. Nothing else in the package imports it.
"""

from typing import TYPE_CHECKING, Any

from neardup.errors import DependencyError

if TYPE_CHECKING:
    from neardup.copied_passages.on_spark.passage_job import PassageFrames as PassageFrames
    from neardup.copied_passages.on_spark.passage_job import passages as passages
    from neardup.spark.files import read as read
    from neardup.spark.spark_job import DedupFrames as DedupFrames
    from neardup.spark.spark_job import dedup as dedup
    from neardup.spark.steps import candidates as candidates
    from neardup.spark.steps import compare as compare
    from neardup.spark.steps import duplicates as duplicates
    from neardup.spark.steps import edges as edges
    from neardup.spark.steps import resolve as resolve
    from neardup.spark.steps import shingle_sets as shingle_sets
    from neardup.spark.steps import sketch as sketch
    from neardup.spark.writing import write as write

_NAMES = {
    "read": "spark.files",
    "write": "spark.writing",
    **dict.fromkeys(("DedupFrames", "dedup"), "spark.spark_job"),
    **dict.fromkeys(
        ("candidates", "compare", "duplicates", "edges", "resolve", "shingle_sets", "sketch"),
        "spark.steps",
    ),
    # Of a layer above this one.
    **dict.fromkeys(("PassageFrames", "passages"), "copied_passages.on_spark.passage_job"),
}
__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, and PySpark with it: the stages don't need it."""
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    need_pyspark()
    return getattr(import_module(f"neardup.{_NAMES[name]}"), name)


def need_pyspark() -> None:
    """Raise DependencyError where PySpark is not installed."""
    try:
        import pyspark as _pyspark  # noqa: F401
    except ImportError as error:
        raise DependencyError("pyspark is not installed", "pip install 'neardup[spark]'") from error
