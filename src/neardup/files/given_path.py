"""A local path that is absolute from the moment it is given, and is shown as it was given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from neardup.errors import InputNotFoundError, NeardupError


def current_directory() -> str | None:
    """Return the current directory; None where it was removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


@dataclass(frozen=True)
class GivenPath(os.PathLike[str]):
    """A path that is absolute for the system, and as it was given in messages.

    ``os.fspath`` and ``Path`` make the absolute path of it, ``str`` the name.

    Args:
        name: As it was given; empty for the current directory.
        directory: The current directory of that moment; empty where the name is absolute.

    Examples:
        >>> path = GivenPath("out", "/data") / "run.json"
        >>> str(path), os.fspath(path)
        ('out/run.json', '/data/out/run.json')
    """

    name: str
    directory: str = ""

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> GivenPath:
        """Take a path at this moment.

        Raises:
            InputNotFoundError: It is relative, and the current directory was removed.
        """
        if isinstance(path, GivenPath):
            return path
        name = os.fspath(path)
        if Path(name).is_absolute():
            return cls(name)
        directory = current_directory()
        if directory is None:
            raise InputNotFoundError(
                f"{name}: the current directory, which the path is relative to, was removed",
                "give an absolute path, or change to another directory",
            )
        return cls(name, directory)

    def below(self, directory: str) -> GivenPath:
        """Return the same name in a directory, unless it is absolute."""
        return self if Path(self.name).is_absolute() else GivenPath(self.name, directory)

    def __fspath__(self) -> str:
        # (os.path.join, as a source may have a million files.)
        return os.path.join(self.directory, self.name) if self.directory else self.name  # noqa: PTH118

    def __str__(self) -> str:
        return self.name

    def __truediv__(self, inner: str) -> GivenPath:
        return GivenPath(os.path.join(self.name, inner), self.directory)  # noqa: PTH118

    @property
    def path(self) -> Path:
        """The absolute path."""
        return Path(os.fspath(self))

    def shown(self, text: str) -> str:
        """Return a text in which this path, and paths below it, are as they were given."""
        if not self.directory:
            return text
        absolute, name = re.escape(str(self.path)), str(Path(self.name))
        below = "" if name == "." else f"{name}{os.sep}"
        # Not a longer name that begins, or a longer path that ends, like this one.
        text = re.sub(rf"(?<![\w./-]){absolute}{re.escape(os.sep)}", lambda _: below, text)
        return re.sub(rf"(?<![\w./-]){absolute}(?![\w-]|\.\w)", lambda _: name, text)

    @contextmanager
    def in_messages(self) -> Iterator[None]:
        """Have errors show the path as it was given."""
        try:
            yield
        except NeardupError as error:
            error.message, error.hint = self.shown(error.message), self.shown(error.hint)
            error.args = error.message, error.hint
            raise
