"""The same answer on Apache Spark: `dedup`, and its steps by themselves.

Spark carries the stages of `neardup.stages` to the data. Nothing else in the package imports it.
"""

from neardup.errors import DependencyError

try:
    import pyspark as _pyspark  # noqa: F401
except ImportError as error:
    raise DependencyError("pyspark is not installed", "pip install 'neardup[spark]'") from error

from neardup.spark.files import read as read
from neardup.spark.files import write as write
from neardup.spark.spark_job import SparkRun as SparkRun
from neardup.spark.spark_job import dedup as dedup
from neardup.spark.steps import candidates as candidates
from neardup.spark.steps import compare as compare
from neardup.spark.steps import duplicates as duplicates
from neardup.spark.steps import edges as edges
from neardup.spark.steps import resolve as resolve
from neardup.spark.steps import shingle_sets as shingle_sets
from neardup.spark.steps import sketch as sketch
