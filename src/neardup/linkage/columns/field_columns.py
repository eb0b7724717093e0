"""Which column of each file a field is: by its name, by one of several, or as a user maps it."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from neardup.errors import ColumnError, SpecError, spelled
from neardup.io.source import Source
from neardup.linkage.fields import Field
from neardup.options.input_tables import open_table
from neardup.options.option_groups import Reading

#: ``FILE:FIELD=COLUMN`` each, or for each file, or for all of them, the column of a field.
ColumnMap: TypeAlias = Mapping[str, Any] | Iterable[str] | str | None
#: What joins the names of columns that are one value together.
JOIN = " + "
_MAP = "for example people.csv:given=first, or given=first for all files"


def letters(files: int) -> list[str]:
    """Return short names of files: a to z, aa, and so on, as the columns of a sheet.

    >>> letters(28)[25:]
    ['z', 'aa', 'ab']
    """
    found = list[str]()
    for number in range(1, files + 1):
        name = ""
        while number:
            number, digit = divmod(number - 1, 26)
            name = chr(ord("a") + digit) + name
        found.append(name)
    return found


def maps_of(
    given: ColumnMap, sources: Sequence[Any], fields: Sequence[str]
) -> list[dict[str, str]]:
    """Return the columns of the fields that are mapped, for each source.

    Raises:
        SpecError: A file is none of the sources, a field is not compared, or is mapped twice.
    """
    found: list[dict[str, str]] = [{} for _ in sources]
    called = named_files(sources)
    for files, field, column in _entries(given, called):
        if field not in fields:
            raise SpecError(
                f"`map` names {spelled(field)}, which is no field that is compared",
                f"the fields are {', '.join(fields)}",
            )
        for number in files:
            if found[number].setdefault(field, column) != column:
                raise SpecError(f"`map` has two columns for the field {field!r} of one file")
    return found


def named_files(sources: Sequence[Any]) -> dict[str, list[int]]:
    """Return the sources by their names: a path, a name of a file, a letter."""
    found = dict[str, list[int]]()
    for number, source in enumerate(sources):
        if isinstance(source, str | os.PathLike):
            for name in dict.fromkeys((os.fspath(source), Path(os.fspath(source)).name)):
                found.setdefault(name, []).append(number)
    for number, name in enumerate(letters(len(sources))):
        found.setdefault(name, [number])
    return found


def _entries(
    given: ColumnMap, called: dict[str, list[int]]
) -> Iterable[tuple[list[int], str, str]]:
    """Yield numbers of sources, a field, and its column."""
    every = sorted({number for numbers in called.values() for number in numbers})
    if isinstance(given, Mapping):
        for name, of in given.items():
            if not isinstance(of, Mapping):
                yield every, *_texts(name, of)
                continue
            for field, column in of.items():
                yield _files(str(name), called), *_texts(field, column)
        return
    for text in [given] if isinstance(given, str) else given or ():
        name, _, field = str(text).partition("=")[0].rpartition(":")
        column = str(text).partition("=")[2]
        if not field or not column:
            raise SpecError(f"`map` has {spelled(text)}; expected FILE:FIELD=COLUMN", _MAP)
        yield _files(name, called) if name else every, field, column


def _texts(field: object, column: object) -> tuple[str, str]:
    if not isinstance(field, str) or not isinstance(column, str) or not field or not column:
        raise SpecError(
            f"`map` has {spelled(column)} for {spelled(field)}; expected a column", _MAP
        )
    return field, column


def _files(name: str, called: dict[str, list[int]]) -> list[int]:
    if name not in called:
        shown = [*called][:20]
        raise SpecError(
            f"`map` names {spelled(name)}, which is no file that is linked",
            f"known are {', '.join(shown)}{', ...' if len(called) > len(shown) else ''}",
        )
    return called[name]


def open_fields(
    given: Any,
    reading: Reading,
    fields: Sequence[Field],
    mapped: Mapping[str, str],
    optional: bool,
    folder: Path | None,
) -> tuple[Source, tuple[str, ...]]:
    """Open a source, which must have the fields; with ``optional`` one of them.

    Returns:
        It, and the column of each field; empty for a field that it has under none of its names.

    Raises:
        ColumnError: A column is missing.
    """
    columns = [mapped.get(field.name, "" if field.columns else field.name) for field in fields]
    if not all(columns):
        there = _column_names(given, reading)
        columns = [
            column or _found(field.columns, there)
            for field, column in zip(fields, columns, strict=True)
        ]
        names = [field.name for field in fields]
        for k, field in enumerate(fields):  # those that are made of another field
            other = field.columns[0].removeprefix("=") if field.columns else ""
            if not columns[k] and other in names:
                columns[k] = columns[names.index(other)]
        if there:
            _require(fields, columns, optional)
        # No column is two fields, but where a user says so.
        for k, column in enumerate(columns):
            made = fields[k].columns[:1] and fields[k].columns[0].startswith("=")
            if column in columns[:k] and fields[k].name not in mapped and not made:
                columns[k] = ""
    ids = [reading.id] if fields and reading.id else []
    needed = dict.fromkeys(
        [*(name for column in columns if column for name in parts(column)), *ids]
    )
    return open_table(given, reading, list(needed), folder), tuple(columns)


def parts(column: str) -> list[str]:
    """Return the names of the columns that are one value together."""
    return column.split(JOIN)


def _column_names(given: Any, reading: Reading) -> list[str]:
    """Return the names of the columns of a source, which is opened for it."""
    source = open_table(given, reading)
    if any(file.size is None for file in source.files):
        raise SpecError(
            "a pipe can't be looked into for the columns of its fields",
            "give the column of each field by `map`, or write the pipe to a file",
        )
    schema = source.schema()
    if schema is None:
        first = next(source.partitions(), None)
        return [] if first is None else list(first.schema().names)
    return list(schema.names)


def _found(columns: Sequence[str], there: Sequence[str]) -> str:
    """Return the first of some names that there is: as it is spelled, or but for case and signs."""
    loosely = {_plain(name): name for name in reversed(there)}
    for column in columns:
        names = [name if name in there else loosely.get(_plain(name), "") for name in parts(column)]
        if all(names):
            return JOIN.join(names)
    return ""


@lru_cache(4096)
def _plain(name: str) -> str:
    """Return a name without case, accents, spaces and signs.

    >>> _plain("Given_Name"), _plain("Prénom")
    ('givenname', 'prenom')
    """
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[\W_]+", "", "".join(c for c in decomposed if not unicodedata.combining(c)))


def _require(fields: Sequence[Field], columns: Sequence[str], optional: bool) -> None:
    missing = [field for field, column in zip(fields, columns, strict=True) if not column]
    if missing and not optional:
        listed = ", ".join(map(repr, missing[0].columns))
        raise ColumnError(
            f"no column for the field {missing[0].name!r}: none of {listed} is there",
            "name its column with `map`",
        )
    if len(missing) == len(fields):
        raise ColumnError(
            "no column has one of the names that the preset knows",
            "name the columns with `map`, or compare other `fields`",
        )
