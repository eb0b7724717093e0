"""Settings of a linkage: the fields that are compared, and how pairs are decided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import starmap
from typing import Any

from neardup.errors import SpecError, spelled
from neardup.spec import one_of, option

COMPARISONS = ("text", "exact", "digits", "numeric")
SIMILARITIES = ("mixed", "fields", "record", "idf")
CLUSTERINGS = ("average", "complete")
PRESETS = ("citations", "persons")
#: Defaults of `block_at`: the number of pairs that collide grows with the square of the records.
_BLOCK_AT, _BLOCK_MANY_AT, _MANY = 0.3, 0.5, 200_000
_EXAMPLE = 'for example "given_name" or "birth:digits"'


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the records, and how two of its values are compared.

    Attributes:
        name: Name of the field, and of its column.
        compare: ``"text"``: Jaccard similarity of 2-grams of characters with borders; case, accents
            and punctuation do not count. ``"digits"``: the same of the digits only, for dates and
            numbers of telephones. ``"exact"``: 1 if equal but for white space at the
            ends, else 0. ``"numeric"``: 1 less
            the difference over the larger of the two numbers.
        weight: Factor of the field's weight, which is the logarithm of the number of its distinct
            values; 0 for a field that only helps to find candidates.
        columns: Names that its column may have in the files, the first that is there; its own name
            without it.

    Raises:
        SpecError: A value is out of range.
    """

    name: str
    compare: str = "text"
    weight: float = 1.0
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SpecError(f"name of a field is {self.name!r}; expected a column", _EXAMPLE)
        _known(f"comparison of the field {self.name!r}", self.compare, COMPARISONS)
        weight = self.weight
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not math.isfinite(weight) or weight < 0:
            raise SpecError(
                f"weight of the field {self.name!r} is {weight!r}; expected a number from 0 up",
                "0 leaves a field out of the similarity",
            )

    @classmethod
    def parse(cls, text: str) -> Field:
        """Make a field from ``NAME``, ``NAME:COMPARE`` or ``NAME:COMPARE:WEIGHT``.

        >>> Field.parse("postcode:exact:0.5")
        Field(name='postcode', compare='exact', weight=0.5, columns=())
        """
        name, *more = text.split(":")
        if len(more) > 2:
            raise SpecError(
                f"field is {text!r}; expected NAME, NAME:COMPARE or NAME:COMPARE:WEIGHT"
            )
        weight = 1.0
        if len(more) == 2:
            try:
                weight = float(more[1])
            except ValueError:
                raise SpecError(
                    f"weight of the field {name!r} is {more[1]!r}; expected a number from 0 up"
                ) from None
        return cls(name, more[0] if more else "text", weight)


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """Everything that the result of a linkage depends on, besides the records.

    Attributes:
        fields: The fields.
        block_at: Jaccard similarity of two records at which ``recall`` is stated; 0.3 by default,
            and 0.5 for more than 200,000 records: the work grows with their square.
        recall: Probability that a pair at ``block_at`` becomes a candidate, in (0, 1).
        similarity: Similarity of the histogram. ``"fields"``: the mean over the fields that both
            records have, weighted by the logarithm of their distinct values. ``"record"``: Jaccard
            similarity of the records' 3-grams. ``"idf"``: the same, with rare 3-grams weighing
            more. ``"mixed"``: a mean of ``"fields"`` and ``"idf"``, with more of the latter where
            values have several words.
        decide_at: Score from which on two records are one, in (0, 1]. A score is a probability
            where fields are independent, as those of persons are; else it is too high.
        across_files_only: Of several files, look for no pairs within one of them. So it is for two
            files without it; three and more are searched for pairs within and across them.
        one_to_one: Each record is one with at most one record of each other file, the best; for
            several files, across them only.
        cluster: ``"average"``: the two clusters with the highest mean of log odds are merged, as
            long as it is that of a match. ``"complete"``: any two records of a cluster are one by
            themselves.
        must_agree: Fields in which no two records may differ that both have a value: names, or
            ``"NAME:0.8"`` for values that are at least so similar. A pair that differs is no match,
            and never in a cluster together, unless it is marked.
        tagged: Keep the fields apart: shingles of one do not equal those of another, and swapped
            values share none.
        seed: Seed of the hash functions.
        preset: Fields with their comparisons, as far as the files have them under usual names;
            ``fields`` replace its own of the same name, or come after them.

    Raises:
        SpecError: A value is out of range, or two contradict each other.
    """

    fields: tuple[Field, ...]
    block_at: float | None = option(None, "S")
    recall: float = option(0.99, "P")
    similarity: str = option("mixed", one_of(SIMILARITIES))
    decide_at: float = option(0.5, "P")
    across_files_only: bool | None = option(None)
    one_to_one: bool = option(False)
    cluster: str = option("average", one_of(CLUSTERINGS))
    must_agree: tuple[str, ...] = option((), "FIELD")
    tagged: bool = option(False)
    seed: int = option(0, "N")
    preset: str | None = option(None, one_of(PRESETS))

    def __post_init__(self) -> None:
        if self.preset is not None:
            _known("preset", self.preset, PRESETS)
        if not self.fields:
            raise SpecError("`fields` names no field", _EXAMPLE)
        for field in self.fields:
            if not isinstance(field, Field):
                what = type(field).__name__
                raise SpecError(f"`fields` has a {what}; expected names and Fields", _EXAMPLE)
        names = [field.name for field in self.fields]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise SpecError(f"`fields` names {twice!r} twice", "name each column once")
        if not any(field.weight for field in self.fields):
            raise SpecError("all fields have weight 0", "give one of them a weight")
        if self.block_at is not None:
            _share("block_at", self.block_at, one=True)
        _share("recall", self.recall, one=False)
        _share("decide_at", self.decide_at, one=True)
        for name, _ in map(_agreeing, self.must_agree):
            if name not in names:
                raise SpecError(
                    f"`must_agree` names {spelled(name)}, which is no field that is compared",
                    f"the fields are {', '.join(names)}",
                )
        if self.one_to_one and self.across_files_only is False:
            raise SpecError(
                "`one_to_one` is for pairs across files, and pairs within them are looked for",
                "give `across_files_only`",
            )
        _known("similarity", self.similarity, SIMILARITIES)
        _known("clustering of records", self.cluster, CLUSTERINGS)
        if type(self.seed) is not int or not 0 <= self.seed < 2**62:
            raise SpecError(f"`seed` is {self.seed!r}; expected an integer from 0 to 2**62 - 1")

    def agreeing(self) -> Iterator[tuple[int, float]]:
        """Yield the numbers of the fields that must agree, and how similar values must be."""
        for name, least in map(_agreeing, self.must_agree):
            yield self.names.index(name), least

    def for_files(self, files: int) -> LinkSpec:
        """Return the same with the default of `across_files_only` for so many files.

        Raises:
            SpecError: There is one file, and a setting is for several.
        """
        for name in ("one_to_one", "across_files_only"):
            if files < 2 and getattr(self, name):
                raise SpecError(f"`{name}` is for several files, and there is one", "leave it out")
        across = self.across_of(files, self.across_files_only, self.one_to_one)
        return replace(self, across_files_only=across)

    @staticmethod
    def across_of(files: int, across: bool | None, one_to_one: bool) -> bool:
        """Return whether pairs are across files only; by default of two, and where one to one."""
        return files == 2 or one_to_one if across is None else across

    def for_records(self, records: int) -> LinkSpec:
        """Return the same with the default of `block_at` for so many records."""
        if self.block_at is not None:
            return self
        return replace(self, block_at=_BLOCK_AT if records <= _MANY else _BLOCK_MANY_AT)

    @property
    def names(self) -> list[str]:
        """Names of the fields."""
        return [field.name for field in self.fields]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> LinkSpec:
        """Make a spec from what `as_dict` returned."""
        fields = tuple(
            Field(**{**field, "columns": tuple(field["columns"])}) for field in values["fields"]
        )
        return cls(**{**values, "fields": fields, "must_agree": tuple(values["must_agree"])})


