"""Notes like clinical ones, and which of them were derived from which.

The words of a note depend on the seed and its position only. No note is cached for those that are
derived from it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of, strings_of
from neardup.errors import SpecError
from neardup.spec import check_integer, check_probability, nearest
from neardup.synth.note_files import Written, write_notes
from neardup.synth.paper_shape import CHANGED_IN_CLUSTERS, copies_of_paper, enter_clusters

KINDS = ("progress", "discharge", "admission", "nursing", "radiology", "consult", "operative", "ed")
#: The share of its words that a near-duplicate changes is uniform from 0 to this.
CHANGED = 0.1
#: Shares of near-duplicates and exact copies, or the clusters of a published corpus.
SHAPES = ("shares", "paper")

_TYPES: tuple[pa.DataType, ...] = (pa.string(), pa.float64(), pa.int64())
_NAME, _SHARE, _DOC = _TYPES
_WORDS = (Path(__file__).parent / "note_words.txt").read_text(encoding="utf-8").split()
COMMON = [word for word in _WORDS if not word.endswith(":")]
HEADINGS = [word for word in _WORDS if word.endswith(":")]
_ROOTS = "aden angi arthr bronch cardi cholecyst col cyst derm encephal enter gastr hepat lymph"
_ROOTS += " mening"
_ROOTS += " my nephr neur oste ot pancreat phleb pneum proct rhin spondyl thorac thyroid ur vascul"
_SUFFIXES = "itis osis oma emia algia ectomy opathy ogram oscopy otomy ostomy orrhea otic al ic"
TERMS = [root + suffix for suffix in _SUFFIXES.split() for root in _ROOTS.split()]
_NUMBERS = [f"{high}/{low}" for high in range(100, 180, 5) for low in range(55, 100, 15)]
_ALL = dict.fromkeys([*COMMON, *TERMS, *_NUMBERS, *map(str, range(100))])
#: The probability of a word is 1 / rank (over their sum).
VOCABULARY = list(_ALL)
_WEIGHTS = 1 / np.arange(1.0, len(VOCABULARY) + 1)
_UP_TO = (_WEIGHTS / _WEIGHTS.sum()).cumsum()
_UP_TO /= _UP_TO[-1]
# A word of a note is a number: in the vocabulary, or, that many words later, of a further form.
_BEGINS = [word[0].upper() + word[1:] for word in VOCABULARY]
_LAST = len(VOCABULARY)
_FIRST, _HEADED, _NONE = 2 * _LAST, 3 * _LAST, -1
_ENDS = [f"{word}." for word in VOCABULARY]
_HEADS = [f"\n\n{heading} {word}" for heading in HEADINGS for word in _BEGINS]
_EVERY = [word.encode() for word in [*VOCABULARY, *_ENDS, *_BEGINS, *_HEADS]]
_FORMS = strings_of(_EVERY).cast(_NAME)
_COLUMNS = np.array([16, 12, 28, len(KINDS), 1001])
_BATCH = 4096
Row = dict[str, Any]
#: Words of a note, as numbers of `_FORMS`.
Forms = npt.NDArray[np.int64]

#: Columns of the notes, and of their ground truth.
NOTES = pa.schema({"id": _NAME, "text": _NAME, "date": _NAME, "kind": _NAME, "quality": _SHARE})
_OF_SOURCE = {"source": _DOC, "source_id": _NAME, "changed": _SHARE}
TRUTH = pa.schema({"doc": _DOC, "id": _NAME, "kind": _NAME, **_OF_SOURCE})


@dataclass(frozen=True, slots=True)
class NoteSpec:
    """Parameters of synthetic notes; ``near`` and ``exact`` are shares of all.

    With ``shape="paper"`` they have no effect: notes are in clusters as those of Shenoy et al.
    (2017, section 12), see `neardup.synth.paper_shape`.

    >>> NoteSpec(1000).counts
    {'original': 700, 'near': 200, 'exact': 100}
    """

    documents: int
    seed: int = 0
    near: float = 0.2
    exact: float = 0.1
    shape: str = "shares"

    def __post_init__(self) -> None:
        check_integer("documents", self.documents, 1, 2**31 - 1)
        check_integer("seed", self.seed, 0, 2**63 - 1)
        for name, share in (("near", self.near), ("exact", self.exact)):
            check_probability(name, share, low_open=False, high_open=False)
        if self.shape not in SHAPES:
            raise SpecError(f"no shape {self.shape!r}", nearest(str(self.shape), SHAPES))
        if self.shape == "paper" and (self.near, self.exact) != (0.2, 0.1):
            raise SpecError("the shape has its shares of copies", "leave out `near` and `exact`")
        if self.counts["original"] < 1:
            counts = f"no original is left among {self.documents} documents: {self.counts}"
            raise SpecError(counts, "lower the shares")

    @property
    def counts(self) -> dict[str, int]:
        if self.shape == "paper":
            near, exact = copies_of_paper(self.documents)
        else:
            near, exact = round(self.near * self.documents), round(self.exact * self.documents)
        return {"original": self.documents - near - exact, "near": near, "exact": exact}


def write(
    spec: NoteSpec, output: Path, truth: Path | None = None, overwrite: bool = False
) -> Written:
    """Write notes as JSON lines or Parquet, and their ground truth as Parquet, both by rename."""
    return write_notes(batches(spec), (NOTES, TRUTH), output, truth, overwrite)


def batches(spec: NoteSpec) -> Iterator[tuple[list[Row], list[Row]]]:
    """Generate the rows of the notes and of their ground truth."""
    rng, total = np.random.default_rng(spec.seed), spec.documents
    near, exact = spec.counts["near"], spec.counts["exact"]
    order = rng.permutation(total)
    source = np.full(total, -1)
    is_near = np.zeros(total, bool)
    if spec.shape == "paper":
        enter_clusters(order, source, is_near)
    else:
        source[order[: near + exact]] = rng.choice(order[near + exact :], near + exact)
        is_near[order[:near]] = True
    for start in range(0, total, _BATCH):
        docs = range(start, min(start + _BATCH, total))
        drawn = [_draw(spec, doc, int(source[doc]), bool(is_near[doc])) for doc in docs]
        for (_, note, _), text in zip(drawn, _texts([words for words, _, _ in drawn]), strict=True):
            note["text"] = text
        yield [note for _, note, _ in drawn], [known for _, _, known in drawn]


def _draw(spec: NoteSpec, doc: int, source: int, near: bool) -> tuple[Forms, Row, Row]:
    """Draw the words of a note, its row, still without its text, and its row of the truth."""
    rng = np.random.default_rng((spec.seed, 1, doc))
    words, changed = _words(spec.seed, doc if source < 0 else source), None
    if near:
        most = CHANGED if spec.shape == "shares" else CHANGED_IN_CLUSTERS
        words, changed = _change(words, rng, most)
    year, month, day, kind, quality = rng.integers(_COLUMNS).tolist()
    note = {
        "id": _id(spec, doc),
        "text": "",
        "date": f"{2008 + year}-{month + 1:02}-{day + 1:02}",
        "kind": KINDS[kind],
        "quality": quality / 1000,
    }
    known: dict[str, Any] = {"doc": doc, "id": note["id"], "kind": "original"}
    if source >= 0:
        known |= {"kind": "near" if near else "exact", "source": source, "changed": changed}
        known["source_id"] = _id(spec, source)
    return words, note, known


def _texts(notes: list[Forms]) -> list[str]:
    """Write the words of notes out."""
    ends = np.cumsum([0, *map(len, notes)], dtype=np.int32)
    words = _FORMS.take(array_of(np.concatenate(notes)))
    listed: Any = pa.ListArray
    joined: Any = pc.binary_join(listed.from_arrays(array_of(ends), words), " ")
    joined = pc.replace_substring(joined, " \n", "\n")
    return cast("list[str]", pc.utf8_ltrim_whitespace(joined).to_pylist())


def _id(spec: NoteSpec, doc: int) -> str:
    return f"note-{doc:0{max(7, len(str(spec.documents - 1)))}}"


def draw(rng: np.random.Generator, count: int) -> Forms:
    """Return so many words, as numbers in the vocabulary."""
    return np.searchsorted(_UP_TO, rng.random(count), side="right")


def _words(seed: int, doc: int) -> Forms:
    """Return the 50 to 800 words of an original, with headings and in sentences of 11 words."""
    rng = np.random.default_rng((seed, 0, doc))
    words = draw(rng, 50 + int(750 * rng.beta(2, 4)))
    words[::11] += _FIRST
    words[10::11] += _LAST
    words[::55] += _HEADED - _FIRST + _LAST * rng.integers(len(HEADINGS), size=len(words[::55]))
    return words


def _change(words: Forms, rng: np.random.Generator, most: float) -> tuple[Forms, float]:
    """Replace some words by others, one in ten of them by none and one in ten by two."""
    length = len(words)
    count = round(rng.uniform(0, most) * length)
    positions = rng.choice(length, count, replace=False)
    words[positions] = draw(rng, count)
    words[positions[::10]] = _NONE
    second = positions[5::10]
    words = np.insert(words, second + 1, draw(rng, len(second)))
    return words[words != _NONE], count / length
