"""Presets of linkages: fields with their comparisons, by the names that columns usually have."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from neardup.io.formats.entries.citation_columns import doi, pages, year
from neardup.linkage.fields import Field

#: Between members of a list of authors; initials, with which a name may end.
_AUTHORS = re.compile(r"\s*;\s*|\s+and\s+|\s*\|\s*")
_INITIALS = re.compile(r"(?:[A-Z]\.?-?){1,4}")
#: Digits of telephone numbers that count.
_DIGITS = 9
#: Beginnings and ends of titles of notices about other works.
_NOTICES = {
    "erratum": re.compile(
        r"^\W*(?:(?:author |publisher )?corrections?(?: to\b|\s*[:.])|errat(?:um|a)\b|"
        r"corrigend(?:um|a)\b|addend(?:um|a)\b)|\(vol\W.*\)\W*$|\berrat(?:um|a)\W*$",
        re.IGNORECASE,
    ),
    "retraction": re.compile(r"^\W*retraction(?: (?:note|notice|to)\b|\s*[:.])", re.IGNORECASE),
    "reply": re.compile(
        r"^\W*(?:re\s*:|(?:authors?.? |in )?(?:reply|response)(?: to\b|\s*[:.])|"
        r"comments? on\b|commentary\s*[:.])",
        re.IGNORECASE,
    ),
}
_PART = re.compile(r"\bpart\s+([ivx]+|[0-9]+|one|two|three|four)\b", re.IGNORECASE)
_NUMBERS = {
    **dict(
        zip(
            ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"],
            map(str, range(1, 11)),
            strict=True,
        )
    ),
    **dict(zip(["one", "two", "three", "four"], "1234", strict=True)),
}


class PresetField(NamedTuple):
    """A field of a preset.

    Attributes:
        compare: How its values are compared.
        columns: Names of columns; case, spaces and signs in them do not count. Two that are joined
            by `` + `` are one value together; that of another field is ``=FIELD``.
        clean: Makes a value that is the same in all sources; None for values as they are.
        agrees: Whether two records that differ in it are no match. It has the weight 0.
    """

    compare: str
    columns: str
    clean: Callable[[str], str] | None = None
    agrees: bool = False


def surnames(value: str) -> str:
    """Return the surnames of authors.

    >>> surnames("Smith, John; Doe, Jane A."), surnames("Smith J., van der Berg A.-B.")
    ('Smith Doe', 'Smith van der Berg')
    >>> surnames("Jane A. Doe and John Smith"), surnames("Smith JA, Doe J, et al.")
    ('Doe Smith', 'Smith Doe')
    """
    every = [name for name in _AUTHORS.split(value.strip(" .;")) if name]
    if len(every) == 1 and value.count(",") != 1:
        every = value.strip(" .;").split(",")
    elif len(every) == 1:
        first, _, second = every[0].partition(",")
        # A surname with its given names, or two names with initials.
        every = [first, second] if _INITIALS.fullmatch((first.split() or [""])[-1]) else every
    return " ".join(filter(None, map(_surname, every)))


def _surname(name: str) -> str:
    name = name.strip()
    if name.lower().strip(". ") in ("et al", "others"):
        return ""
    if "," in name:
        return name.partition(",")[0].strip()
    words = name.split()
    if len(words) > 1 and _INITIALS.fullmatch(words[-1]):
        while len(words) > 1 and _INITIALS.fullmatch(words[-1]):
            words.pop()
        return " ".join(words)
    return words[-1] if words else ""


def phone(value: str) -> str:
    """Return the last digits of a number of a telephone, which have no prefix of a country.

    >>> phone("+1 (353) 792-0729"), phone("353.792.0729"), phone("none")
    ('537920729', '537920729', '')
    """
    return "".join(filter(str.isdigit, value))[-_DIGITS:]


def work_kind(title: str) -> str:
    """Return which kind of work a title names: an article, a notice about one, or a part of one.

    >>> work_kind("Erratum: On bats"), work_kind("Re: On bats"), work_kind("On bats (vol 3, pg 7)")
    ('erratum', 'reply', 'erratum')
    >>> work_kind("On bats. Part II: wings"), work_kind("On bats, part 2"), work_kind("On bats")
    ('part 2', 'part 2', 'article')
    """
    for kind, pattern in _NOTICES.items():
        if pattern.search(title):
            return kind
    found = _PART.search(title)
    if found is None:
        return "article"
    number = found[1].lower()
    return f"part {_NUMBERS.get(number, number)}"


#: By name; the columns of exports of Scopus, Web of Science, PubMed and Ovid are among them.
PRESETS: dict[str, dict[str, PresetField]] = {
    "citations": {
        "title": PresetField(
            "text", "title|article title|document title|primary title|ti|t1|titel|titre|título"
        ),
        "author": PresetField(
            "text",
            "author|authors|author names|author list|au|a1|author full names|auteurs|autoren",
            surnames,
        ),
        "year": PresetField(
            "digits",
            "year|publication year|pub year|py|yr|y1|date|publication date|pub date|dp|jahr",
            year,
        ),
        "journal": PresetField(
            "text",
            "journal|source title|journal book|journal title|publication title|publication|"
            "journal name|jn|so|jo|jt|t2|secondary title|source|abbreviated source title|ta",
        ),
        "volume": PresetField("exact", "volume|vol|vl|vo|vi"),
        "number": PresetField("exact", "number|issue|issue number|no|ip|is"),
        "pages": PresetField(
            "digits",
            "pages|page range|pagination|pg|page start + page end|start page + end page|bp + ep|"
            "sp + ep|first page + last page|page start|start page|bp|sp",
            pages,
        ),
        "doi": PresetField("exact", "doi|digital object identifier|di|do|doi number|doi link", doi),
        "abstract": PresetField("text", "abstract|abstract note|ab|n2|abstracts|summary"),
        "kind": PresetField("exact", "=title", work_kind, agrees=True),
    },
    "persons": {
        "given_name": PresetField(
            "text", "given name|given|first name|first|forename|fname|firstname|vorname|prénom"
        ),
        "surname": PresetField(
            "text", "surname|last name|last|family name|family|lname|nachname|familienname|nom"
        ),
        "name": PresetField("text", "name|full name|fullname|person name|patient name|fn"),
        "birth": PresetField(
            "digits",
            "birth|date of birth|dob|birth date|birthday|born|bday|birthdate|geburtsdatum|"
            "birth year|year of birth|yob",
        ),
        "sex": PresetField("exact", "sex|gender|geschlecht"),
        "street": PresetField(
            "text",
            "street|address|street address|address 1|address line 1|addr|adr|strasse|straße",
        ),
        "postcode": PresetField("exact", "postcode|postal code|zip|zip code|post code|plz"),
        "city": PresetField("text", "city|town|suburb|place|municipality|locality|ort|stadt"),
        "phone": PresetField(
            "digits",
            "phone|telephone|phone number|tel|mobile|mobile phone|cell|work phone|telefon",
            phone,
        ),
        "email": PresetField("text", "email|e mail|email address|mail"),
        "company": PresetField(
            "text",
            "company|company name|organization|organisation|employer|account|account name|firma",
        ),
    },
}


def preset_fields(preset: str, given: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of a preset; those that are given replace its own, or come after them."""
    fields = {name: _field(name, of) for name, of in PRESETS[preset].items()}
    for field in given:
        known = fields.get(field.name)
        if known is not None and not field.columns:
            field = Field(field.name, field.compare, field.weight, known.columns)
        fields[field.name] = field
    return tuple(fields.values())


def _field(name: str, of: PresetField) -> Field:
    return Field(name, of.compare, float(not of.agrees), tuple(of.columns.split("|")))


def agreeing(preset: str | None, fields: tuple[Field, ...]) -> tuple[str, ...]:
    """Return the fields in which records must agree by a preset; none that others replace."""
    known = {} if preset is None else PRESETS[preset]
    return tuple(name for name, of in known.items() if of.agrees and _field(name, of) in fields)


def cleaner(preset: str | None, field: str) -> Callable[[str], str] | None:
    """Return what makes a value of a field as those of all sources are; None if they are so."""
    of = PRESETS[preset].get(field) if preset is not None else None
    return None if of is None else of.clean
