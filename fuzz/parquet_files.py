"""The same rows in Parquet files of every kind: encodings, codecs, types, and programs that write.

    python -m fuzz.parquet_files write FOLDER     # by the libraries of this environment
    python -m fuzz.parquet_files read FOLDER      # by neardup, and compared with the rows

To write needs no neardup, so that any environment can do it: those of fastparquet, deltalake,
DataFusion and PySpark, which are not among the requirements of the tests.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import shutil
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

COUNT = 130
_FULL = "the quick brown fox jumps over the lazy dog and runs away from here"
_WORDS = _FULL.split(" ")


def _text(row: int) -> str | None:
    if row % 13 == 5:
        return None
    if row % 11 == 3:
        return ""
    if row % 7 == 2:  # repeated, longer than a view keeps inline
        return _FULL
    return " ".join(_WORDS[row % 5 :]) + f" é漢{row}"


#: The texts, none of them by null, and the other strings of all files.
TEXTS: list[str | None] = [_text(row) for row in range(COUNT)]
OTHERS: list[str | None] = [None if row % 9 == 0 else f"value {row % 17}" for row in range(COUNT)]

ENCODINGS = ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "dictionary", "fallback"]
KINDS = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]
KINDS += ["dictionary", "large_dictionary"]
CODECS = ["snappy", "zstd", "brotli", "lz4", "gzip", "none"]
VERSIONS = ["1.0", "2.0"]  # of data pages
GROUPS = [50, COUNT]  # rows of a row group

#: Name of a file without its ending, and what writes it to a path.
Cell = tuple[str, Callable[[Path], object]]


def array_of(kind: str, values: list[str | None]) -> Any:
    """Strings as an array of a kind."""
    array: Any = pa.array(values)
    if "binary" in kind:
        array = array.cast(pa.binary())
    if kind == "large_dictionary":
        array = array.cast(pa.large_string())
    return array.dictionary_encode() if "dictionary" in kind else array.cast(getattr(pa, kind)())


def table_of(kind: str, place: str) -> pa.Table:
    """The rows; the column ``place`` has the kind, or both string columns; others are beside it."""
    in_text = place == "text" and "binary" not in kind
    return pa.table(
        {
            "id": pa.array(range(COUNT)),
            "text": array_of(kind, TEXTS) if in_text else pa.array(TEXTS),
            "other": array_of("string" if in_text else kind, OTHERS),
            "nothing": pa.nulls(COUNT),
            "list": pa.array([["a", None, "b"][: row % 4] for row in range(COUNT)]),
            "struct": pa.array(
                [{"x": "y", "n": [row]} if row % 3 else None for row in range(COUNT)]
            ),
        }
    )


def _written(path: Path, table: pa.Table, encoding: str, place: str, **options: Any) -> None:
    if encoding == "fallback":  # a dictionary that soon is full
        options |= {"dictionary_pagesize_limit": 64, "write_batch_size": 8}
    elif encoding != "dictionary":
        places = [place, "list.list.element", "struct.x"]
        options |= {"use_dictionary": False, "column_encoding": dict.fromkeys(places, encoding)}
    pq.write_table(table, path, **options)


def cells_of_pyarrow(complete: bool) -> Iterator[Cell]:
    """Every combination, or each kind, encoding and place with some of the others."""
    kinds = [kind for kind in KINDS if hasattr(pa, kind) or "dictionary" in kind]
    kept = itertools.product(kinds, ENCODINGS, ["text", "other"])
    rest = list(itertools.product(CODECS, VERSIONS, GROUPS))
    for number, (kind, encoding, place) in enumerate(kept):
        for codec, version, rows in rest if complete else [rest[number * 5 % len(rest)]]:
            name = f"pyarrow-{kind}-{encoding}-{place}-{rows}-{codec}-v{version[0]}"

            def write(
                path: Path,
                kind: str = kind,
                encoding: str = encoding,
                place: str = place,
                options: dict[str, Any] = {  # noqa: B006
                    "row_group_size": rows,
                    "compression": codec,
                    "data_page_version": version,
                },
            ) -> None:
                _written(path, table_of(kind, place), encoding, place, **options)

            yield name, write


def _odd_columns() -> dict[str, Any]:
    day = datetime.date(2020, 1, 1)
    stamps = pa.array([datetime.datetime(2020, 1, 1)] * COUNT)
    return {
        "uint64": pa.array([(1 << 64) - 1 - row for row in range(COUNT)], pa.uint64()),
        "decimal": pa.array([decimal.Decimal(row) / 8 for row in range(COUNT)]),
        "date": pa.array([day + datetime.timedelta(row) for row in range(COUNT)]),
        "time": pa.array([datetime.time(row % 24) for row in range(COUNT)]),
        "nano": stamps.cast(pa.timestamp("ns")),
        "zone": stamps.cast(pa.timestamp("us", "Europe/Berlin")),
        "duration": pa.array([datetime.timedelta(row) for row in range(COUNT)]),
        "bool": pa.array([row % 3 == 0 for row in range(COUNT)]),
        "half": pa.array([row / 8 for row in range(COUNT)]).cast(pa.float16()),
        "double": pa.array([row / 7 for row in range(COUNT)]),
        "fixed": pa.array([b"%07d" % row for row in range(COUNT)], pa.binary(7)),
        "map": pa.array([[("k", row)] for row in range(COUNT)], pa.map_(pa.string(), pa.int64())),
        "a.b": pa.array(OTHERS),
        "text.more": pa.array(OTHERS),
        "Größe 漢": pa.array(OTHERS),
    }


def cells_of_oddities() -> Iterator[Cell]:
    """Files that are valid and rare: types, pages, statistics, names, empty parts."""
    table = table_of("string", "text")
    for name, column in _odd_columns().items():
        table = table.append_column(name, column)
    numbers = ["double", "half"]
    split = dict.fromkeys(numbers, "BYTE_STREAM_SPLIT")
    strings = {"text": "DELTA_BYTE_ARRAY", "a.b": "DELTA_LENGTH_BYTE_ARRAY", "id": "PLAIN"}
    packed = {"id": "DELTA_BINARY_PACKED", "bool": "RLE", "fixed": "DELTA_BYTE_ARRAY"}
    no_dictionary: dict[str, Any] = {"use_dictionary": False}
    for name, options in {
        "all": {},
        "split": no_dictionary | {"column_encoding": split},
        "delta": no_dictionary | {"column_encoding": strings},
        "packed": no_dictionary | {"column_encoding": packed, "data_page_version": "2.0"},
        "int96": {"use_deprecated_int96_timestamps": True},
        "tiny-groups": {"row_group_size": 1},
        "tiny-pages": {"data_page_size": 1, "write_batch_size": 1},
        "no-statistics": {"write_statistics": False},
        "page-index": {"write_page_index": True, "write_page_checksum": True},
        "format-1": {"version": "1.0"},
        "no-arrow-schema": {"store_schema": False},
        "flat-lists": {"use_compliant_nested_type": False},
    }.items():
        yield f"odd-{name}", lambda path, how=options: pq.write_table(table, path, **how)

    def with_empty_groups(path: Path) -> None:
        with pq.ParquetWriter(path, table.schema) as writer:
            for start, count in ((0, 0), (0, 60), (60, 0), (60, COUNT), (0, 0)):
                writer.write_table(table.slice(start, count))

    yield "odd-empty-groups", with_empty_groups
    ids = [f.with_metadata({"PARQUET:field_id": str(i + 7)}) for i, f in enumerate(table.schema)]
    with_ids = pa.Table.from_arrays(table.columns, schema=pa.schema(ids))
    yield "odd-field-ids", lambda path: pq.write_table(with_ids, path)
    both = table_of("dictionary", "text")
    both = both.set_column(2, "other", array_of("dictionary", OTHERS))
    nested = pa.array([{"d": value} for value in OTHERS], pa.struct([("d", both.schema[1].type)]))
    both = both.append_column("nested", nested)
    delta = dict.fromkeys(["other", "nested.d"], "DELTA_BYTE_ARRAY")
    how = {"use_dictionary": ["text"], "column_encoding": delta, "row_group_size": 50}
    yield "odd-mixed-dictionaries", lambda path: pq.write_table(both, path, **how)


def _simple() -> pa.Table:
    return table_of("string", "text").select(["id", "text", "other", "list"])


def cells_of_duckdb(complete: bool) -> Iterator[Cell]:
    import duckdb

    codecs = ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw"]
    for version, codec in itertools.product(["V1", "V2"], codecs if complete else codecs[1:4]):
        for more in ("", ", ROW_GROUP_SIZE 50", ", STRING_DICTIONARY_PAGE_SIZE_LIMIT 64"):
            how = f"FORMAT parquet, PARQUET_VERSION {version}, CODEC '{codec}'{more}"

            def write(path: Path, how: str = how) -> None:
                rows = _simple()
                with duckdb.connect() as connection:
                    connection.register("rows", rows)
                    # Repeated values, so that a dictionary is worth it.
                    copy = f"COPY (SELECT * FROM rows ORDER BY id) TO '{path}' ({how})"
                    connection.execute(copy)

            yield f"duckdb-{version}-{codec}-{len(more)}", write


def cells_of_polars(complete: bool) -> Iterator[Cell]:
    import polars

    codecs = ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4"]
    for codec, rows, kind in itertools.product(
        codecs if complete else codecs[1:4:2], GROUPS, ["String", "Categorical"]
    ):

        def write(path: Path, codec: Any = codec, rows: int = rows, kind: str = kind) -> None:
            frame: Any = polars.from_arrow(_simple())
            frame = frame.with_columns(other=frame["other"].cast(getattr(polars, kind)))
            frame = frame.with_columns(nothing=None)
            frame.write_parquet(path, compression=codec, row_group_size=rows)

        yield f"polars-{codec}-{rows}-{kind}", write


def cells_of_pandas(complete: bool) -> Iterator[Cell]:
    import pandas

    engines = [name for name in ("pyarrow", "fastparquet") if find_spec(name)]
    codecs = ["snappy", "zstd", "brotli", "lz4", "gzip", None] if complete else ["snappy"]
    for engine, codec, kind in itertools.product(engines, codecs, ["object", "category"]):

        def write(path: Path, engine: Any = engine, codec: Any = codec, kind: str = kind) -> None:
            frame = pandas.DataFrame({"id": range(COUNT), "text": TEXTS, "other": OTHERS})
            frame = frame.astype({"text": object, "other": kind})
            frame.to_parquet(path, engine=engine, compression=codec, index=False)

        yield f"pandas-{engine}-{codec}-{kind}", write


def cells_of_delta_lake() -> Iterator[Cell]:
    from deltalake import ColumnProperties, WriterProperties, write_deltalake

    encodings = ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", None]
    for codec, encoding, in_dictionary in itertools.product(
        ["UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"],
        encodings,
        [True, False],
    ):

        def write(
            path: Path,
            codec: Any = codec,
            encoding: Any = encoding,
            in_dictionary: bool = in_dictionary,
        ) -> None:
            of = ColumnProperties(dictionary_enabled=in_dictionary, encoding=encoding)
            folder = path.with_suffix(".delta")
            how = WriterProperties(
                compression=codec,
                column_properties={"text": of, "other": of},
                max_row_group_size=50,
                dictionary_page_size_limit=64,
            )
            write_deltalake(folder, _simple(), writer_properties=how)
            (made,) = folder.glob("*.parquet")
            made.rename(path)
            shutil.rmtree(folder)

        yield f"deltalake-{codec}-{encoding}-{in_dictionary}", write


def cells_of_datafusion() -> Iterator[Cell]:
    import datafusion

    for version, limit, bloom, kind in itertools.product(
        ["1.0", "2.0"], [64, 1 << 20], [True, False], ["string", "string_view", "dictionary"]
    ):

        def write(
            path: Path,
            version: str = version,
            limit: int = limit,
            bloom: bool = bloom,
            kind: str = kind,
        ) -> None:
            how = datafusion.ParquetWriterOptions(
                writer_version=version,
                dictionary_page_size_limit=limit,
                bloom_filter_on_write=bloom,
                max_row_group_size=50,
            )
            names = ["id", "text", "other", "list"]
            rows = table_of(kind, "text").select(names)
            context = datafusion.SessionContext()
            frame = context.from_arrow(rows).sort(datafusion.col("id"))
            frame.write_parquet_with_options(path, how)
            if path.is_dir():
                (made,) = path.glob("*.parquet")
                made.rename(path.with_suffix(".one"))
                shutil.rmtree(path)
                path.with_suffix(".one").rename(path)

        yield f"datafusion-v{version[0]}-{limit}-{bloom}-{kind}", write


def cells_of_spark() -> Iterator[Cell]:
    from pyspark.sql import SparkSession

    build = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = build.getOrCreate()
    rows = [{"id": i, "text": TEXTS[i], "other": OTHERS[i], "list": ["a"]} for i in range(COUNT)]
    schema = "id long, text string, other string, list array<string>"
    frame = session.createDataFrame(rows, schema).coalesce(1)
    for version, codec, dictionary in itertools.product(
        ["v1", "v2"], ["none", "snappy", "gzip", "zstd", "lz4", "lz4_raw"], ["true", "false"]
    ):

        def write(
            path: Path, version: str = version, codec: str = codec, dictionary: str = dictionary
        ) -> None:
            folder = path.with_suffix(".spark")
            writer = frame.write.option("compression", codec)
            writer = writer.option("parquet.writer.version", version)
            writer = writer.option("parquet.enable.dictionary", dictionary)
            writer.option("parquet.bloom.filter.enabled", "true").parquet(str(folder))
            (made,) = folder.glob("*.parquet")
            made.rename(path)
            shutil.rmtree(folder)

        yield f"spark-{version}-{codec}-{dictionary}", write


def cells(complete: bool) -> Iterator[Cell]:
    """What the libraries of this environment write."""
    yield from cells_of_pyarrow(complete)
    yield from cells_of_oddities()
    for library, of in (
        ("duckdb", lambda: cells_of_duckdb(complete)),
        ("polars", lambda: cells_of_polars(complete)),
        ("pandas", lambda: cells_of_pandas(complete)),
        ("deltalake", cells_of_delta_lake),
        ("datafusion", cells_of_datafusion),
        ("pyspark", cells_of_spark),
    ):
        if find_spec(library):
            yield from of()


def check(path: Path) -> None:
    """Read a file by neardup, whole and in small parts, and compare it with the rows."""
    from neardup.io.opening import open_source
    from neardup.io.source import Columns

    for size in (8 << 20, 900):
        source = open_source(path, Columns(id="id", extra=("other",)), partition_bytes=size)
        texts: list[str] = []
        others: list[Any] = []
        ids: list[int] = []
        records: list[dict[str, Any]] = []
        for part in source.partitions():
            found = part.read(("id", "other"))
            texts += found.text.to_pylist()
            ids += found.columns.column("id").to_pylist()
            others += found.columns.column("other").to_pylist()
            kept: Any = part.records(None, len(found.text), cached=found)
            records += kept.to_pylist()
        others = [value.decode() if isinstance(value, bytes) else value for value in others]
        assert texts == [text or "" for text in TEXTS], "texts differ"
        assert ids == list(range(COUNT)), "ids differ"
        assert others == OTHERS, "other values differ"
        assert records == pq.ParquetFile(path, **_reading(path)).read().to_pylist(), "records"


def _reading(path: Path) -> dict[str, Any]:
    """How Arrow reads a file by itself: some with dictionaries are too much for it."""
    try:
        pq.ParquetFile(path).read()
    except OSError:
        return {"binary_type": pa.large_binary()}
    return {}


def main() -> None:
    do, folder = sys.argv[1], Path(sys.argv[2])
    counts: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    if do == "write":
        folder.mkdir(parents=True, exist_ok=True)
        for name, write in cells(True):
            try:
                write(folder / f"{name}.parquet")
            except Exception as error:  # noqa: BLE001  # what is not written is no file of ours
                (folder / f"{name}.parquet").unlink(missing_ok=True)
                print(f"{name}: not written, {type(error).__name__}: {str(error)[:99]}")
                counts["not written"] += 1
            else:
                counts[name.partition("-")[0]] += 1
    else:
        for path in sorted(folder.glob("*.parquet")):
            try:
                check(path)
            except Exception as error:  # noqa: BLE001 - counted
                print(f"{path.name}: {type(error).__name__}: {str(error)[:199]}")
                counts["failed"] += 1
            else:
                counts["read"] += 1
    print(dict(counts))


if __name__ == "__main__":
    main()
