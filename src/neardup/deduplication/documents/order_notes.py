"""Notes on columns of text whose values look like dates, or numbers, but have the order of text."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.documents.ordering import keep_column
from neardup.io.columns import string_scalar
from neardup.spec import Spec
from neardup.stages.number_text import NUMBER

_NUMBERS = r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}"
_DAY_FIRST = r"[0-9]{1,2}\.?[ -]\p{L}{3,9}\.?,?[ -][0-9]{2,4}"
_MONTH_FIRST = r"\p{L}{3,9}\.? [0-9]{1,2},? [0-9]{2,4}"
_DATE = rf"^\s*({_NUMBERS}|{_DAY_FIRST}|{_MONTH_FIRST})([^0-9./-]|$)"
#: Dates that sort as text, if all of them are written in the same way.
_SORTED = tuple(
    rf"^[0-9]{{4}}{sep}[0-9]{{2}}{sep}[0-9]{{2}}([^0-9]|$)" for sep in ("-", "/", r"\.")
)


def order_notes(table: pa.Table, spec: Spec) -> list[str]:
    """Return a note for each column of the order that is text and looks like something else.

    Args:
        table: The columns, as far as they are there.
        spec: Which of them give the order.
    """
    names = dict.fromkeys(filter(None, (spec.order and spec.order.column, keep_column(spec))))
    there = [name for name in names if name in table.column_names]
    notes = (_note(table.column(name), name) for name in there)
    return [note for note in notes if note]


def _note(column: Any, name: str) -> str:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return ""
    column = column.filter(pc.not_equal(column, string_scalar("")))
    found = f"the documents have the order of column {name!r} as text: "
    if _share(column, _DATE) >= 0.5 and all(_share(column, pattern) < 1 for pattern in _SORTED):
        return found + "its dates do not sort so; write all of them as 2024-02-03"
    if 0.5 <= _share(column, NUMBER) < 1:
        return found + "some values are no numbers, so 10 comes before 9; leave these values empty"
    return ""


def _share(column: Any, pattern: str) -> float:
    """Return the share of values that match; 0 of none."""
    matches: Any = pc.match_substring_regex(column, pattern)
    return float(pc.mean(matches).as_py() or 0.0)
