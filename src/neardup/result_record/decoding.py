"""A record is decoded once, by the schema of its command; a damaged member is named by its key."""

import json
import math
import re
from typing import Any

from neardup.commands import COMMANDS, imported
from neardup.errors import InputError

#: Members of records of any version, by which one is known that is damaged.
_OURS = ("command", "files", "format", "versions", "seconds")


class _RefusedError(ValueError):
    """JSON that Python would read, and that no program of ours writes."""


def parsed(data: bytes, name: str, again: str = "run the command again") -> Any:
    """Return a JSON value of a file.

    Args:
        data: The file.
        name: Its name, for messages.
        again: The remedy.

    Raises:
        InputError: It is not JSON, or has NaN, an infinite number or a member twice.
    """
    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=_once,
            parse_constant=_refuse,
            parse_float=_finite,
            parse_int=_of_a_float,
        )
    except json.JSONDecodeError as error:
        where = (
            f"line {error.lineno}, column {error.colno}" if data.strip() else "the file is empty"
        )
        reason = f"not JSON ({where})"
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 (byte {error.start + 1})"
    except RecursionError:
        reason = "nested too deeply"
    except _RefusedError as error:
        reason = str(error)
    raise InputError(f"{name} is damaged: {reason}", again)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RefusedError(f"{_short(twice)} is there twice")
    return found


def _refuse(constant: str) -> None:
    raise _RefusedError(f"{constant} is no number")


def _finite(digits: str) -> float:
    if math.isinf(value := float(digits)):
        raise _RefusedError("a number is too large")
    return value


def _of_a_float(digits: str) -> int:
    _finite(digits)  # msgspec fails with other errors than its own at larger ones, before 0.22
    return int(digits)


def _short(key: str) -> str:
    return repr(key[:100])


def is_record(found: object) -> bool:
    """Return whether a JSON value is a record of ours, damaged or not, of any version."""
    return isinstance(found, dict) and sum(name in found for name in _OURS) > 1


def header_of(data: bytes, name: str) -> dict[str, Any]:
    """Return a record, of which command and files are known to be there.

    Raises:
        InputError: It is damaged.
    """
    from neardup.result_record.record_parts import RecordHeader

    found = parsed(data, name)
    require(found, RecordHeader, name)
    return dict(found)


def require_members(record: dict[str, Any], name: str) -> None:
    """Refuse a record of this version whose members are not those that its command writes.

    Raises:
        InputError: It is damaged; the message names the key.
    """
    require_command(record, name)
    require(record, imported(_members_of(record)), name, again(kind_of(record)))


def require_command(record: dict[str, Any], name: str) -> None:
    """Refuse a record of a command that there is not.

    Raises:
        InputError: It is damaged.
    """
    if not _members_of(record):
        what = f"{_short(record['command'])} is no command of this version"
        raise InputError(f"{name} is damaged at command: {what}", "run the command again")


def _members_of(record: dict[str, Any]) -> str:
    """Return the name of the class with the members of a record; empty if there is none."""
    command, parts = record["command"], COMMANDS.get(record["command"])
    if parts is None:
        return ""
    return {command: parts.record, f"{command} on spark": parts.on_spark}.get(kind_of(record), "")


def kind_of(record: dict[str, Any]) -> str:
    """Return the command of a record, and its engine unless that is one machine."""
    command, engine = record["command"], record.get("engine")
    return str(command) if engine is None else f"{command} on {engine}"


def again(kind: str) -> str:
    """Return the remedy for the results of a command, see `kind_of`."""
    command, _, engine = kind.partition(" on ")
    return f"run neardup {engine or command} again"


def require(value: Any, kind: Any, name: str, again: str = "run the command again") -> None:
    """Refuse a JSON value that is not of a type; the message names the key.

    Raises:
        InputError: It is not.
    """
    import msgspec

    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        key, reason = _located(str(error))
        found = f" at {_with_names(key, value, kind)}: {reason}" if key else f": {reason}"
        raise InputError(f"{name} is damaged{found}", again) from None


def _located(message: str) -> tuple[str, str]:
    """Return the key, and the reason, of an error of msgspec."""
    reason, _, path = message.partition(" - at ")
    key = path.removeprefix("`key` in ").strip("`").removeprefix("$").removeprefix(".")
    lacks = re.fullmatch(r"Object (missing required|contains unknown) field `(.*)`", reason, re.S)
    if lacks:
        key = f"{key}.{lacks[2][:100]}".removeprefix(".")
        reason = "missing" if lacks[1].startswith("missing") else "not known"
    if " does not agree with " in reason:  # it begins with the key
        inner, _, others = reason.partition(" ")
        key, reason = f"{key}.{inner}".removeprefix("."), others
    if "regex" in reason:
        reason = "not as it should be"
    return key, reason.replace("`", "").replace("Expected", "expected", 1)


def _with_names(key: str, value: Any, kind: Any) -> str:
    """Return a key in which members of any name, which msgspec does not name, have theirs."""
    import msgspec

    before, there, after = key.partition("[...]")
    if not there:
        return key
    members = value
    for part in re.findall(r"[^.\[\]]+", before):
        members = members[int(part) if isinstance(members, list) else part]
    every = dict(members)
    for name, inner in every.items():
        members.clear()
        members[name] = inner
        try:
            msgspec.convert(value, kind)
        except (msgspec.ValidationError, RecursionError):
            return f"{before}.{name[:100]}{after}"
        finally:
            members.clear()
            members.update(every)
    return key
