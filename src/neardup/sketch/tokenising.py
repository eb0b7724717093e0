"""Texts to tokens and their stems, tokens to shingles, shingles to sets."""

import threading
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from neardup.arrays import strings_of
from neardup.kernels.bits import LANES
from neardup.kernels.text import code_points, few_words, shingling
from neardup.kernels.text import tokens as kernels
from neardup.kernels.text.canonical import MEMORY, Alphabet, alphabet
from neardup.sketch.document_groups import mix_groups, without_groups
from neardup.sketch.ignoring import Ignored, join_hyphens
from neardup.sketch.texts import (
    Ragged,
    Texts,
    as_text,
    composed,
    joined,
    normalise,
    text_buffers,
)
from neardup.spec import ShingleSpec, shingle_spec
from neardup.tuning import TUNING

_NOT_ASKED = np.empty(0, dtype=np.uint32)
_NO_HASHES = np.empty((0, 2), dtype=np.uint64)
#: Working arrays above this size are not kept for the next call; where somebody else makes large
#: ones, those of the other size.
_KEPT_BYTES, _LARGE_BYTES = 64 << 20, 4 << 20


def batches(offsets: np.ndarray) -> list[tuple[int, int]]:
    """Cut documents into ranges of about 256 kB of text; a longer document is one by itself."""
    size = TUNING.text_bytes
    if offsets[-1] <= offsets[0] + size:
        return [(0, len(offsets) - 1)][: len(offsets) - 1]
    ends = np.arange(offsets[0] + size, offsets[-1], size)
    before, behind = (
        np.searchsorted(offsets, ends, side="right") - 1,
        np.searchsorted(offsets, ends),
    )
    # A small document over the end of a range is in it: by itself it would cost a call.
    behind = behind[offsets[behind] - offsets[before] > size // 8]
    cuts = np.concatenate([[0], before, behind, [len(offsets) - 1]])
    return list(pairwise(np.unique(cuts).tolist()))


class Stemmer:
    """Replaces the hash of each token by the hash of its stem, of a Snowball algorithm.

    A token is stemmed when it first occurs, and looked up by its hash from then on.
    PyStemmer sees each distinct token of a corpus about once.
    """

    def __init__(self, language: str, keep_case: bool = False) -> None:
        from Stemmer import Stemmer as Snowball

        self._snowball = Snowball(language, 0)  # the table is the cache
        self._keep_case = keep_case
        self._lock = threading.Lock()
        self._count = 0  # tokens that were stemmed; two threads may both stem one
        # Readers need no lock: to a table others are only added, and a larger one replaces it.
        self._table = (np.zeros(1 << 16, dtype=np.uint64), np.zeros(1 << 16, dtype=np.uint64))

    def __call__(self, tokens: np.ndarray, data: np.ndarray, spans: kernels.Spans) -> None:
        """Replace the hash of each token by the hash of its stem, in place."""
        missing = np.empty(len(tokens), dtype=np.int64)
        count = kernels.replace_known(tokens, *self._table, tokens, missing)
        if count:
            self._learn(tokens, data, spans, missing[:count])

    def _learn(
        self, tokens: np.ndarray, data: np.ndarray, spans: kernels.Spans, missing: np.ndarray
    ) -> None:
        new, index, inverse = np.unique(tokens[missing], return_index=True, return_inverse=True)
        rows = missing[index]
        limits = (spans.first + spans.bytes.reshape(-1, 2)[rows].astype(np.int64)).tolist()
        words = strings_of([data[first:last].tobytes() for first, last in limits])
        strings = composed(words, self._keep_case)
        with self._lock:
            stems = self._snowball.stemWords(strings)
            stem_hashes = np.empty(len(stems), dtype=np.uint64)
            encoded = [stem.encode() for stem in stems]
            ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
            ends.flags.writeable = False  # as the offsets of Arrow are: one kernel for both
            # Of no bytes, as kernels have it elsewhere, one is left.
            joined = np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8)
            kernels.hash_tokens(joined, ends, stem_hashes)
            keys, values = table = self._table
            self._count += len(new)
            if self._count * 2 > len(keys):
                size = 1 << (2 * self._count).bit_length()
                table = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.uint64)
                known = keys != 0
                kernels.add_replacements(keys[known], values[known], *table)
            kernels.add_replacements(new, stem_hashes, *table)
            self._table = table
        tokens[missing] = stem_hashes[inverse]


