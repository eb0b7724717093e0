"""How the records of a cluster become one: which one stays, and how it is filled from others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from neardup.errors import SpecError, spelled
from neardup.file_formats import MERGED_AS
from neardup.spec import one_of, option

if TYPE_CHECKING:
    import pyarrow as pa

_KEEP = r"most-complete|first|longest|(max|min|file):.+"
_KEEP_WORD = "most-complete|first|longest|max:COLUMN|min:COLUMN|file:NAME"
_COMBINE = re.compile(r"(.+)=(list|longest|newest)(?::(.+))?", re.DOTALL)
_COMBINE_WORD = "FIELD=list|longest|newest[:COLUMN]"


class Combined(NamedTuple):
    """How a field of a merged record is made of the values of all records of its cluster.

    Attributes:
        field: Its column.
        how: ``"list"``, ``"longest"`` or ``"newest"``.
        by: Column with the dates of ``"newest"``.
    """

    field: str
    how: str
    by: str


@dataclass(frozen=True, slots=True)
class MergeSpec:
    """Settings of merged records, which clusters do not depend on.

    Attributes:
        keep: Which record of a cluster stays: ``"most-complete"``, that with values in most
            columns; ``"first"``; ``"longest"``, that with most characters; ``"max:COLUMN"`` or
            ``"min:COLUMN"``; ``"file:NAME"``, one of that file, the most complete one. Among equals
            the first one stays.
        fill: Fill its empty fields with the values of the others, in the same order.
        combine: Fields that are made of the values of all records of a cluster:
            ``"FIELD=list"``, each value once, with ``"; "`` between texts; ``"FIELD=longest"``; or
            ``"FIELD=newest:COLUMN"``, the value of the record whose COLUMN is greatest, which is
            FIELD itself without one.
        format: Format of the merged records; that of the first input by default.

    Raises:
        SpecError: A value is out of range.
    """

    keep: str = option("most-complete", _KEEP_WORD)
    fill: bool = option(False)
    combine: tuple[str, ...] = option((), _COMBINE_WORD)
    format: str | None = option(None, one_of(MERGED_AS))

    def __post_init__(self) -> None:
        if not isinstance(self.keep, str) or not re.fullmatch(_KEEP, self.keep, re.DOTALL):
            known = _KEEP_WORD.replace("|", ", ")
            raise SpecError(f"`keep` is {spelled(self.keep)}; expected one of {known}")
        fields = [one.field for one in self.combined]
        twice = next((name for name in fields if fields.count(name) > 1), None)
        if twice is not None:
            raise SpecError(f"`combine` names {twice!r} twice", "name each field once")
        if self.format not in (None, *MERGED_AS):
            known = ", ".join(MERGED_AS)
            raise SpecError(f"`format` is {spelled(self.format)}; expected one of {known}")

    @property
    def rule(self) -> tuple[str, str]:
        """Return the rule by which a record stays, and its column or file."""
        rule, _, name = self.keep.partition(":")
        return rule, name

    @property
    def combined(self) -> list[Combined]:
        """The fields that are combined."""
        found = []
        for text in self.combine:
            parts = _COMBINE.fullmatch(text) if isinstance(text, str) else None
            if parts is None or (parts[3] and parts[2] != "newest"):
                hint = 'for example "keywords=list", or "email=newest:updated"'
                raise SpecError(f"`combine` has {spelled(text)}; expected {_COMBINE_WORD}", hint)
            found.append(Combined(parts[1], parts[2], parts[3] or parts[1]))
        return found

    def check_lists(self, names: Iterable[str]) -> None:
        """Refuse columns of lists that would be filled."""
        combined = {one.field for one in self.combined}
        for name in names:
            if self.fill and name not in combined:
                what = f"`fill` is asked, and the column {spelled(name)} has lists"
                hint = f'say how several lists become one, with `combine`="{name}=list"'
                raise SpecError(what, hint)

    def check_types(self, schema: pa.Schema) -> None:
        """Refuse columns of numbers and the like of which a list would be made."""
        import pyarrow as pa  # settings are read where nothing else is

        from neardup.arrays import is_text

        for one in self.combined:
            kind = schema.field(one.field).type if one.field in schema.names else pa.string()
            if one.how == "list" and not (is_text(kind) or pa.types.is_nested(kind)):
                what = f"`combine` makes a list of the column {one.field!r}, which has {kind}"
                raise SpecError(what, "make it of texts or lists, or take longest or newest")

    @property
    def columns(self) -> list[str]:
        """All columns that are named, which the records must have."""
        rule, name = self.rule
        ranked = [name] if rule in ("max", "min") else []
        return [*ranked, *(name for one in self.combined for name in (one.field, one.by))]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**asdict(self), "combine": list(self.combine)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> MergeSpec:
        """Make a spec from what `as_dict` returned."""
        return cls(**{**values, "combine": tuple(values["combine"])})


def combined_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return fields that were given as a list, or as one text."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable):
        raise SpecError(f"`combine` is of type {type(given).__name__}; expected a list")
    return tuple(given)
