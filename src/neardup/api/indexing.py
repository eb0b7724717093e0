"""The persistent index: the same answers as those of a run, document by document."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from neardup.api.arguments import checked
from neardup.api.index_calls.changing import Changing
from neardup.errors import InputNotFoundError, RecipeError, SpecError
from neardup.index.catalogue import Catalogue, Options
from neardup.index.index_check import require_last_commit, require_whole_log
from neardup.index.merging import clean
from neardup.index.place import index_folder, require_local
from neardup.index.transactions import Core
from neardup.recipe import Recipe
from neardup.sketch.bands import candidate_probability, recipe_for
from neardup.spec import ShingleSpec, Spec
from neardup.spec import preset as settings_of

if TYPE_CHECKING:
    from neardup.api.runs import Run

#: What a committed document survives.
Durable = Literal["power", "process"]
_FILE = "index.sqlite"


class Index(Changing):
    """Documents that stay, and what is similar to them; by `create`, `open` or `from_run`.

    One process writes at a time, and any number read; each read is of one moment. An object can be
    used by several threads, and after a fork.

    Args:
        core: The index.
        spec: What it was made for.
    """

    @classmethod
    @checked
    def create(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        preset: str | None = None,
        threshold: float | None = None,
        recall: float | None = None,
        shingle: str | ShingleSpec | None = None,
        spec: Spec | None = None,
        recipe: Recipe | None = None,
        store_text: bool = True,
        durable: Durable = "power",
        timeout: float = 10.0,
    ) -> Index:
        """Make an empty index.

        Args:
            path: Folder to make; None for an index in memory.
            preset: As for `neardup.dedup`, as are ``threshold``, ``recall``, ``shingle``, ``spec``.
            recipe: How texts become band keys, such as that of a run; bands are chosen without it.
            store_text: Store texts, compressed; else only their shingles.
            durable: What is committed survives a power failure (``"power"``), or the end of a
                process only (``"process"``), which is quicker.
            timeout: Seconds to wait for another process that writes.

        Raises:
            OutputError: There is something at the path, or it can't be written.
            RecipeError: The recipe contradicts the other settings.
            SpecError: A setting is out of range.
            StoreError: The path is on a network file system.

        Examples:
            >>> index = Index.create(threshold=0.8)
            >>> index.add(["one two three four five six"], ids=["a"])
            1
            >>> index.is_duplicate("One, two; three four five six!")
            True
        """
        asked = _asked_spec(spec, preset, threshold=threshold, recall=recall, shingle=shingle)
        if recipe is not None:
            asked = _agreed(asked, recipe, shingle is not None or preset or spec)
        made = recipe or recipe_for(asked)
        made.require_usable("the recipe")
        folder = None if path is None else Path(path)
        options = Options(False, timeout, _is_power(durable))
        about = {"recipe": made.as_dict(), "spec": asked.as_dict(), "texts": bool(store_text)}
        catalogue = Catalogue(None if folder is None else folder / _FILE, options)
        if folder is None:
            catalogue.create(about)
        else:
            require_local(folder.absolute().parent)
            with index_folder(folder) as new, closing(Catalogue(new / _FILE, options)) as fresh:
                fresh.create(about)
        return cls(Core(folder, catalogue, made, asked.threshold, bool(store_text)), asked)

    @classmethod
    @checked
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        readonly: bool = False,
        durable: Durable = "power",
        timeout: float = 10.0,
    ) -> Index:
        """Open an index; its recipe comes from the folder.

        Args:
            path: Its folder.
            readonly: Refuse to write.
            durable: As for `create`.
            timeout: As for `create`.

        Raises:
            InputNotFoundError: There is no index.
            RecipeError: It was made by other versions of what keys depend on.
            StoreError: It is damaged, or on a network file system.
        """
        folder = Path(path)
        if not (folder / _FILE).is_file():
            raise InputNotFoundError(
                f"{folder}: there is no index",
                "make one with neardup index create, or Index.create",
            )
        require_local(folder)
        if not readonly:  # a reader leaves the log as it is
            require_whole_log(folder / _FILE)
        catalogue = Catalogue(folder / _FILE, Options(readonly, timeout, _is_power(durable)))
        if not readonly:
            require_last_commit(catalogue)
        about = catalogue.about()
        spec, recipe = Spec.from_dict(about["spec"]), Recipe.from_dict(about["recipe"])
        recipe.require_usable(f"{folder}: this index")
        core = Core(folder, catalogue, recipe, spec.threshold, about["texts"])
        if not readonly:
            clean(core)
        core.warm()
        return cls(core, spec)

    @classmethod
    @checked
    def from_run(
        cls,
        run: str | os.PathLike[str] | Run,
        path: str | os.PathLike[str] | None = None,
        *,
        store_text: bool = True,
        durable: Durable = "power",
    ) -> Index:
        """Make an index of the kept documents of a run; they are read from its input again.

        A run keeps no texts, and shingles only of documents that it compared, also with
        ``keep_run``: so that they can't be spared.

        Args:
            run: The run, or its output folder.
            path: As for `create`, as are ``store_text`` and ``durable``.

        Raises:
            InputError: There is no finished run, or its input has changed.
            OutputError: There is something at the path, or it can't be written.
        """
        from neardup.corpora.of_run import kept_batches, results_of

        results = results_of(run)

        def filled(place: Path | None) -> Index:
            index = cls.create(
                place,
                spec=results.spec,
                recipe=results.recipe,
                store_text=store_text,
                durable=durable,
            )
            for batch in kept_batches(results):
                index._insert([batch], "error")
            return index

        if path is None:
            return filled(None)
        from neardup.output.writing import check_outside

        check_outside(path, results.read_from)
        with index_folder(Path(path)) as partial, closing(filled(partial)):
            pass
        return cls.open(path, durable=durable)


def _asked_spec(spec: Spec | None, preset: str | None, **given: Any) -> Spec:
    """Return a preset, or a spec, with those values that were given."""
    if spec is not None and (preset is not None or not isinstance(spec, Spec)):
        raise SpecError("give a neardup.Spec as `spec`, or a `preset`; not both")
    base = spec or settings_of(preset or "web")
    return base.replace(**{name: value for name, value in given.items() if value is not None})


def _agreed(asked: Spec, recipe: Recipe, shingle_asked: object) -> Spec:
    """Return settings that agree with a recipe."""
    if shingle_asked and asked.shingle != recipe.shingle:
        raise RecipeError(
            f"the recipe has the shingle {recipe.shingle}, and {asked.shingle} was asked for",
            "leave `shingle` out, or give another recipe",
        )
    if recipe.num_bands and asked.num_bands is None:
        found = candidate_probability(asked.threshold, recipe.num_bands, recipe.rows)
        if found < asked.recall - 1e-9:
            raise RecipeError(
                f"the recipe's {recipe.num_bands} bands of {recipe.rows} rows find {found:.1%} of "
                f"the pairs at threshold {asked.threshold:g}; expected {asked.recall:.1%}",
                "raise `threshold`, lower `recall`, or give a recipe for this threshold",
            )
    return asked.replace(shingle=recipe.shingle)


def _is_power(durable: str) -> bool:
    """Return whether what is committed survives a power failure."""
    if durable not in ("power", "process"):
        raise SpecError(f"`durable` is {durable!r}; expected 'power' or 'process'")
    return durable == "power"
