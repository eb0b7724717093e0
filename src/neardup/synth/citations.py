"""Citations as databases have them: three files in three formats, each with habits of its own.

Among them are errata of articles, and articles in two parts, which are other works.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from neardup.synth.demo_notes import TERMS
from neardup.synth.linked_records import File, LinkedFiles, Record, RecordSpec, as_csv
from neardup.synth.person_names import GIVEN, surname
from neardup.synth.synthetic_words import make_words

#: Shares of the works that are an erratum of another one, and a second part of it.
_ERRATA, _PARTS = 0.03, 0.03
_TITLES = (
    "{of} {drug} on {outcome} in patients with {disease}",
    "{drug} versus {other} for {disease}: a {design}",
    "{outcome} in {disease} after {procedure}: a {design}",
    "Prevalence and predictors of {disease} in {among}: a {design}",
    "The role of {drug} in {procedure} for {disease}",
    "{disease} presenting as {second}: a case report",
    "{procedure} and {outcome} of {disease} in {among}",
    "Association between {outcome} and {disease} treated with {drug}",
)
_OF = ("Effects of", "Impact of", "Efficacy of", "Safety of", "Long-term effects of")
_OUTCOMES = (
    *("quality of life", "mortality", "length of stay", "pain scores", "readmission"),
    *("postoperative complications", "bone density", "cognitive decline", "survival"),
    *("wound healing", "blood pressure", "sleep quality", "functional outcome", "costs"),
)
_DESIGNS = (
    *("randomized controlled trial", "systematic review", "retrospective cohort study"),
    *("cross-sectional study", "pilot study", "meta-analysis", "prospective study"),
)
_AMONG = (
    *("rural Ethiopia", "northern Italy", "primary care", "nursing homes", "Taiwan", "Brazil"),
    *("older adults", "children", "a tertiary hospital", "Sweden", "pregnant women", "veterans"),
)
_HOW = ("acute", "chronic", "recurrent", "severe", "pediatric", "idiopathic", "bilateral", "early")
_DISEASES = [term for term in TERMS if term.endswith(("itis", "osis", "oma", "opathy", "algia"))]
_PROCEDURES = [term for term in TERMS if term.endswith(("ectomy", "oscopy", "otomy", "ostomy"))]
_JOURNALS = (
    *("Journal of {}", "American Journal of {}", "European Journal of {}", "Annals of {}"),
    *("International Journal of {}", "Archives of {}", "{} Research", "Clinical {}"),
)
#: Fields of journals, and other words of their names, with the abbreviations of these.
_SUBJECTS = (
    "Cardiology=Cardiol Neurology=Neurol Surgery=Surg Dermatology=Dermatol Nursing=Nurs "
    "Psychiatry=Psychiatry Urology=Urol Oncology=Oncol Pain=Pain Pediatrics=Pediatr "
    "Anesthesia=Anesth Radiology=Radiol"
)
_WORDS = (
    "Journal=J American=Am European=Eur Annals=Ann Archives=Arch International=Int Research=Res "
    "Clinical=Clin of="
)
_ABBREVIATED = dict(word.split("=") for word in f"{_SUBJECTS} {_WORDS}".split())
_FIELDS = [word.partition("=")[0] for word in _SUBJECTS.split()]
_SMALL = ("a", "an", "and", "as", "for", "in", "of", "on", "the", "with", "after", "between")


@dataclass(frozen=True, slots=True)
class _Work:
    """A work, without the habits of any database."""

    title: str
    authors: tuple[tuple[str, str], ...]  # given names, surname
    journal: str
    year: int
    volume: int
    number: int
    first: int
    last: int
    doi: str
    abstract: str


def citations(spec: RecordSpec) -> LinkedFiles:
    """Generate citations as RIS, BibTeX, and CSV as Scopus exports it; ids differ in all files.

    >>> made = citations(RecordSpec(30, near=0.5))
    >>> [file.ending for file in made.files], len(made.truth)
    (['.ris', '.bib', '.csv'], 30)
    """
    draw = random.Random(f"citations {spec.seed}")
    works = _works(draw, spec.sources)
    of = [*range(spec.sources)]
    of += [draw.randrange(spec.sources) for _ in range(spec.documents - spec.sources)]
    draw.shuffle(of)
    there: dict[int, list[int]] = {}
    rows: list[list[Record]] = [[], [], []]
    truth = list[Record]()
    for number, work in enumerate(of):
        # A tenth of the further records are in a file that has one already.
        others = [k for k in range(3) if k not in there.get(work, ())] or [0, 1, 2]
        file = draw.choice(others if draw.random() < 0.9 else [0, 1, 2])
        there.setdefault(work, []).append(file)
        record = _HABITS[file](_noisy(works[work], draw), number, draw)
        rows[file].append(record)
        truth.append({"id": next(iter(record.values())), "group": f"work-{work:07}"})
    return LinkedFiles(
        (
            File(".ris", "".join(map(_ris, rows[0]))),
            File(".bib", "".join(map(_bibtex, rows[1]))),
            File(".csv", as_csv(rows[2], _SCOPUS)),
        ),
        truth,
    )


def _works(draw: random.Random, count: int) -> list[_Work]:
    works = list[_Work]()
    while len(works) < count:
        work = _work(draw)
        if works and draw.random() < _ERRATA:
            work = _erratum(works[draw.randrange(len(works))], work)
        elif draw.random() < _PARTS and len(works) + 2 <= count:
            works.append(replace(work, title=f"{work.title}. Part I"))
            again = draw.randint(0, 1)
            work = replace(
                _work(draw),
                title=f"{work.title}. Part II",
                authors=work.authors,
                journal=work.journal,
                year=work.year + again,
                volume=work.volume + again,
            )
        works.append(work)
    return works


def _erratum(of: _Work, other: _Work) -> _Work:
    """Return the erratum of a work, which has pages and DOI of its own."""
    first = other.first + 500
    title = of.title if of.title.startswith("Erratum") else f"Erratum: {of.title}"
    return replace(
        of, title=title, number=other.number, first=first, last=first, doi=other.doi, abstract=""
    )


@lru_cache
def _drugs() -> list[str]:
    return [word for word in make_words(900)[420:] if word.isascii() and len(word) > 4]


def _work(draw: random.Random) -> _Work:
    disease, second = (f"{draw.choice(_HOW)} {draw.choice(_DISEASES)}" for _ in range(2))
    title = draw.choice(_TITLES).format(
        of=draw.choice(_OF),
        drug=draw.choice(_drugs()),
        other=draw.choice(_drugs()),
        outcome=draw.choice(_OUTCOMES),
        disease=disease,
        second=second,
        procedure=draw.choice(_PROCEDURES),
        design=draw.choice(_DESIGNS),
        among=draw.choice(_AMONG),
    )
    names = []
    for _ in range(min(12, 1 + int(draw.expovariate(0.3)))):
        given = draw.choice(GIVEN)[0]
        more = f" {draw.choice(GIVEN)[0]}" if draw.random() < 0.4 else ""
        names.append((given + more, surname(draw)))
    year, first = draw.randint(1985, 2024), draw.randint(1, 1500)
    volume, number = year - 1960 - draw.randint(0, 15), draw.randint(1, 12)
    words = make_words(8000)
    sentences = [" ".join(draw.choices(words, k=12)) for _ in range(6)]
    return _Work(
        title[0].upper() + title[1:],
        tuple(names),
        draw.choice(_JOURNALS).format(draw.choice(_FIELDS)),
        year,
        volume,
        number,
        first,
        first + draw.randint(2, 14),
        f"10.{draw.randint(1000, 1060)}/j.{draw.randrange(10**8):08}",
        ". ".join(f"{title}, {text}" for text in sentences),
    )


def _noisy(work: _Work, draw: random.Random) -> _Work:
    """Return a work as any database may have it wrong."""
    title, authors = work.title, work.authors
    if draw.random() < 0.03:
        at = draw.randrange(len(title) - 1)
        title = title[:at] + title[at + 1 :]
    if draw.random() < 0.03 and ": " in title and not title.startswith("Erratum"):
        title = (
            title.partition(": ")[0] + title.partition(". Part")[1] + title.partition(". Part")[2]
        )
    if draw.random() < 0.03 and len(authors) > 1:
        authors = (authors[1], authors[0], *authors[2:])
    year = work.year - (draw.random() < 0.1)  # that of the version that was online first
    abstract = work.abstract if draw.random() < 0.6 else ""
    doi = work.doi if draw.random() < 0.75 else ""
    return replace(work, title=title, authors=authors, year=year, abstract=abstract, doi=doi)


def _initials(given: str, dot: str = "") -> str:
    return "".join(name[0] + dot for name in given.split())


def _titled(title: str) -> str:
    """Return a title in which all words but small ones begin with a capital."""
    words = title.split(" ")
    return " ".join(w if k and w in _SMALL else w[:1].upper() + w[1:] for k, w in enumerate(words))


def _short(journal: str, dot: str = "") -> str:
    words = [(word, _ABBREVIATED[word]) for word in journal.split()]
    return " ".join(short + dot * (short != word) for word, short in words if short)


def _pages(work: _Work) -> str:
    """Return pages of which the second number has only the digits that differ."""
    first, last = str(work.first), str(work.last)
    same = 0
    while len(first) == len(last) and same < len(last) - 1 and first[same] == last[same]:
        same += 1
    return first if first == last else f"{first}-{last[same:]}"


def _of_database(work: _Work, number: int, draw: random.Random) -> Record:
    """Return a record of RIS: full names, short names of journals and pages, a point at the end."""
    short = draw.random() < 0.8
    return {
        "ID": f"R{number:07}",
        "TI": work.title + "." * (draw.random() < 0.5),
        "AU": "\n".join(f"{surname}, {given}" for given, surname in work.authors),
        "JO": _short(work.journal),
        "PY": str(work.year) if short else f"{work.year}/{draw.randint(1, 12):02}//",
        "VL": str(work.volume),
        "IS": str(work.number) if draw.random() < 0.8 else "",
        "SP": _pages(work) if short else str(work.first),
        "EP": "" if short else str(work.last),
        "DO": work.doi,
        "AB": work.abstract,
    }


def _of_library(work: _Work, number: int, draw: random.Random) -> Record:
    """Return an entry of BibTeX: initials, titles in capitals, DOIs as addresses."""
    names = [f"{surname}, {_initials(given, '.')}" for given, surname in work.authors]
    if len(names) > 3 and draw.random() < 0.3:
        names = [*names[:3], "others"]
    return {
        "key": f"B{number:07}",
        "title": f"{{{_titled(work.title)}}}",
        "author": " and ".join(names),
        "journal": _short(work.journal, ".") if draw.random() < 0.5 else work.journal,
        "year": str(work.year),
        "volume": str(work.volume) if draw.random() < 0.9 else "",
        "number": str(work.number) if draw.random() < 0.6 else "",
        "pages": f"{work.first}--{work.last}" if draw.random() < 0.9 else "",
        "doi": f"https://doi.org/{work.doi}" if work.doi and draw.random() < 0.7 else "",
        "abstract": work.abstract,
    }


_SCOPUS = (
    *("EID", "Authors", "Title", "Year", "Source title", "Volume", "Issue", "Art. No."),
    *("Page start", "Page end", "DOI", "Abstract", "Document Type"),
)


def _of_scopus(work: _Work, number: int, draw: random.Random) -> Record:
    """Return a row of CSV: initials behind names, pages in two columns."""
    values = (
        f"2-s2.0-{number:011}",
        ", ".join(f"{surname} {_initials(given, '.')}" for given, surname in work.authors),
        work.title,
        str(work.year),
        work.journal,
        str(work.volume),
        str(work.number) if draw.random() < 0.9 else "",
        "",
        str(work.first),
        str(work.last) if draw.random() < 0.9 else "",
        work.doi.upper() if draw.random() < 0.2 else work.doi,
        work.abstract or "[No abstract available]",
        "Erratum" if work.title.startswith("Erratum") else "Article",
    )
    return dict(zip(_SCOPUS, values, strict=True))


_HABITS: tuple[Callable[[_Work, int, random.Random], Record], ...]
_HABITS = (_of_database, _of_library, _of_scopus)


def _ris(record: Record) -> str:
    lines = ["TY  - JOUR"]
    for tag, values in record.items():
        lines += [f"{tag}  - {value}" for value in values.split("\n") if value]
    return "\n".join([*lines, "ER  - ", "", ""])


def _bibtex(record: Record) -> str:
    key, *fields = record.items()
    lines = [f"  {name} = {{{value}}}," for name, value in fields if value]
    return "\n".join([f"@article{{{key[1]},", *lines, "}", "", ""])
