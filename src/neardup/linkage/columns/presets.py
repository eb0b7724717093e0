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


class PresetField(NamedTuple):
    """A field of a preset.

    Attributes:
        compare: How its values are compared.
        columns: Names of columns; case, spaces and signs in them do not count. Two that are joined
            by `` + `` are one value together.
        clean: Makes a value that is the same in all sources; None for values as they are.
    """

    compare: str
    columns: str
    clean: Callable[[str], str] | None = None


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
            "digits", "phone|telephone|phone number|tel|mobile|mobile phone|cell|telefon"
        ),
        "email": PresetField("text", "email|e mail|email address|mail"),
    },
}


def preset_fields(preset: str, given: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of a preset; those that are given replace its own, or come after them."""
    fields = {
        name: Field(name, of.compare, columns=tuple(of.columns.split("|")))
        for name, of in PRESETS[preset].items()
    }
    for field in given:
        known = fields.get(field.name)
        if known is not None and not field.columns:
            field = Field(field.name, field.compare, field.weight, known.columns)
        fields[field.name] = field
    return tuple(fields.values())


def cleaner(preset: str | None, field: str) -> Callable[[str], str] | None:
    """Return what makes a value of a field as those of all sources are; None if they are so."""
    of = PRESETS[preset].get(field) if preset is not None else None
    return None if of is None else of.clean
