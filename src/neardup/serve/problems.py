"""Errors as answers: a status and a message."""

from __future__ import annotations

from http import HTTPStatus

from neardup import errors
from neardup.errors import NeardupError
from neardup.index.storing.catalogue import BusyError
from neardup.serve.calls import Problem

#: Statuses of errors; that of a subclass comes before.
_STATUSES: tuple[tuple[type[NeardupError], int], ...] = (
    (errors.UnknownIdError, 404),
    (errors.DuplicateIdError, 409),
    (errors.InputError, 422),
    (errors.SpecError, 422),
    (BusyError, 503),
    (errors.IndexMovedError, 503),
    (errors.OutputError, 507),
)

#: Classes of neardup.errors for statuses, where an error names none.
_NAMES = {401: errors.TokenError, 429: errors.UnavailableError, 503: errors.UnavailableError}


class ServiceError(Exception):
    """A call that is answered with an error.

    Args:
        status: Its status.
        detail: The message.
        hint: A remedy.
        error: Class of neardup.errors that a client raises; that of the status without it.
        retry: Seconds after which it may be sent again; None where that does not help.
    """

    def __init__(
        self, status: int, detail: str, hint: str = "", error: str = "", retry: int | None = None
    ) -> None:
        super().__init__(detail)
        name = error or _named(status)
        self.problem = Problem(HTTPStatus(status).phrase, status, detail, name, hint)
        self.retry = retry


def _named(status: int) -> str:
    other = errors.RequestError if status < 500 else errors.StoreError
    return _NAMES.get(status, other).__name__


def status_of(error: NeardupError) -> int:
    """Return the status for an error."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def problem_of(error: NeardupError) -> ServiceError:
    """Return an error of the index as an answer; only those of the caller are explained."""
    status = status_of(error)
    name = public_name(type(error))
    if status == 500:
        return ServiceError(500, "the index can't be read", "see the log of the service", name)
    return ServiceError(status, error.message, error.hint, name, 1 if status == 503 else None)


def public_name(kind: type[NeardupError]) -> str:
    """Return the name of the error in neardup.errors that an error is, or is a subclass of."""
    return next(each.__name__ for each in kind.__mro__ if hasattr(errors, each.__name__))
