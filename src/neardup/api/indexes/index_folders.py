"""Settings, recipe and folder of an index."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from neardup.copied_passages.passage_spec import PassageSpec
from neardup.deduplication.clock import Clock
from neardup.errors import InputError, RecipeError, SpecError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import system_errors, write_private
from neardup.index.copy_keys import CopyLength
from neardup.index.incoming import ADD
from neardup.index.storing.bodies import is_integer_id
from neardup.index.storing.catalogue import Catalogue, Options
from neardup.index.storing.index_check import require_last_commit
from neardup.index.storing.location import index_folder, require_index, require_local
from neardup.index.storing.merging import clean
from neardup.index.storing.snapshot import segment_path
from neardup.index.storing.transactions import Core
from neardup.io.remote import local_target
from neardup.recipe import Recipe
from neardup.result_record import INDEX, RECORD_INDEX
from neardup.sketch.bands import candidate_probability, recipe_for
from neardup.spec import Spec, check_similarity
from neardup.spec import preset as preset_of
from neardup.tuning import TUNING

if TYPE_CHECKING:
    from neardup.api.finished.runs import DedupRun
    from neardup.api.indexes.indexing import Index
    from neardup.results.results import Results

#: Failure that a committed document survives.
Durable = Literal["power", "process"]


def made_core(
    path: str | os.PathLike[str] | None,
    options: Options,
    spec: Spec,
    recipe: Recipe,
    texts: bool,
    passages: int | None = None,
) -> Core:
    """Make an empty index.

    Args:
        path: Folder to make; None for an index in memory.
        options: How its database is opened.
        spec: Its settings.
        recipe: How texts become band keys.
        texts: Whether texts are stored; else sets of shingles.
        passages: Words of the shortest copied passage that it answers; None for no answers.

    Raises:
        OutputError: There is something at the path, or it can't be written.
        SpecError: Passages need words and texts, and there are none; or documents have groups.
        StoreError: The path is on a network file system.
    """
    folder = None if path is None else local_target(path)
    copies = None if passages is None else _copy_length(passages, recipe, texts)
    about: dict[str, Any] = {"recipe": recipe.as_dict(), "spec": spec.as_dict(), "texts": texts}
    if copies is not None:
        about["passages"] = copies._asdict()
    catalogue = Catalogue(None if folder is None else folder.path / INDEX, options)
    if folder is None:
        catalogue.create(about)
    else:
        with folder.in_messages():
            require_local(folder.path.parent)
        with index_folder(folder) as new, closing(Catalogue(new / INDEX, options)) as fresh:
            fresh.create(about)
        catalogue.about()  # opens it: a folder that comes there later is another one
    return Core(folder, catalogue, recipe, spec.threshold, texts, copies)


def _copy_length(words: int, recipe: Recipe, texts: bool) -> CopyLength:
    PassageSpec(words)  # refuses numbers out of range
    if recipe.within is not None:
        raise SpecError(
            "`passages` of an index come from all documents, and `within` compares groups only",
            "leave one of the two out, or use neardup.passages(..., within=...)",
        )
    if recipe.shingle.unit == "item":
        raise SpecError("`passages` needs texts, and the documents are lists of items")
    if not texts:
        raise SpecError(
            "`passages` compares words, and only shingles are stored", "leave `store_text` out"
        )
    return CopyLength(words, TUNING.run_part, TUNING.frequent_anchor)


def opened_core(path: str | os.PathLike[str], options: Options) -> tuple[Core, Spec]:
    """Open an index; return it with its settings.

    Raises:
        InputNotFoundError: There is none.
        RecipeError: It was made by other versions of what keys depend on.
        StoreError: It is damaged, or on a network file system.
    """
    folder = local_target(path)
    if (folder.path / RECORD_INDEX).is_file():
        raise InputError(
            f"{folder} is an index of records, made by neardup link",
            "use neardup link --against, or neardup.RecordIndex",
        )
    with folder.in_messages(), ExitStack() as opening:
        require_index(folder.path / INDEX, "index", "make one with `Index.create`")
        require_local(folder.path)
        require_last_commit(folder.path / INDEX)
        catalogue = Catalogue(folder.path / INDEX, options)
        opening.callback(catalogue.close)
        about = catalogue.about()
        spec, recipe = Spec.from_dict(about["spec"]), Recipe.from_dict(about["recipe"])
        recipe.require_usable(f"{folder}: this index")
        core = Core(folder, catalogue, recipe, spec.threshold, about["texts"], _stored(about))
        if not options.readonly:
            clean(core)
        core.warm()
        opening.pop_all()
    return core, spec


def _stored(about: dict[str, Any]) -> CopyLength | None:
    """Return how copied passages are looked for, by the description of an index."""
    return CopyLength(**about["passages"]) if "passages" in about else None


def index_of(
    cls: type[Index],
    results: Results,
    folder: GivenPath | Path | None,
    clock: Clock,
    **options: Any,
) -> Index:
    """Return an index of the kept documents of a run."""
    from neardup.corpora.of_run import kept_batches

    spec, recipe = settings_of_run(results)
    index = cls.create(folder, spec=spec, recipe=recipe, **options)
    with clock.stage(ADD, int(results.array("kept").sum())) as advance:
        for batch in kept_batches(results):
            index._insert([batch], "error")
            advance(len(batch.ids))
    if pa.types.is_integer(results.ids.type):
        # No later document gets the id, or the position, of one that the run has removed.
        greatest = pc.max(results.ids).as_py()
        if greatest is not None and is_integer_id(greatest):
            with index._core.writing():
                index._core.catalogue.note_ids([greatest])
    return index


def index_from_run(
    cls: type[Index],
    run: str | os.PathLike[str] | DedupRun,
    folder: GivenPath | None,
    clock: Clock,
    **options: Any,
) -> Index | None:
    """Make an index of the kept documents of a run; return it, or None where it is in a folder."""
    from neardup.corpora.of_run import results_of
    from neardup.output.targets import check_outside

    results = results_of(run)
    if folder is None:
        return index_of(cls, results, None, clock, **options)
    check_outside(folder, results.read_from)
    with index_folder(folder) as new:
        index = index_of(cls, results, new, clock, **options)
        with clock.stage("merge segments"):
            index.close()
    return None


def settings_of(
    spec: Spec | None, preset: str | None, recipe: Recipe | None, given: dict[str, Any]
) -> tuple[Spec, Recipe]:
    """Return the settings of a new index, and its recipe: the one given, or one for them.

    Raises:
        RecipeError: The recipe contradicts the settings, or has no threshold.
        SpecError: A setting is out of range, or not for an index.
    """
    asked = asked_spec(spec, preset, **given)
    if recipe is not None:
        settings = {name for name, value in given.items() if value is not None}
        asked = agreed_spec(asked, recipe, set(given) if preset or spec else settings)
    made = recipe or recipe_for(asked)
    made.require_usable("the recipe")
    return asked, made


def settings_of_run(results: Results) -> tuple[Spec, Recipe]:
    """Return the settings by which new documents are compared with those of a run, and its recipe.

    Raises:
        RecipeError: It was clustered again at a threshold below that of its bands.
    """
    # The first of similar documents is kept, all are compared, and boilerplate was found before.
    spec = results.spec.replace(keep="first", order_by=None, max_bucket=None, boilerplate=0)
    check_similarity(spec, "this command")
    try:
        return settings_of(
            spec, None, results.recipe, dict.fromkeys(("threshold", "recall", "shingle"))
        )
    except RecipeError as error:
        error.hint = f"run neardup dedup again at the threshold {spec.threshold:g}"
        raise


def copy_index(core: Core, path: str | os.PathLike[str]) -> None:
    """Copy an index, as it is at one moment, while others write.

    Raises:
        OutputError: There is something at the path, or it can't be written.
        StoreError: The path is on a network file system.
    """
    to = local_target(path)
    with to.in_messages():
        require_local(to.path.parent)
    with index_folder(to) as new, core.reading(), to.in_messages(), system_errors(to.path):
        core.catalogue.copy_to(new / INDEX)
        for kind in core.kinds:
            for segment in kind.segments:
                write_private(segment_path(new, segment.number), segment.content)


#: Settings of a run that an index has no others of.
_FIRST: dict[str, Any] = {
    "keep": "first",
    "order_by": None,
    "max_bucket": None,
    "only_same": False,
    "boilerplate": 0,
}


def asked_spec(spec: Spec | None, preset: str | None, **given: Any) -> Spec:
    """Return a preset, or a spec, with those values that were given."""
    if spec is not None and (preset is not None or not isinstance(spec, Spec)):
        raise SpecError("give a neardup.Spec as `spec`, or a `preset`; not both")
    base = spec or preset_of(preset or "web")
    for name, default in _FIRST.items():
        if (value := getattr(base, name)) != default:
            what = (
                f"`{name}` is {value!r}, which is not for an index: it keeps the first of similar"
            )
            raise SpecError(f"{what} documents, and compares with all", f"leave `{name}` out")
    return base.replace(**{name: value for name, value in given.items() if value is not None})


def agreed_spec(asked: Spec, recipe: Recipe, given: set[str]) -> Spec:
    """Return settings that agree with a recipe; others are those of the recipe."""
    if "shingle" in given and asked.shingle != recipe.shingle:
        raise RecipeError(
            f"the recipe has the shingle {recipe.shingle}, and {asked.shingle} was asked for",
            "leave `shingle` out, or give another recipe",
        )
    if "threshold" not in given:
        if recipe.threshold is None:
            raise RecipeError("the recipe does not say for which threshold", "give `threshold`")
        asked = asked.replace(threshold=recipe.threshold)
    if recipe.num_bands and asked.num_bands is None:
        found = candidate_probability(asked.threshold, recipe.num_bands, recipe.rows)
        if "recall" not in given and recipe.threshold is not None:
            known = candidate_probability(recipe.threshold, recipe.num_bands, recipe.rows)
            asked = asked.replace(recall=min(asked.recall, known))
        if found < asked.recall - 1e-9:
            raise RecipeError(
                f"the recipe's {recipe.num_bands} bands of {recipe.rows} rows find {found:.1%} of "
                f"the pairs at threshold {asked.threshold:g}; expected {asked.recall:.1%}",
                "raise `threshold`, lower `recall`, or give a recipe for this threshold",
            )
    return asked.replace(shingle=recipe.shingle, within=recipe.within)


def is_power(durable: str) -> bool:
    """Return whether a commit survives a power failure."""
    if durable not in ("power", "process"):
        raise SpecError(f"`durable` is {durable!r}; expected 'power' or 'process'")
    return durable == "power"
