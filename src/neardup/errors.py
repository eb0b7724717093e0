"""Every error that neardup raises on purpose.

A message says what is wrong, the value, and what was expected; ``hint`` says what to do about it.
Messages name files, lines, records and columns, never the text of a document.
"""


def spelled(value: object) -> str:
    """How a message names a value that was given: what may be or hold a text goes by its type."""
    plain = len(value) <= 100 if isinstance(value, str) else isinstance(value, int | float | None)
    return repr(value) if plain else f"of type {type(value).__name__}"


class NeardupError(Exception):
    """Base of all errors of this package.

    Args:
        message: What is wrong, in one line.
        hint: What the user can do about it, in one line; empty where nothing is known to help.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)  # both in args, so that pickling restores both
        self.message = message
        self.hint = hint

    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]  # a traceback shows them as well
        return [f"hint: {self.hint}"] if self.hint else []

    def __str__(self) -> str:
        return self.message


class SpecError(NeardupError, ValueError):
    """A setting is out of range, or two settings contradict each other."""


class ArgumentError(SpecError, TypeError):
    """A keyword that a function does not have, or a value that can't be what it stands for."""


class InputError(NeardupError, ValueError):
    """The input can't be used as it is."""


class InputNotFoundError(InputError, FileNotFoundError):
    """There is no such file, or a pattern or a folder holds none."""


class FormatError(InputError):
    """The ending is unknown, or the bytes are not what the ending says."""


class ColumnError(InputError, KeyError):
    """A column is not there, or is of a type that can't be used."""


class EncodingError(InputError):
    """A text is not valid UTF-8."""


class DuplicateIdError(InputError):
    """Two documents have the same id."""


class UnknownIdError(InputError, KeyError):
    """No document has this id."""


class OutputError(NeardupError, OSError):
    """The output can't be written: it exists, there is no space, or no right to write."""


class OutputSizeError(OutputError):
    """The output would be too large to be of use to anybody."""


class StoreError(NeardupError):
    """A band store can't be reached or written, or does not hold what it must."""


class RecipeError(NeardupError, ValueError):
    """Band keys of different recipes can't be compared."""


class ResumeError(NeardupError):
    """An interrupted run can't be resumed: something is damaged, or no longer the same."""


class DependencyError(NeardupError, ImportError):
    """An optional package is needed and not installed, or a name is not offered here."""


class ShortTextWarning(UserWarning):
    """A text is empty, or shorter than a shingle, so that it is similar to its copies at most."""


class RecallWarning(UserWarning):
    """The bands of a run were chosen for a higher threshold, and miss many pairs at this one."""
