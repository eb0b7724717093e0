"""Record linkage as one call."""

from __future__ import annotations

from collections.abc import Iterable

from neardup.api.arguments import checked
from neardup.errors import SpecError
from neardup.records.fields import Field, LinkSpec, fields_of
from neardup.records.link_steps import block, decide
from neardup.records.outcome.link_runs import Blocks, LinkRun
from neardup.threads import Pool, check_threads


@checked
def link(
    a: object,
    b: object = None,
    *,
    fields: str | Field | Iterable[str | Field],
    id: str | None = None,
    block_at: float | None = None,
    recall: float = 0.99,
    decide_at: float | str = "valley",
    similarity: str = "mixed",
    one_to_one: bool = False,
    cluster: str = "star",
    tagged: bool = False,
    seed: int = 0,
    threads: int | None = None,
) -> LinkRun:
    """Find the records that are one, within a file or across two files.

    Candidates share a bucket of banded MinHash signatures. They are compared field by field; a
    field that is missing in one of the two records counts neither for nor against them. The
    threshold is found without labels, in the valley of the histogram of similarities.

    Args:
        a: A path, a table of pyarrow, a frame of pandas or Polars, or a dict of lists.
        b: The second file. None finds duplicates within the first; else pairs are across the two
            only, and ids of one may be those of the other.
        fields: Columns that are compared: names, ``"NAME:COMPARE"``, or `neardup.Field` objects.
        id: Column with the ids, each once in a file; positions without it.
        block_at: Jaccard similarity of two records at which ``recall`` is stated; 0.3 by default,
            and 0.5 for more than 200,000 records: the work grows with their square.
        recall: Probability that a pair at ``block_at`` becomes a candidate, in (0, 1).
        decide_at: Similarity from which on two records are one, in (0, 1]; ``"valley"`` looks for
            it in the histogram.
        similarity: ``"fields"``: the mean over the fields that both records have, weighted by the
            logarithm of their distinct values. ``"record"``: Jaccard similarity of the records'
            3-grams. ``"idf"``: the same, with rare 3-grams weighing more. ``"mixed"``: the mean of
            ``fields`` and ``idf``.
        one_to_one: Of each record the best pair only; for two files.
        cluster: ``"star"``: a record and those that it is one with. ``"complete"``: any two records
            of a cluster are one by themselves.
        tagged: Shingles of one field do not equal those of another, so that swapped fields share
            none.
        seed: Seed of the hash functions.
        threads: Number of threads; all cores by default. The result does not depend on it.

    Returns:
        What was found.

    Raises:
        InputError: A file can't be used; its subclasses say why.
        SpecError: A setting is out of range.

    Examples:
        >>> people = {
        ...     "name": ["Anna Schmidt", "Ana Schmitd", "Peter Huber"],
        ...     "birth": ["1980-02-01", "1980-02-01", "1975-11-30"],
        ... }
        >>> run = link(people, fields=["name", "birth:digits"], decide_at=0.5)
        >>> run.pairs.select(["id_a", "id_b"]).to_pylist()
        [{'id_a': 0, 'id_b': 1}]
    """
    at = None if decide_at == "valley" else decide_at
    if one_to_one and b is None:
        raise SpecError("`one_to_one` is for two files, and there is one", "leave it out")
    spec = LinkSpec(
        fields_of(fields),
        block_at,
        recall,
        similarity,
        at,  # type: ignore[arg-type]
        one_to_one,
        cluster,
        tagged,
        seed,
    )
    check_threads(threads)
    with Pool(threads) as pool:
        return LinkRun(decide(block(a, b, id, spec, pool), pool))


@checked
def blocks(
    a: object,
    b: object = None,
    *,
    fields: str | Field | Iterable[str | Field],
    id: str | None = None,
    block_at: float | None = None,
    recall: float = 0.99,
    tagged: bool = False,
    seed: int = 0,
    threads: int | None = None,
) -> Blocks:
    """Find candidates only: pairs of records for a tool that scores them.

    Args:
        a: As for `neardup.link`, as are all other arguments.

    Returns:
        The candidates, with the recall that they have at ``block_at``.

    Raises:
        InputError: A file can't be used; its subclasses say why.
        SpecError: A setting is out of range.

    Examples:
        >>> people = {"name": ["Anna Schmidt", "Ana Schmitd", "Peter Huber"]}
        >>> found = blocks(people, fields="name")
        >>> found.pairs.num_rows, round(found.recall, 2)
        (1, 0.99)
    """
    spec = LinkSpec(fields_of(fields), block_at, recall, tagged=tagged, seed=seed)
    check_threads(threads)
    with Pool(threads) as pool:
        return Blocks(block(a, b, id, spec, pool))
