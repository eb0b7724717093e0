"""The main job as one call."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from neardup.api.finished.runs import DedupRun
from neardup.api.progress import show_progress
from neardup.api.running import DedupRequest, sketch_into_store
from neardup.corpora.stop_passages import ignored
from neardup.deduplication.clock import Clock
from neardup.errors import SpecError
from neardup.io.frames import gives_baskets
from neardup.io.opening import given_paths
from neardup.options.arguments import by_preset, expanded, is_given, of_specs
from neardup.options.option_groups import CallOptions, ReadingOptions, StoreOptions, WritingOptions
from neardup.spec import ShingleSpec, Spec, check_similarity, without_effect
from neardup.spec import preset as settings_of
from neardup.state.shards import Shard

if TYPE_CHECKING:
    from neardup.api.corpus_types import Corpus
    from neardup.forecast.plan import Plan


class SketchOptions(ReadingOptions, StoreOptions, total=False):
    """Options of `sketch_corpus`."""


class DedupOptions(SketchOptions, WritingOptions, total=False):
    """Options of `dedup`."""


#: Settings that are separate arguments.
_GIVEN = (
    *("threshold", "recall", "shingle", "keep", "within"),
    *("order_by", "cluster", "pairs", "boilerplate"),
)


def make_spec(spec: Spec | None, preset: str, *given: object) -> Spec:
    """Return a preset, or a spec, with those values of `_GIVEN` that a caller gave."""
    if spec is not None and not isinstance(spec, Spec):
        what = f"`spec` is of type {type(spec).__name__}; expected a neardup.Spec"
        raise SpecError(what, 'for example neardup.preset("web").replace(threshold=0.8)')
    if spec is not None and is_given(preset):
        raise SpecError("`spec` and `preset` are both given", "leave one out")
    base = spec or settings_of(preset or "web")
    found = zip(_GIVEN, given, strict=False)
    return base.replace(**{name: value for name, value in found if is_given(value)})


def with_signs(signs: str) -> dict[str, str]:
    """Return the setting of signs, where a caller gave it."""
    return {"signs": signs} if is_given(signs) else {}


#: Settings that have no effect with ``only_same``.
WITHOUT_EFFECT = {
    field.name for kind in (Spec, ShingleSpec) for field in dataclasses.fields(kind)
} - {"only_same", "keep", "order_by"} | {"preset"}


def refuse_similarity(given: Iterable[str]) -> None:
    """Refuse settings that a caller gave together with ``only_same``."""
    for name in given:
        raise SpecError(*without_effect(name))


def _shingle_of(source: object, text: object, shingle: str | ShingleSpec, *others: object) -> Any:
    """Return the shingle: items where the source is lists of them and no setting was given."""
    if any(map(is_given, (shingle, *others))) or given_paths(source) is not None:
        return shingle
    name = text if isinstance(text, str) else next(iter(cast(Any, text)), "text")
    return "item" if gives_baskets(source, name) else shingle


@expanded
@of_specs(Spec)
def dedup(
    source: Corpus,
    *,
    preset: str = by_preset("web"),
    threshold: float = by_preset(0.7),
    recall: float = by_preset(0.99),
    shingle: str | ShingleSpec = by_preset("word:5"),
    keep: str = by_preset("first"),
    order_by: str | None = None,
    within: str | None = None,
    cluster: str = by_preset("star"),
    pairs: str = by_preset("kept"),
    boilerplate: int = by_preset(0),
    ignore: str | Sequence[str] = (),
    stop_passages: str | os.PathLike[str] | Sequence[str] | None = None,
    signs: str = by_preset("short"),
    only_same: bool = False,
    spec: Spec | None = None,
    **options: Unpack[DedupOptions],
) -> DedupRun:
    """Find near-duplicates, exactly verified, and decide which documents to keep.

    A document is removed if it is similar to one that is kept; no two kept documents that were
    found to be similar are left. Similarity is the Jaccard similarity of sets of shingles.

    Args:
        source: A path or URL (file, folder or pattern; ``s3://``, ``gs://``, ``abfs://``,
            ``hf://``, ``https://``) or a list of `pathlib.Path`; a pyarrow Table,
            RecordBatchReader or Dataset; a pandas or Polars frame or series; a dict of lists; a
            list of dicts; a Hugging Face dataset; or a list of texts. Texts may be baskets, which
            are lists of items, with ``shingle="item"``.
        preset: ``"web"`` (5 words, threshold 0.7; the default), ``"clinical"`` (8 stemmed words,
            0.75, bounded clusters) or ``"records"`` (3 characters, 0.5).
        shingle: Units that are compared, such as ``"word:5"`` or ``"char:3"``; ``"item"`` for lists
            of items, which are compared as they are. It is the default for lists in memory.
        ignore: Regular expressions in the syntax of RE2, or one. Texts are compared as if matches
            were spaces; the clean corpus has them.
        stop_passages: Passages that are ignored likewise, such as letterheads, word by word: a list
            of them, or the path of a file, see `docs/howto/shingles.md`.
        signs: Whether signs such as ``#``, ``$``, ``+`` and ``<`` are tokens too, of words:
            ``"short"``, in texts of fewer words than a shingle; ``"all"``; or ``"none"``.
        spec: All settings in one object, instead of a preset; the arguments above override it.

    Returns:
        The results.

    Raises:
        InputError: The input can't be used; its subclasses say why.
        OutputError: The output folder exists, or can't be written.
        ResumeError: The run to resume has other settings or inputs, or is damaged.
        SpecError: A setting is out of range, or unknown.
        StoreError: The store can't be used.

    Examples:
        >>> run = dedup(["one two three four five six", "One, two; three four five six!", "x"])
        >>> run.keep_mask.tolist()
        [True, False, True]
    """
    given = locals()
    if only_same:
        refuse_similarity(
            name
            for name in WITHOUT_EFFECT & given.keys()
            if is_given(given[name]) and given[name] != ()
        )
    reading, resources, writing = options["reading"], options["resources"], options["writing"]
    shingle = _shingle_of(source, reading.text, shingle, preset, spec)
    settings = threshold, recall, shingle, keep, within, order_by, cluster, pairs, boilerplate
    asked = make_spec(spec, preset, *settings)
    asked = asked.replace(**ignored(ignore, stop_passages), **with_signs(signs))
    asked = asked.replace(only_same=only_same or asked.only_same)
    writing.require_out()
    with show_progress(resources.progress) as listener:
        request = DedupRequest(source, reading, asked, resources, writing, Clock(listener))
        return DedupRun(request.run())


@expanded
def plan(
    source: Corpus,
    *,
    preset: str = by_preset("web"),
    threshold: float = by_preset(0.7),
    recall: float = by_preset(0.99),
    shingle: str | ShingleSpec = by_preset("word:5"),
    keep: str = by_preset("first"),
    within: str | None = None,
    ignore: str | Sequence[str] = (),
    stop_passages: str | os.PathLike[str] | Sequence[str] | None = None,
    signs: str = by_preset("short"),
    spec: Spec | None = None,
    **options: Unpack[CallOptions],
) -> Plan:
    """Estimate what `neardup.dedup` would find, need and take, reading for some seconds.

    Nothing is written. Documents are chosen by their content over all that was read, so copies may
    be far apart. Of a source that can be read only once, its beginning is used up.

    Args:
        source: As for `neardup.dedup`, as are all settings.

    Raises:
        InputError: The input can't be used; its subclasses say why.
        SpecError: A setting is out of range.
    """
    from neardup.forecast import plan as forecast

    reading, resources = options["reading"], options["resources"]
    shingle = _shingle_of(source, reading.text, shingle, preset, spec)
    asked = make_spec(spec, preset, threshold, recall, shingle, keep, within)
    asked = asked.replace(**ignored(ignore, stop_passages), **with_signs(signs))
    check_similarity(asked, "a plan")
    with show_progress(resources.progress) as listener:
        request = DedupRequest(source, reading, asked, resources, clock=Clock(listener))
        return forecast.plan(request.job())


@expanded
def sketch_corpus(
    source: Corpus,
    *,
    shard: str | Shard = "1/1",
    preset: str = by_preset("web"),
    threshold: float = by_preset(0.7),
    recall: float = by_preset(0.99),
    shingle: str | ShingleSpec = by_preset("word:5"),
    keep: str = by_preset("first"),
    within: str | None = None,
    spec: Spec | None = None,
    **options: Unpack[SketchOptions],
) -> dict[str, int]:
    """Sketch a corpus, or a share of it, into a store that several processes can reach.

    `neardup.dedup` with the same ``store`` and ``run`` continues from there, once all shares are
    complete. Called again after a crash, it does the rest.

    Args:
        source: As for `neardup.dedup`; the same in every process.
        store: ``"sqlite:FILE"`` or ``"cassandra://HOST/KEYSPACE"``; it must be given.
        run: Name of the run in the store; it must be given.
        shard: Which share of the corpus, such as ``"3/8"``.
        preset: As for `neardup.dedup`, as are all settings; the same in every process.

    Returns:
        ``partitions`` and ``documents`` of this share, and ``of``, the partitions of the corpus.

    Raises:
        InputError: The input can't be used; its subclasses say why.
        SpecError: A setting is out of range.
        StoreError: The store can't be used, or has a run of that name for something else.
    """
    asked = make_spec(spec, preset, threshold, recall, shingle, keep, within)
    share = shard if isinstance(shard, Shard) else Shard.parse(shard)
    resources = options["resources"]
    with show_progress(resources.progress) as listener:
        request = DedupRequest(source, options["reading"], asked, resources, clock=Clock(listener))
        return sketch_into_store(request, share)
