"""Base of the results of every command: one record, one way to show it, and its errors."""

from pathlib import Path
from typing import Any, ClassVar, NoReturn

from neardup.result_record import refusal
from neardup.results.shown import Shown


class AnyRun(Shown):
    """Results of a command, in memory or in its folder.

    Methods that mean nothing for them raise InputError, with a hint.
    """

    #: The command whose results these are.
    command: ClassVar[str] = "dedup"

    @property
    def path(self) -> Path | None:
        """The output folder; None for results in memory only, or at a URL."""
        return None

    @property
    def record(self) -> dict[str, Any]:
        """Settings, counts, seconds: the content of ``run.json``; see ``docs/formats.md``."""
        summary = getattr(self, "summary")  # noqa: B009 - a field of some, a property of others
        return {"command": self.command, **summary}

    def refuse(self, what: str) -> NoReturn:
        """Raise the error for a command that does not work on these results."""
        raise refusal("the run" if self.path is None else str(self.path), self.command, what)

    def explain(self, *args: Any, **options: Any) -> Any:
        self.refuse("explain")

    def audit(self, *args: Any, **options: Any) -> Any:
        self.refuse("audit")

    def evaluate(self, *args: Any, **options: Any) -> Any:
        self.refuse("evaluate")

    def recluster(self, *args: Any, **options: Any) -> Any:
        self.refuse("recluster")

    def report(self, *args: Any, **options: Any) -> Any:
        self.refuse("report")

    def pairs_with_texts(self, *args: Any, **options: Any) -> Any:
        self.refuse("pairs")
