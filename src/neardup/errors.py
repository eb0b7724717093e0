"""Every error that neardup raises on purpose.

A message names the problem, the value, and the values that are expected; ``hint`` is the remedy.
Messages name files, lines, records and columns, never the text of a document.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self


def spelled(value: object) -> str:
    """Return a value as messages show it; of one that may contain a text, only the type."""
    plain = len(value) <= 100 if isinstance(value, str) else isinstance(value, int | float | None)
    return repr(value) if plain else f"of type {type(value).__name__}"


class NeardupError(Exception):
    """Base of all errors of this package.

    Args:
        message: The problem, in one line.
        hint: The remedy, in one line; empty where none is known.
    """

    #: The same without ids, and the row of the document that it is about, where a message has one.
    without_id: str = ""
    row: int | None = None

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)  # pickling restores `args`
        self.message = message
        self.hint = hint

    def private(self, message: str, row: int | None = None) -> Self:
        """Add the message for those who keep ids private; return the error."""
        self.without_id, self.row = message, row
        return self

    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]  # a traceback shows them as well
        return [f"hint: {self.hint}"] if self.hint else []

    def __str__(self) -> str:
        return self.message


@contextmanager
def rows_from(first: int) -> Iterator[None]:
    """Count rows in errors from another one on."""
    try:
        yield
    except NeardupError as error:
        if error.row is not None:
            error.row += first
        raise


@contextmanager
def ids_left_out(private: bool) -> Iterator[None]:
    """Raise errors with messages that have no ids, if these are private."""
    try:
        yield
    except NeardupError as error:
        if not private or not error.without_id:
            raise
        where = "" if error.row is None else f"row {error.row}: "
        raise type(error)(f"{where}{error.without_id}", error.hint) from None


@contextmanager
def hint_instead(hint: str, *names: str) -> Iterator[None]:
    """Replace the hints of errors that name arguments which a call does not have.

    Args:
        hint: The hint instead.
        names: Those arguments; all, if none are given.
    """
    try:
        yield
    except NeardupError as error:
        if re.search(f"`({'|'.join(names) or '[a-z_]+'})`", error.hint):
            error.hint = hint
        raise


class SpecError(NeardupError, ValueError):
    """A setting is out of range, or two settings contradict each other."""


class ArgumentError(SpecError, TypeError):
    """A keyword that a function does not have, or a value of a type that it can't take."""


class InputError(NeardupError, ValueError):
    """The input can't be used as it is."""


class InputNotFoundError(InputError, FileNotFoundError):
    """There is no such file, or a pattern or a folder has none."""


class RequestError(InputError):
    """A service does not take a request: its path, method, headers or size."""


class FormatError(InputError):
    """The ending is unknown, or the bytes are not of the format that it names."""


class ColumnError(InputError, KeyError):
    """A column is not there, or is of a type that can't be used."""


class EncodingError(InputError):
    """A text is not valid UTF-8."""


class DuplicateIdError(InputError):
    """Two documents have the same id."""


class RefusedError(InputError, AttributeError):
    """A result of another command has this method, and this one has not."""


class NoTableError(SpecError, AttributeError):
    """A run has not made this table, which others of its command have."""


class UnknownIdError(InputError, KeyError):
    """No document has this id."""


class OutputError(NeardupError, OSError):
    """The output can't be written: it exists, there is no space, or no right to write."""


class OutputSizeError(OutputError):
    """The output would be too large to be of use to anybody."""


class StoreError(NeardupError):
    """A band store can't be reached or written, or lacks data of a run."""


class IndexMovedError(StoreError):
    """The folder of an open index was moved, deleted or replaced."""


class TokenError(StoreError, PermissionError):
    """A service wants a token, and got none or another one."""


class UnavailableError(StoreError):
    """A service, or a process that writes, is busy: nothing was done, and it may be asked again."""


class RecipeError(NeardupError, ValueError):
    """Band keys of different recipes can't be compared."""


class ResumeError(NeardupError):
    """An interrupted run can't be resumed: something is damaged, or no longer the same."""


class DependencyError(NeardupError, ImportError):
    """An optional package is needed and not installed, or a name is not offered here."""


class ShortTextWarning(UserWarning):
    """A text is empty, or shorter than a shingle: only its copies can be similar to it."""


class RecallWarning(UserWarning):
    """The bands of a run were chosen for a higher threshold, and miss many pairs at this one."""
