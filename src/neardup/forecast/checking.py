"""All errors of an input, where a run reports only the first."""

from collections.abc import Iterator
from typing import NamedTuple

from neardup.deduplication.job import Job
from neardup.errors import InputError
from neardup.io.source import Partition
from neardup.threads import Pool

#: Problems that are listed, at most: a file of another format has one in each line.
_MOST = 1000


class Checked(NamedTuple):
    """The problems of an input that was read to its end, or to so many of them."""

    documents: int  # that are good
    problems: list[str]  # with file and line, and no text


def check(job: Job) -> Checked:
    """Read all files of a job, and list the errors that a run would report."""
    documents, problems = 0, list[str]()
    with Pool(job.resources.threads) as pool:
        for good, wrong in pool.ordered(lambda item: _read(item, job.needed), _items(job)):
            documents += good
            problems += wrong
            if len(problems) >= _MOST:
                break
    return Checked(documents, problems[:_MOST])


def _items(job: Job) -> Iterator[Partition | InputError]:
    """Yield all partitions, and an error for each file that can't be cut into them to its end."""
    for number in range(len(job.source.files)):
        try:
            yield from job.source.partitions(number)
        except InputError as error:
            yield error


def _read(item: Partition | InputError, columns: tuple[str, ...]) -> tuple[int, list[str]]:
    """Return how many good documents a partition has, and the errors of the others."""
    if isinstance(item, InputError):
        return 0, [str(item)]
    documents, problems, left = 0, list[str](), [item]
    while left and len(problems) < _MOST:
        partition = left.pop()
        try:
            documents += len(partition.read(columns).text)
        except InputError as error:
            halves = partition.halves()
            left += reversed(halves)
            problems += [] if halves else [str(error)]
    return documents, problems
