"""Signatures of a corpus in a separate file, to be banded again later."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.arrays import array_of, numbers
from neardup.deduplication.documents.identifiers import id_array
from neardup.errors import ColumnError, FormatError, InputNotFoundError, OutputError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import replacing_path
from neardup.io.source import Source
from neardup.options.arguments import expanded
from neardup.options.how_read import how_read
from neardup.options.option_groups import ReadingOptions, TargetOptions
from neardup.recipe import Recipe
from neardup.sketch.sketcher import signatures
from neardup.spec import ShingleSpec, Spec, check_integer, shingle_spec
from neardup.threads import Pool

#: Metadata of the file: how the signatures were made.
_ABOUT = b"neardup.signatures"
#: Documents that a thread signs together.
_STEP = 1024
#: Most entries of a signature in a file.
_MOST = 1 << 13


class SavedSignatures(NamedTuple):
    """Result of `read_signatures`.

    Attributes:
        ids: Ids of the documents, or their positions.
        values: uint32[documents, num_hashes]: their signatures; of a document without shingles all
            entries are 2**32 - 1.
        recipe: How they were made, as one band for each entry. Signatures of equal recipes can be
            compared.
    """

    ids: pa.ChunkedArray[Any]
    values: np.ndarray
    recipe: Recipe


class SignatureOptions(ReadingOptions, TargetOptions, total=False):
    """Options of `save_signatures`."""


@expanded
def save_signatures(
    source: object,
    out: str | os.PathLike[str],
    *,
    num_hashes: int = 128,
    shingle: str | ShingleSpec = "word:5",
    scheme: str = "affine32",
    seed: int = 0,
    threads: int | None = None,
    **options: Unpack[SignatureOptions],
) -> int:
    """Write the signatures of a corpus to a Parquet file, partition by partition.

    The file has a row for each document: its id, and ``signature``, a list of ``num_hashes``
    uint32. Its metadata say how they were made.

    Args:
        source: As for `neardup.dedup`.
        out: The file.
        num_hashes: Entries of a signature.
        shingle: As for `neardup.dedup`, as is ``threads``.
        scheme: As for `neardup.signatures`, as is ``seed``.
        overwrite: Replace a file that is there.

    Returns:
        The number of documents.

    Raises:
        InputError: The input can't be used.
        OutputError: The file exists, or can't be written.
        SpecError: A setting is out of range.
    """
    made = shingle_spec(shingle)
    check_integer("`num_hashes`", num_hashes, 1, _MOST)
    recipe = Recipe(made, Spec(scheme=scheme).scheme, seed, num_hashes, 1)
    reading = how_read(options["reading"], items=made.unit == "item")
    given, overwrite = GivenPath.of(out), options["writing"].overwrite
    opened, _ = reading.open_sized(source)
    with given.in_messages():
        path = _checked_file(given.path, opened, overwrite)
    count = 0
    with given.in_messages(), Pool(threads) as pool, replacing_path(path) as partial:
        writer: pq.ParquetWriter | None = None
        schema: pa.Schema | None = None
        try:
            for ids, texts in _documents(opened):
                table = _signed(ids, count, texts, recipe, pool)
                schema = schema or table.schema
                writer = writer or pq.ParquetWriter(partial, schema, compression="zstd")
                if table.schema != schema:
                    what = f"ids are of several types, {table.schema.field(0).type} among them"
                    raise ColumnError(what, "give all of them one type")
                writer.write_table(table)
                count += table.num_rows
            if writer is None:  # a file without bytes is no Parquet
                none = pa.array([], pa.large_string())
                pq.write_table(_signed(None, 0, none, recipe, pool), partial)
        finally:
            if writer is not None:
                writer.close()
    return count


def read_signatures(path: str | os.PathLike[str]) -> SavedSignatures:
    """Read what `save_signatures` wrote, all of it into memory.

    Args:
        path: The file.

    Raises:
        FormatError: It is no such file.
        InputNotFoundError: There is none.
        RecipeError: It was made by other versions of what signatures depend on.

    Examples:
        >>> import tempfile
        >>> from neardup import band_keys, candidate_pairs
        >>> file = tempfile.mkdtemp() + "/signatures.parquet"
        >>> save_signatures(["one and the same", "one and the same", "x"], file, num_hashes=64)
        3
        >>> found = read_signatures(file)
        >>> [column.tolist() for column in candidate_pairs(band_keys(found.values, 16, 4))]
        [[0], [1]]
    """
    path = Path(path)
    if not path.is_file():
        raise InputNotFoundError(f"{path}: there is no such file", "see neardup signatures")
    try:
        table = pq.read_table(path)
        recipe = Recipe.from_dict(json.loads((table.schema.metadata or {})[_ABOUT]))
        column: Any = table.column("signature").combine_chunks()
        values = numbers(column.flatten()).reshape(len(table), recipe.num_hashes)
    except (pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise FormatError(f"{path}: these are no signatures", "see neardup signatures") from error
    recipe.require_usable(f"{path}: this file")
    return SavedSignatures(table.column(0), values.astype(np.uint32, copy=False), recipe)


def _checked_file(path: Path, source: Source, overwrite: bool) -> Path:
    if path.is_dir() or not path.parent.is_dir():
        raise OutputError(f"{path} is no file in a folder that is there", "name another file")
    if path.exists():
        inputs = [file.given.path.resolve() for file in source.files if not file.is_remote]
        if path.resolve() in inputs:
            raise OutputError(f"{path} is an input", "name another file")
        if not overwrite:
            raise OutputError(f"{path} exists", "use overwrite=True, or name another file")
    return path


def _documents(source: Source) -> Iterator[tuple[Any, pa.LargeStringArray]]:
    """Yield the ids, or None, and the texts of each partition; of no text without a partition."""
    name, partition = source.id_column, None
    for partition in source.partitions():
        found = partition.read((name,) if name else ())
        ids = None if name is None else id_array(found.columns.column(name), name)
        yield ids, found.text
    if partition is None:
        yield None, pa.array([], pa.large_string())


def _signed(
    ids: Any, first: int, texts: pa.LargeStringArray, recipe: Recipe, pool: Pool
) -> pa.Table:
    shingle, size, scheme = recipe.shingle, recipe.num_hashes, recipe.scheme

    def sign(low: int, high: int) -> np.ndarray:
        part = texts.slice(low, high - low)
        return signatures(part, size, shingle=shingle, scheme=scheme, seed=recipe.seed)

    rows = pool.ranges(sign, len(texts), _STEP)
    values = np.concatenate([np.empty((0, size), np.uint32), *rows])
    column = pa.FixedSizeListArray.from_arrays(array_of(values.reshape(-1)), size)
    names = array_of(np.arange(first, first + len(texts))) if ids is None else ids
    about = {_ABOUT: json.dumps(recipe.as_dict()).encode()}
    table = pa.Table.from_arrays([names, column], ["id", "signature"])
    return table.replace_schema_metadata(about)