def fields_of(
    given: str | Field | Iterable[str | Field] | Mapping[str, str | Sequence[str]],
) -> tuple[Field, ...]:
    """Return fields that were given as objects, as names, or with the names of their columns.

    >>> [field.compare for field in fields_of("surname,birth:digits")]
    ['text', 'digits']
    >>> fields_of({"given": ["first", "given_name"]})[0].columns
    ('first', 'given_name')
    """
    if isinstance(given, str):
        given = given.split(",")
    if isinstance(given, Field):
        given = [given]
    if isinstance(given, Mapping):
        return tuple(starmap(_with_columns, given.items()))
    if not isinstance(given, Iterable):
        raise SpecError(f"`fields` is of type {type(given).__name__}; expected a list", _EXAMPLE)
    return tuple(Field.parse(field) if isinstance(field, str) else field for field in given)


def _with_columns(name: str, columns: str | Sequence[str]) -> Field:
    every = (columns,) if isinstance(columns, str) else tuple(columns or ())
    if not every or not all(isinstance(column, str) and column for column in every):
        raise SpecError(
            f"columns of the field {name!r} are {spelled(columns)}; expected names",
            'for example {"given": ["first", "given_name"]}',
        )
    return replace(Field.parse(name), columns=every)


def names_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return names that were given as a list, or as one text with commas."""
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, Iterable):
        raise SpecError(f"`must_agree` is of type {type(given).__name__}; expected a list")
    return tuple(given)


def _agreeing(text: object) -> tuple[str, float]:
    """Return the name of a field that must agree, and how similar its values must be; 1 is equal.

    Raises:
        SpecError: It is not spelled so.
    """
    if isinstance(text, str):
        name, colon, least = text.rpartition(":")
        if not colon:
            return text, 1.0
        with suppress(ValueError):
            if 0 < float(least) <= 1:
                return name, float(least)
    raise SpecError(
        f"`must_agree` is {spelled(text)}; expected FIELD or FIELD:SIMILARITY",
        "the similarity is above 0 and up to 1, for example name:0.8",
    )


def _known(what: str, value: object, known: Sequence[str]) -> None:
    if value not in known:
        raise SpecError(f"{what} is {spelled(value)}; expected one of {', '.join(known)}")


def _share(name: str, value: object, *, one: bool) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not (0 < value < 1 or (one and value == 1)):  # type: ignore[operator]
        end = "]" if one else ")"
        raise SpecError(f"`{name}` is {spelled(value)}; expected a number in (0, 1{end}")
