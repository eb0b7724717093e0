"""Notes like clinical ones, and which of them were derived from which.

The words of a note depend on the seed and its position only. No note is cached for those that are
derived from it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.errors import SpecError
from neardup.spec import check_integer, check_probability, nearest
from neardup.synth.note_files import Written, write_notes
from neardup.synth.paper_shape import CHANGED_IN_CLUSTERS, copies_of_paper, enter_clusters

KINDS = ("progress", "discharge", "admission", "nursing", "radiology", "consult", "operative", "ed")
#: The share of its words that a near-duplicate changes is uniform from 0 to this.
CHANGED = 0.1
#: Shares of near-duplicates and exact copies, or the clusters of a published corpus.
SHAPES = ("shares", "paper")

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
VOCABULARY = np.array(list(_ALL), object)
_WEIGHTS = 1 / np.arange(1.0, len(VOCABULARY) + 1)
_WEIGHTS /= _WEIGHTS.sum()
_BATCH = 4096
Row = dict[str, Any]

_TYPES: tuple[pa.DataType, ...] = (pa.string(), pa.float64(), pa.int64())
_NAME, _SHARE, _DOC = _TYPES
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
        rows = [_rows(spec, doc, int(source[doc]), bool(is_near[doc])) for doc in docs]
        yield [note for note, _ in rows], [known for _, known in rows]


def _rows(spec: NoteSpec, doc: int, source: int, near: bool) -> tuple[Row, Row]:
    rng = np.random.default_rng((spec.seed, 1, doc))
    words = _words(spec.seed, doc if source < 0 else source)
    most = CHANGED if spec.shape == "shares" else CHANGED_IN_CLUSTERS
    changed = _change(words, rng, most) if near else None
    year, month, day, kind, quality = rng.integers([16, 12, 28, len(KINDS), 1001]).tolist()
    note = {
        "id": _id(spec, doc),
        "text": " ".join(filter(None, words)).replace(" \n", "\n").lstrip(),
        "date": f"{2008 + year}-{month + 1:02}-{day + 1:02}",
        "kind": KINDS[kind],
        "quality": quality / 1000,
    }
    known: dict[str, Any] = {"doc": doc, "id": note["id"], "kind": "original"}
    if source >= 0:
        known |= {"kind": "near" if near else "exact", "source": source, "changed": changed}
        known["source_id"] = _id(spec, source)
    return note, known


def _id(spec: NoteSpec, doc: int) -> str:
    return f"note-{doc:0{max(7, len(str(spec.documents - 1)))}}"


def draw(rng: np.random.Generator, count: int) -> npt.NDArray[np.object_]:
    """Return so many words of the vocabulary."""
    return rng.choice(VOCABULARY, count, p=_WEIGHTS)


def _words(seed: int, doc: int) -> npt.NDArray[np.object_]:
    """Return the 50 to 800 words of an original, with headings and in sentences of 11 words."""
    rng = np.random.default_rng((seed, 0, doc))
    words = draw(rng, 50 + int(750 * rng.beta(2, 4)))
    words[::11] = [word[0].upper() + word[1:] for word in words[::11]]
    words[10::11] += "."
    headed = zip(rng.choice(HEADINGS, len(words[::55])), words[::55], strict=True)
    words[::55] = [f"\n\n{heading} {word}" for heading, word in headed]
    return words


def _change(words: npt.NDArray[np.object_], rng: np.random.Generator, most: float) -> float:
    """Replace some words by others, one in ten of them by none and one in ten by two."""
    count = round(rng.uniform(0, most) * len(words))
    positions = rng.choice(len(words), count, replace=False)
    words[positions] = draw(rng, count)
    words[positions[::10]] = ""
    words[positions[5::10]] += " " + draw(rng, len(positions[5::10]))
    return count / len(words)
