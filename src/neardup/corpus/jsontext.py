"""Arrow values as JSON text, without loss where JSON has a form for them."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
from typing import Any

import pyarrow as pa

__all__ = ["json_fragments", "to_json"]


def _other(value: Any) -> Any:
    """What JSON has no form for: ISO 8601 for times, digits for decimals, base64 for bytes."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


_STRICT = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_other
)


def to_json(value: Any) -> str:
    """One value as JSON in one line; floats that are not finite become null."""
    try:
        return _STRICT.encode(value)
    except ValueError:
        return _STRICT.encode(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value


def json_fragments(array: pa.Array | pa.ChunkedArray) -> list[str]:
    """Each value of an array as JSON text; null as ``null``."""
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        # Python's datetime ends at microseconds; Arrow's own text keeps all digits.
        array = array.cast(pa.string())
    return [to_json(value) for value in array.to_pylist()]
