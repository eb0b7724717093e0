"""Members of a record that are the fields of a spec: an option enters it by itself."""

from __future__ import annotations

import dataclasses
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct, defstruct

Count = Annotated[int, Meta(ge=0, le=1 << 62)]


class RecordPart(Struct, kw_only=True, forbid_unknown_fields=True):
    """Base of all members that have members."""


def members_of(spec: type, **others: Any) -> Any:
    """Return the members that are the fields of a spec, with their types; ``others`` differ."""
    kinds = get_type_hints(spec)
    found = {field.name: _kind(kinds[field.name]) for field in dataclasses.fields(spec)} | others
    return defstruct(spec.__name__, list(found.items()), bases=(RecordPart,))


def _kind(kind: Any) -> Any:
    """Return the type of a value in JSON."""
    inner = tuple(map(_kind, get_args(kind)))
    if kind is int:
        return Count
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return members_of(kind)
    if get_origin(kind) is UnionType:
        return Union[inner]  # noqa: UP007
    return list[inner[0]] if get_origin(kind) is tuple else kind  # type: ignore[valid-type]