class _Workspace(threading.local):
    """Arrays that a thread uses again from call to call.

    Arrays of many MB that are allocated for every batch cost more in page faults than the kernels
    that fill them. The buffers of `words` are kept together: seven calls less for a single text.
    """

    words: kernels.WordBuffers | None = None

    def __init__(self, allocate: Callable[..., np.ndarray] | None = None) -> None:
        self._arrays: dict[str, np.ndarray] = {}
        self._allocate = allocate

    def array(self, name: str, dtype: type[np.generic], size: int) -> np.ndarray:
        """Return this thread's array of that name and one dtype, uninitialised.

        Who asks for a name again gets the same memory, so must be done with it.
        """
        array = self._arrays.get(name)
        if array is None or len(array) < size:
            if self._allocate is not None and size * np.dtype(dtype).itemsize > _LARGE_BYTES:
                return self._allocate(size, np.dtype(dtype))
            array = np.empty(size + size // 4 + 1024, dtype=dtype)
            if array.nbytes <= _KEPT_BYTES:
                self._arrays[name] = array
        return array[:size]


class Tokeniser:
    """Turns texts into tokens and shingles, batch by batch; for many threads at once.

    ``allocate`` makes working arrays of large documents; without it they are those of NumPy.
    With ``grouped``, `ranges` and `sets` take texts that begin with keys of their groups.
    """

    def __init__(
        self,
        spec: str | ShingleSpec,
        allocate: Callable[..., np.ndarray] | None = None,
        grouped: bool = False,
    ) -> None:
        self.spec = spec = shingle_spec(spec)
        self.grouped = grouped
        self.workspace = _Workspace(allocate)
        self._alphabet = alphabet(spec.keep_case)
        self._lower = np.uint8(0 if spec.keep_case else 32)
        self._stemmer = Stemmer(spec.stem, spec.keep_case) if spec.stem else None
        self._ignored: Ignored | None = None
        if spec.ignore or spec.stop_passages:
            of_words = ShingleSpec(n=1, keep_case=spec.keep_case, join_hyphens=spec.join_hyphens)
            words = Tokeniser(of_words)
            self._ignored = Ignored(spec.ignore, spec.stop_passages, words.word_batches)

    def compared(self, texts: Texts) -> pa.LargeStringArray:
        """Return texts of the same sizes in bytes, with spaces for ignored parts, words joined."""
        text = as_text(texts, self.spec.unit == "item")
        if not (self._ignored or self.spec.join_hyphens) or not len(text):
            return text
        # A pattern may match every character: that takes many times the size of the text.
        ranges = batches(text_buffers(text)[1])
        parts = [text.slice(first, last - first) for first, last in ranges]
        if self._ignored:
            parts = [self._ignored(part) for part in parts]
        if self.spec.join_hyphens:
            parts = [join_hyphens(part) for part in parts]
        return pa.concat_arrays(parts)

    def normalise(self, texts: Texts) -> tuple[np.ndarray, np.ndarray]:
        """Return (data uint8[], offsets int64[documents + 1]) of texts, ready for `tokens`."""
        return text_buffers(normalise(self.compared(texts), self.spec))

    def ranges(self, texts: Texts) -> Iterator[tuple[slice, Ragged, np.ndarray | None]]:
        """Yield some documents at a time, their tokens, valid until the next ones, and groups."""
        groups = None
        if self.grouped:
            texts, groups = without_groups(as_text(texts, self.spec.unit == "item"))
        data, offsets = self.normalise(texts)
        for first, last in batches(offsets):
            tokens = self.documents(data, offsets[first : last + 1])
            yield slice(first, last), tokens, None if groups is None else groups[first:last]

    def word_batches(self, text: pa.LargeStringArray) -> Iterator[tuple[Ragged, kernels.Spans]]:
        """Yield the words of some documents at a time, as `tokens` does, and where they are."""
        data, offsets = self.normalise(text)
        for first, last in batches(offsets):
            yield self.tokens(data, offsets[first : last + 1], want_bytes=True)

    def tokens(
        self,
        data: np.ndarray,
        offsets: np.ndarray,
        *,
        want_bytes: bool = False,
        want_characters: bool = False,
    ) -> tuple[Ragged, kernels.Spans]:
        """Return the token hashes of each document, in order, and with unit word where they are.

        Items have no order: those of a basket are sorted by their hashes, each once, or with
        ``bag`` as often as it is there. Bytes and code points of words are in the spans where they
        are wanted. With the signs ``"all"``, signs are tokens too, unless these are wanted.

        Both are valid until this thread's next call.
        """
        space, spec = self.workspace, self.spec
        size = int(offsets[-1] - offsets[0])
        spans, starts = self._no_spans(offsets), np.empty(len(offsets), np.int64)
        if spec.unit == "item":
            return self._items(data, offsets), spans
        if spec.unit == "char":
            tokens = space.array("tokens", np.uint64, 2 * size)
            form = code_points.AS_WRITTEN if spec.raw else code_points.SINGLE_SPACES
            marks = space.array("marks", np.int64, MEMORY)
            of_form = self._alphabet, form, marks
            count = code_points.characters(data, offsets, *of_form, tokens, starts)
            return Ragged(tokens[:count], starts), spans
        signs = spec.signs == "all" and not (want_bytes or want_characters)
        return self._words(
            data,
            offsets,
            signs=signs,
            want_bytes=want_bytes,
            want_characters=want_characters,
        )

    def documents(self, data: np.ndarray, offsets: np.ndarray) -> Ragged:
        """Return the tokens of documents that are compared with others, not searched in.

        A text without words is one token, unless it has only white space and characters that are
        not compared. With the signs ``"short"``, those of a text of fewer words than a shingle has
        are tokens too. It has fewer tokens than a shingle all the same.

        Valid until this thread's next call.
        """
        spec = self.spec
        if spec.unit != "word":
            return self.tokens(data, offsets)[0]
        every = spec.signs == "all"
        found, _ = self._words(data, offsets, signs=every)
        sizes = found.offsets[1:] - found.offsets[:-1]
        if every:  # a text of signs has tokens, and no word
            few_words.without_tokens(data, offsets, self._alphabet, sizes)
        rows = np.flatnonzero(sizes < (spec.n if spec.signs == "short" else 1))
        if not len(rows):
            return found
        texts = [data[offsets[row] : offsets[row + 1]] for row in rows.tolist()]
        short = self._few_words(texts, sizes[rows] == 0)
        most = len(found.values) + len(short.values)
        values, starts = self.workspace.array("documents", np.uint64, most), found.offsets.copy()
        few_words.replace_rows(*found, rows, *short, values, starts)
        return Ragged(values[: starts[-1]], starts)

    def _few_words(self, texts: list[np.ndarray], wordless: np.ndarray) -> Ragged:
        """Return the tokens of texts of few words, some of them without any."""
        data = np.concatenate([*texts, np.zeros(1, np.uint8)])
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        data.flags.writeable = ends.flags.writeable = False  # one kernel for these and for Arrow's
        found = Ragged(np.empty(0, np.uint64), np.zeros(len(ends), np.int64))
        if not wordless.all():
            signs, name = self.spec.signs == "short", "short "
            found, _ = self._words(data, ends, name, signs=signs)
            if signs:  # never as many tokens as a shingle has
                count = few_words.at_most(*found, self.spec.n - 1)
                found = Ragged(found.values[:count], found.offsets)
        if not wordless.any():
            return found
        tokens = np.empty(len(texts), np.uint64)
        marks = self.workspace.array("marks", np.int64, MEMORY)
        few_words.without_words(data, ends, self._alphabet, marks, tokens)
        rows = np.flatnonzero(wordless)
        tokens = tokens[rows]
        values, starts = np.empty(len(found.values) + len(rows), np.uint64), np.empty_like(ends)
        limits = np.cumsum([0, *(tokens != 0)], dtype=np.int64)
        few_words.replace_rows(*found, rows, tokens[tokens != 0], limits, values, starts)
        return Ragged(values[: starts[-1]], starts)

    def _no_spans(self, offsets: np.ndarray) -> kernels.Spans:
        begins = np.empty(len(offsets), np.int64)
        return kernels.Spans(_NOT_ASKED, _NOT_ASKED, begins, int(offsets[0]))

    def _words(
        self,
        data: np.ndarray,
        offsets: np.ndarray,
        name: str = "",
        *,
        signs: bool = False,
        want_bytes: bool = False,
        want_characters: bool = False,
    ) -> tuple[Ragged, kernels.Spans]:
        """Return the words, and ``signs``, of each document, in arrays of a name; and spans."""
        space, documents = self.workspace, len(offsets) - 1
        spans = self._no_spans(offsets)
        size = int(offsets[-1] - offsets[0])
        starts = np.empty(documents + 1, dtype=np.int64)
        letters = alphabet(self.spec.keep_case, signs=True) if signs else self._alphabet
        # Two words of a document have a byte between them; those of two documents, and signs, none.
        capacity = 2 * size if signs else size
        most = (capacity + documents) // 2 + 1
        tokens = space.array(f"{name}tokens", np.uint64, most)
        if want_bytes or self._stemmer:
            spans = spans._replace(bytes=space.array(f"{name}bytes", np.uint32, 2 * most))
        if want_characters:
            spans = spans._replace(characters=space.array("characters", np.uint32, 2 * most))
        if documents == 1 and size > TUNING.large_text:
            count = self._in_parts(data, offsets, letters, tokens, starts, spans)
        else:
            buffers = self._word_buffers(capacity, documents)
            how = letters, self._lower, buffers
            count = kernels.words(data, offsets, *how, tokens, starts, spans)
        if self._stemmer:
            self._stemmer(tokens[:count], data, spans)
        return Ragged(tokens[:count], starts), spans

    def _in_parts(
        self,
        data: np.ndarray,
        offsets: np.ndarray,
        letters: Alphabet,
        tokens: np.ndarray,
        starts: np.ndarray,
        spans: kernels.Spans,
    ) -> int:
        """Hash the words of a large document, a few MB of it at a time, to a gap; see `words`.

        Else the buffers would take 20 bytes for each of its bytes.
        """
        at, last = offsets.tolist()
        count = inner_bytes = 0
        found, begins = np.empty(2, np.int64), np.empty(2, np.int64)
        while at < last:
            stop = _gap_behind(data, min(at + TUNING.large_text, last), last)
            limits = np.array([at, stop], np.int64)
            limits.flags.writeable = False  # as the offsets of Arrow are
            rest = spans._replace(
                bytes=spans.bytes[2 * count :],
                characters=spans.characters[2 * count :],
                begins=begins,
            )
            buffers = self._word_buffers((stop - at) << (len(letters.sign) > 0), 1)
            how = letters, self._lower, buffers
            of_part = int(kernels.words(data, limits, *how, tokens[count:], found, rest))
            rest.characters[: 2 * of_part] -= np.uint32(inner_bytes)
            count += of_part
            inner_bytes += stop - at - int(begins[1] - begins[0])
            at = stop
        starts[:] = 0, count
        spans.begins[:] = 0, last - spans.first - inner_bytes
        return count

    def _items(self, data: np.ndarray, offsets: np.ndarray) -> Ragged:
        """Return the items of each basket by their hashes, sorted: equal sets have equal arrays."""
        first, last = int(offsets[0]), int(offsets[-1])
        lines = data[first:last]
        ends = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(lines == ord("\n")) + 1])
        lines.flags.writeable = ends.flags.writeable = False  # one kernel for these and for stems
        hashes = np.empty(len(ends) - 1, dtype=np.uint64)
        kernels.hash_tokens(lines, ends, hashes)
        return self.to_sets(Ragged(hashes, np.searchsorted(ends, offsets - first)))

    def _word_buffers(self, size: int, documents: int) -> kernels.WordBuffers:
        space = self.workspace
        kept = space.words
        if kept and len(kept.lowered) >= size + 2 * LANES and len(kept.runs) > documents:
            return kept
        capacity = (len(kept.lowered) - 2 * LANES, len(kept.runs) - 1) if kept else (0, 0)
        size, documents = (
            old if old >= new else new + new // 4
            for new, old in zip((size, documents), capacity, strict=True)
        )
        most = (size + documents) // 2 + 1
        found = kernels.WordBuffers(
            np.empty(size + 2 * LANES, np.uint8),
            np.empty(2 * most + LANES, np.int32),
            np.empty(documents + 1, np.int32),
            np.empty(most, np.uint64),
            np.empty(most, np.uint64),
            np.empty(most, np.uint8),
            np.empty(most + 1, np.int32),
            np.empty(LANES, np.uint8),
            np.empty(MEMORY, np.int64),
        )
        if found.hashes.nbytes <= _KEPT_BYTES:
            space.words = found
        return found

    def shingles(self, tokens: Ragged, hashes: np.ndarray = _NO_HASHES) -> Ragged:
        """Return the shingles of each document, in order, repetitions included.

        Valid until this thread's next call. ``hashes``, uint64[documents, 2], gets the hash of each
        token sequence; it is skipped if it has no rows.
        """
        values = self.workspace.array("shingles", np.uint64, len(tokens.values))
        offsets = np.empty_like(tokens.offsets)
        count = shingling.shingle_tokens(*tokens, self.spec.n, values, offsets, hashes)
        if self.spec.hash_bytes == 4:
            shingling.shorten(values[:count])
        return Ragged(values[:count], offsets)

    def to_sets(self, shingles: Ragged) -> Ragged:
        """Sort the shingles of each document into a set, in place."""
        found = self._sorted(shingles, self.spec.bag)
        if self.spec.bag and self.spec.hash_bytes == 4:
            shingling.shorten(found.values)  # those of second and later occurrences
            found = self._sorted(found, False)
        return found

    def apart(self, sets: Ragged, groups: np.ndarray | None) -> Ragged:
        """Mix groups, uint64[documents], into sets, in place: two groups share no shingle."""
        if groups is None:
            return sets
        mix_groups(sets, groups)
        return self._sorted(sets, False)

    def _sorted(self, shingles: Ragged, bag: bool) -> Ragged:
        longest = int(np.diff(shingles.offsets).max(initial=0))
        offsets = np.empty_like(shingles.offsets)
        scratch = self.workspace.array("sort", np.uint64, longest)
        counts = self.workspace.array("sort counts", np.int64, (1 << 16) + 1)
        count = shingling.sort_sets(*shingles, bag, scratch, counts, offsets)
        return Ragged(shingles.values[:count], offsets)

    def sets(self, texts: Texts) -> Ragged:
        """Return the set of shingles of each text: sorted 64-bit hashes, each once."""
        found = []
        for _, tokens, groups in self.ranges(texts):
            sets = self.apart(self.to_sets(self.shingles(tokens)), groups)
            found.append(Ragged(sets.values.copy(), sets.offsets))
        return found[0] if len(found) == 1 else joined(found)


