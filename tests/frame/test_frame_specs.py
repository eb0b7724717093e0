"""Settings stand once: each field of a spec is an option, and an argument of its function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import click
import pytest

import neardup
from neardup.cli import command_options as o
from neardup.cli.main import cli
from neardup.commands import COMMANDS
from neardup.copied_passages.passage_spec import ContainSpec, CutSpec, PassageSpec
from neardup.frame.run import class_of
from neardup.linkage.fields import LinkSpec
from neardup.options.option_groups import described
from neardup.spec import ShingleSpec, Spec, option

#: The command and the function of each spec.
SPECS: dict[type, tuple[str, Callable[..., Any]]] = {
    Spec: ("dedup", neardup.dedup),
    ShingleSpec: ("dedup", neardup.dedup),
    PassageSpec: ("passages", neardup.passages),
    CutSpec: ("passages", neardup.passages),
    ContainSpec: ("decontaminate", neardup.decontaminate),
    LinkSpec: ("link", neardup.link),
}
#: Fields without an option of that name, with the reason.
NO_OPTION = dict.fromkeys([(ShingleSpec, "unit"), (ShingleSpec, "n")], "--shingle gives both")
#: Arguments with another default than the field, with the reason.
OTHER_DEFAULT = {
    (PassageSpec, "words"): "the preset decides",
    **dict.fromkeys(
        [(PassageSpec, "stop_passages"), (ShingleSpec, "stop_passages")],
        "None, as the path of a file is one value",
    ),
    (ContainSpec, "shingle"): "spelled",
    (LinkSpec, "fields"): "an index has them",
}
#: Arguments of a method of a result that are no option of its command, with the reason.
NO_OPTION_OF_VERB = {
    ("audit", "write"): "the report reads what the command has written",
    ("audit", "progress"): "--quiet",
    ("report", "progress"): "--quiet",
    ("recluster", "progress"): "--quiet",
    ("report", "truth"): "neardup evaluate takes it",
    ("report", "page"): "its fields are options",
}
#: Arguments whose option has another name.
SPELLED = {"texts": "no_text", "path": "out"}


def options_of(command: str) -> dict[str, click.Option]:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    return {str(one.name): one for one in found.params if isinstance(one, click.Option)}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.__name__)
def test_fields_are_options_and_arguments(spec: type) -> None:
    command, function = SPECS[spec]
    options, arguments = options_of(command), inspect.signature(function).parameters
    told = {**described(ShingleSpec), **described(spec)}
    for field in fields(spec):
        assert told[field.name], field.name
        assert (field.name in options) == ((spec, field.name) not in NO_OPTION), field.name
        # All settings of the main job in one object; those that are used most by themselves too.
        assert field.name in arguments or "spec" in arguments, field.name
        if field.name in arguments and (spec, field.name) not in OTHER_DEFAULT:
            default = arguments[field.name].default
            assert default == field.default or str(default) == str(field.default), field.name
            assert f"    {field.name}: " in (function.__doc__ or "") or field.name in (
                *("keep_case", "nfkc", "strip_accents", "join_hyphens", "stop_passages"),
            )


def test_a_new_field_is_an_option() -> None:
    @dataclass
    class Made:
        """Something.

        Attributes:
            most_words: Most words, or ``keep_case``.
            strict: Refuse ``"all"``.
            near: A share.
        """

        most_words: int = option(0, "N")
        strict: bool = option(False)
        near: float | None = option(None, "[0.1|0.2]")

    @click.command(cls=o.Grouped)
    @o.shared(Made)
    def command(**options: Any) -> None: ...

    shown = " ".join(command.get_help(click.Context(command)).split())
    assert "--most-words N Most words, or --keep-case. [default: 0]" in shown
    assert "--strict Refuse all. --near [0.1|0.2] A share." in shown


def arguments_of_verbs() -> list[tuple[str, str]]:
    """The verbs that are commands, with the arguments that they have of any result."""
    found = set()
    for command in COMMANDS:
        kind = class_of(command)
        for verb in kind.verbs():
            if cli.get_command(click.Context(cli), verb) is None or verb in ("link", "index"):
                continue
            for name, one in inspect.signature(getattr(kind, verb)).parameters.items():
                if one.kind is one.KEYWORD_ONLY and not name.endswith(("reading", "resources")):
                    found.add((verb, name))
    return sorted(found - {(verb, "writing") for verb, _ in found})


@pytest.mark.parametrize(("verb", "name"), arguments_of_verbs())
def test_arguments_of_verbs_are_options(verb: str, name: str) -> None:
    spelled = {name, SPELLED.get(name, name)}
    has_option = not spelled.isdisjoint(options_of(verb))
    assert has_option == ((verb, name) not in NO_OPTION_OF_VERB)


def test_reasons_are_of_arguments_that_exist() -> None:
    assert NO_OPTION_OF_VERB.keys() <= set(arguments_of_verbs())
