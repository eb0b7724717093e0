"""Arrow texts as NumPy buffers, and the options that change code points."""

import functools
import unicodedata
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import first_value, is_text, strings_of
from neardup.errors import EncodingError, InputError
from neardup.kernels.text.canonical import MEMORY, alphabet
from neardup.kernels.text.code_points import CANONICAL, characters
from neardup.sketch.baskets import (
    Basket,
    ItemError,
    basket_text,
    basket_texts,
    is_basket,
    terminated,
)
from neardup.spec import ShingleSpec

#: Types of texts that the public functions take.
Texts: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any] | Iterable[str | Basket | None]"

_NOT_ALPHANUMERIC = r"[^\p{L}\p{M}\p{N}]+"

# Read-only, as the buffers of Arrow are: kernels are compiled for one kind of array only.
_NO_DATA = np.frombuffer(bytes(1), dtype=np.uint8)
_NO_OFFSETS = np.frombuffer(bytes(8), dtype=np.int64)


class Ragged(NamedTuple):
    """Rows in one array: row ``i`` is ``values[offsets[i]:offsets[i + 1]]``."""

    values: np.ndarray  # uint64[]
    offsets: np.ndarray  # int64[rows + 1]


def joined(rows: Iterable[Ragged], dtype: npt.DTypeLike = np.uint64) -> Ragged:
    rows = list(rows)
    sizes = np.concatenate([np.zeros(1, np.int64), *(r.offsets[1:] - r.offsets[:-1] for r in rows)])
    return Ragged(np.concatenate([np.empty(0, dtype), *(r.values for r in rows)]), sizes.cumsum())


def as_text(texts: Texts, items: bool = False) -> pa.LargeStringArray:
    """Return texts as one large_string array without nulls; None counts as empty.

    Args:
        texts: The texts.
        items: They may be baskets, too, see `neardup.sketch.baskets`.

    Raises:
        InputError: These are no texts, or one has half a surrogate pair.
    """
    array: Any = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if not isinstance(array, pa.Array):
        return _of_strings(array, items)
    if items and pa.types.is_nested(array.type):
        return basket_texts(array)
    if array.type != pa.large_string():
        if not is_text(array.type):
            if (row := first_value(array)) is not None:
                what = f"the texts are of type {array.type}, as text {row + 1}; expected strings"
                raise InputError(what)
            array = pa.nulls(len(array))
        array = array.cast(pa.large_string())
    if array.null_count:
        array = pc.fill_null(array, "")
    return cast(pa.LargeStringArray, array)


def _of_strings(texts: Any, items: bool) -> pa.LargeStringArray:
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(f"the texts are of type {type(texts).__name__}; expected a list of them")
    texts = list(texts)
    if items:
        try:
            texts = [basket_text(text) if is_basket(text) else text for text in texts]
        except ItemError as error:
            raise InputError(f"an item is of type {error}; expected a string") from error
    for text in texts:
        if not isinstance(text, str | None):
            raise InputError(f"a text is of type {type(text).__name__}; expected a string")
    try:
        return strings_of([(text or "").encode() for text in texts])
    except UnicodeEncodeError as error:
        raise EncodingError("a text has half a surrogate pair", "replace it") from error


def text_buffers(text: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
    """Return (data uint8[], offsets int64[documents + 1]) of a large_string array, uncopied."""
    _, offsets, data = text.buffers()
    if len(text) == 0 or offsets is None:
        return _NO_DATA, _NO_OFFSETS
    # Read-only, whoever made them: else kernels would be loaded for both kinds of arrays.
    read_only = memoryview(offsets).toreadonly()
    view = np.frombuffer(read_only, np.int64, len(text) + 1, 8 * text.offset)
    if data is None or data.size == 0:
        return _NO_DATA, view
    return np.frombuffer(memoryview(data).toreadonly(), dtype=np.uint8), view


def normalise(texts: Texts, spec: ShingleSpec) -> pa.LargeStringArray:
    """Apply the options that change code points."""
    text = as_text(texts, spec.unit == "item")
    if spec.unit == "item":
        return terminated(text)

    def changed(other: Any) -> Any:
        if spec.nfkc:
            other = _normalised(other, "NFKC")
        if spec.strip_accents:
            other = _normalised(other, "NFD")
            other = pc.replace_substring_regex(other, r"\p{Mn}+", "")
            other = _normalised(other, "NFC")
        return other

    if spec.nfkc or spec.strip_accents:
        text = _changed(text, changed)
    if spec.alphanumeric:
        others: Any = pc.replace_substring_regex(cast(Any, text), _NOT_ALPHANUMERIC, "")
        text = cast(pa.LargeStringArray, others)
    return text


def composed(texts: pa.LargeStringArray, keep_case: bool) -> list[str]:
    """Return texts as their words are compared: in canonical composition, and in lower case.

    Characters that are not compared are left out, and so are line ends behind soft hyphens.
    """
    data, offsets = text_buffers(texts)
    codes = np.empty(2 * int(offsets[-1] - offsets[0]), np.uint64)
    starts, marks = np.empty(len(offsets), np.int64), np.empty(MEMORY, np.int64)
    how = alphabet(keep_case), CANONICAL, marks
    count = characters(data, offsets, *how, codes, starts)
    every = codes[:count].astype("<u4").tobytes().decode("utf-32-le")
    return [every[first:last] for first, last in pairwise(starts.tolist())]


def composed_texts(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return texts in canonical composition, without characters that are not compared."""

    def changed(other: Any) -> Any:
        return strings_of([text.encode() for text in composed(other, keep_case=True)])

    return _changed(texts, changed)


def _changed(text: pa.LargeStringArray, change: Callable[[Any], Any]) -> pa.LargeStringArray:
    """Return texts, those changed that are not ASCII; null stays."""
    known: Any = pc.string_is_ascii(text)
    # A value that replaces null is converted by Arrow, which imports pandas.
    ascii = pc.fill_null(known, True) if known.null_count else known
    if ascii.true_count == len(text):
        return text
    other: Any = pc.invert(ascii)
    changed = change(text.filter(other))
    found: Any = pc.replace_with_mask(cast(Any, text), other, changed)
    return cast(pa.LargeStringArray, found)


def _normalised(text: Any, form: Literal["NFC", "NFD", "NFKC"]) -> Any:
    if not _composes():
        found = [unicodedata.normalize(form, value) for value in text.to_pylist()]
        return pa.array(found, pa.large_string())
    return pc.call_function("utf8_normalize", [text], pc.Utf8NormalizeOptions(form))


@functools.cache
def _composes() -> bool:
    """Whether Arrow composes characters; version 14 leaves them apart in NFC and NFKC."""
    options = pc.Utf8NormalizeOptions("NFC")
    apart = pa.array(["e\u0301"], pa.large_string())
    found: Any = pc.call_function("utf8_normalize", [apart], options)
    return bool(found[0].as_py() == "\u00e9")
