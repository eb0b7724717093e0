"""Texts to sketches, and texts to shingle sets."""

import functools
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, binary_of
from neardup.recipe import Recipe
from neardup.sketch.document_groups import groups_of, with_groups
from neardup.sketch.sketcher import BITMAP_WORDS, Sketcher
from neardup.sketch.texts import as_text
from neardup.spark.stages.batches import (
    Batches,
    Rows,
    fixed_lists_of,
    lists_of,
    schema_of,
)

#: Schema of `sets`.
SETS = schema_of(doc=pa.int64(), shingles=pa.large_list(pa.uint64()))


def sketch_schema(recipe: Recipe) -> pa.Schema:
    """Return the schema of `sketch`.

    ``hash`` is of the token sequence, ``content`` of the bytes, ``shingles`` counts repetitions,
    ``bitmap`` has the shingles folded into 256 bits, ``keys`` has one key for each band.
    """
    return schema_of(
        doc=pa.int64(),
        hash=pa.binary(16),
        content=pa.int64(),
        tokens=pa.int32(),
        shingles=pa.int32(),
        bitmap=pa.binary(8 * BITMAP_WORDS),
        keys=pa.list_(pa.uint64(), recipe.num_bands),
    )


@functools.lru_cache(maxsize=4)
def _sketcher(recipe: Recipe) -> Sketcher:
    return Sketcher(recipe)


def sketch(batches: Batches, recipe: Recipe) -> Rows:
    """Turn batches of ``doc`` int64 and ``text`` string into those of `sketch_schema`.

    They have ``group``, too, the value of each document, where the recipe has a column for these.
    """
    sketcher, schema = _sketcher(recipe), sketch_schema(recipe)
    for batch in batches:
        found = sketcher(_compared(batch, recipe))
        columns = [
            batch.column("doc"),
            binary_of(found.hashes),
            array_of(found.contents.view(np.int64)),
            array_of(found.tokens),
            array_of(found.shingles),
            binary_of(found.bitmaps),
            fixed_lists_of(found.keys),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _compared(batch: pa.RecordBatch, recipe: Recipe) -> Any:
    """Return the texts of a batch as the recipe takes them."""
    text: Any = batch.column("text")
    if recipe.within is None:
        return text
    return with_groups(as_text(text), groups_of(batch.column("group"), recipe.within))


def sets(batches: Batches, recipe: Recipe) -> Rows:
    """Turn batches as for `sketch` into those of schema `SETS`: sorted 64-bit hashes, each once."""
    tokeniser = _sketcher(recipe).tokeniser
    for batch in batches:
        found = tokeniser.sets(_compared(batch, recipe))
        yield pa.RecordBatch.from_arrays(
            [batch.column("doc"), lists_of(found.values, found.offsets)], schema=SETS
        )