def leading(values: np.ndarray) -> np.ndarray:
    """Return the 4 bytes of shingles of 4 bytes, uint32[n]."""
    return (values >> np.uint64(32)).astype(np.uint32)


def of_leading(values: np.ndarray) -> np.ndarray:
    """Return shingles of 4 bytes as all kernels take them, uint64[n]."""
    found = values.astype(np.uint64) << np.uint64(32)
    shingling.shorten(found)
    return found


def _gap_behind(data: np.ndarray, at: int, last: int) -> int:
    """Return the byte of the first white space from one on; ``last`` where there is none before it.

    It is behind another character, and not behind a soft hyphen, which may join two lines.
    """
    step = TUNING.near_bytes
    for low in range(at, last, step):
        here = data[low - 2 : min(low + step, last)]
        white = here <= ord(" ")
        hyphen = (here[:-2] == 0xC2) & (here[1:-1] == 0xAD)
        if (gaps := np.flatnonzero(white[2:] & ~white[1:-1] & ~hyphen)).size:
            return low + int(gaps[0])
    return last


def shingle_sets(texts: Texts, spec: str | ShingleSpec = "word:5") -> Ragged:
    """Return the set of shingles of each text: sorted hashes, each once.

    Args:
        texts: Arrow array of strings, or a list; None counts as empty.
        spec: How a text becomes a set of shingles.

    Returns:
        Sets by document: uint64[], or uint32[] of shingles of 4 bytes.

    Examples:
        >>> sets = shingle_sets(["to be or not to be", "", "To be, or not"], "word:2")
        >>> sets.offsets.tolist()
        [0, 4, 4, 7]
    """
    tokeniser = Tokeniser(spec)
    found = tokeniser.sets(texts)
    return found if tokeniser.spec.hash_bytes == 8 else Ragged(leading(found.values), found.offsets)
