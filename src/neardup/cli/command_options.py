"""Options that several commands have, in groups, and what becomes of them."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neardup.announcing import announced_to
from neardup.cli.main import as_options, flag_of
from neardup.errors import SpecError
from neardup.options.option_groups import PageForm, Reading, Resources, Writing, described
from neardup.spec import PRESETS, ShingleSpec, Spec, one_of, preset

if TYPE_CHECKING:
    from neardup.api.running import DedupRequest
    from neardup.deduplication.clock import Clock

F = TypeVar("F", bound=Callable[..., Any])
G = TypeVar("G", Reading, Resources, Writing, PageForm)

INPUT, OUTPUT = "Input", "Output"
COMPARED, KEPT = "Comparison", "Selection"
RESOURCES, ADVANCED, OTHER = "Resources", "Advanced", "Other"
PATH, COUNT = click.Path(path_type=Path), click.IntRange(0)


class _Target(click.Path):
    """Where to write: never to standard output, and with ``local`` not to a URL."""

    def __init__(self, local: bool = False) -> None:
        super().__init__(path_type=Path if local else str)
        self._local = local

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) == "-":
            what = "nothing is written to standard output; expected the name of a folder or file"
            raise SpecError(what, "such as out, or ./- for one of that name")
        if not self._local:
            return super().convert(value, param, ctx)
        from neardup.io.remote import local_target

        return Path(str(local_target(value)))


LOCAL_TARGET = _Target(local=True)
_HEADINGS = {Reading: INPUT, Resources: RESOURCES, Writing: OUTPUT, PageForm: OUTPUT}
_GROUPS = (INPUT, OUTPUT, COMPARED, KEPT, RESOURCES, ADVANCED, OTHER)
#: Fields whose heading is another one than that of their group or spec.
_ADVANCED = {
    *(
        "store",
        "run",
        "stem",
        "keep_case",
        "nfkc",
        "strip_accents",
        "join_hyphens",
        "raw",
        "alphanumeric",
        "bag",
        "hash_bytes",
    ),
    *("ignore", "stop_passages", "method", "num_bands", "rows", "documents", "scheme", "seed"),
    *("tree_threshold", "pairs", "max_bucket", "tagged", "signs"),
}
#: What else differs on the command line, by field.
_DIFFER: dict[str, dict[str, Any]] = {
    "stop_passages": {
        "multiple": False,
        "help": "Compare as if the passages of this file, such as letterheads, were spaces; in "
        "plain text with an empty line between two, else the column text.",
    },
    "clean": {"help": "Write no clean corpus."},
    "hash_bytes": {"callback": lambda _, __, value: value and int(value)},
}
_KINDS = {"int": int, "float": float}


class GroupedOption(click.Option):
    def __init__(self, *args: Any, group: str = OTHER, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class Grouped(click.Command):
    """A command whose help lists options under headings, and ends with an example, its epilog."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in _GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                rows[getattr(parameter, "group", OTHER)].append(record)
        headings = [group for group in _GROUPS if rows[group]]
        for group in headings:
            with formatter.section("Options" if len(headings) == 1 else group):
                formatter.write_dl(rows[group])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.epilog:
            with formatter.section("Example"):
                for line in self.epilog.splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def grouped(example: str, *, bare: bool = False) -> Callable[[Callable[..., Any]], Grouped]:
    """Return a decorator that makes a command of a function, with ``--debug`` and an example.

    ``bare``: without arguments the command runs, where others show their help.
    """

    def make(function: Callable[..., Any]) -> Grouped:
        decorate = click.command(cls=Grouped, no_args_is_help=not bare, epilog=example)
        return debug_option(decorate(function))

    return make


#: Words for values of another type than text.
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("N", "B", "R"), int),
    **dict.fromkeys(("T", "P", "SHARE", "SECONDS"), float),
    **dict.fromkeys(("DIR", "FILE", "INDEX|RUN"), PATH),
}


def option(*names: str, group: str = OTHER, **attributes: Any) -> Callable[[F], F]:
    """Return an option under a heading, as `click.option` does; a default is shown in the help.

    The long name is as the help shows it: with a word for its value or with its choices, such as
    ``--seed N`` or ``--missing [error|skip]``. The word says the type, see `_TYPES`, unless one is
    given. An option without a value is a flag.
    """
    attributes.setdefault("show_default", "default" in attributes)
    plain = []
    for name, _, value in (name.partition(" ") for name in names):
        plain.append(name)
        if value:
            choices = {"type": click.Choice(value[1:-1].split("|"))}
            word = {"metavar": value, "type": _TYPES.get(value)}
            attributes = (choices if value[0] == "[" else word) | attributes
    if attributes.keys().isdisjoint({"metavar", "type", "default"}):
        attributes["is_flag"] = True
    return click.option(*plain, cls=GroupedOption, group=group, **attributes)


of_input, of_output = partial(option, group=INPUT), partial(option, group=OUTPUT)
compared, kept = partial(option, group=COMPARED), partial(option, group=KEPT)
of_resources, advanced = partial(option, group=RESOURCES), partial(option, group=ADVANCED)


def file_option(*names: str, what: str, **attributes: Any) -> Callable[[F], F]:
    return of_output(*names, metavar="FILE", type=LOCAL_TARGET, help=what, **attributes)


def all_of(*options: Callable[..., Any]) -> Callable[[F], F]:
    def add(command: F) -> F:
        for one in reversed(options):
            command = one(command)
        return command

    return add


def _quiet(text: str) -> Callable[[F], F]:
    def heard(context: click.Context, _: click.Parameter, quiet: bool) -> bool:
        if quiet:
            context.with_resource(announced_to(None))
        return quiet

    return option("--quiet", callback=heard, help=text)


#: Show where an error was raised; `neardup.cli.main` looks for it before any command is read.
debug_option = option("--debug", expose_value=False, help="Show the traceback of an error.")
quiet_option = _quiet("No progress, no summary.")
#: Of commands that print an answer, which they do all the same.
quiet_notes_option = _quiet("No progress, no notes.")
json_option = of_output("--json", "json_", help="Print JSON.")
no_text_option = of_output("--no-text", help="Leave the texts out; ids stay.")
run_argument = click.argument("run", metavar="RUN", type=PATH)
inputs_argument = click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
_TIMEOUT = "How long to wait for another process that writes."
timeout_option = of_resources("--timeout SECONDS", default=10.0, help=_TIMEOUT)
_OUT: dict[str, Any] = {"required": True, "help": "Folder to make."}
out_option = of_output("-o", "--output OUT", "out", type=_Target(), **_OUT)
optional_out_option = of_output("-o", "--output OUT", "out", type=_Target(), help=_OUT["help"])
local_out_option = of_output("-o", "--output OUT", "out", type=LOCAL_TARGET, **_OUT)


class _Names(click.ParamType):  # type: ignore[type-arg]
    """Names of columns, separated by commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value.split(",") if isinstance(value, str) else value


NAMES = _Names()


def chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have a value: of the others the library has the defaults."""
    # By identity: 0 equals False, and is a value to refuse.
    return {k: v for k, v in options.items() if v is not None and v is not False and v != ()}


def shared(
    of: type, *names: str, but: Iterable[str] = (), prefix: str = "", **attributes: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Return the options of a group or a spec, as the library describes them.

    Args:
        of: `Reading`, `Resources`, `Writing` or a spec.
        names: Fields of it; all by default.
        but: Those that are left out then.
        prefix: Of the options of a second corpus, which are those of the first one by default.
        attributes: What differs from the description.
    """
    fields = {field.name: field for field in dataclasses.fields(of)}
    made = names or [name for name in fields if name not in but]
    return all_of(*(_of_field(of, fields[name], prefix, attributes) for name in made))


def _of_field(
    group: type, field: dataclasses.Field[Any], prefix: str, attributes: dict[str, Any]
) -> Callable[[F], F]:
    word, default = field.metadata["word"], field.default
    given: dict[str, Any] = {"group": _HEADINGS.get(group, COMPARED)}
    if field.name in _ADVANCED:
        given["group"] = ADVANCED
    given["help"] = _plain(_told(group)[field.name], group)
    name = flag_of(prefix + field.name)
    if default is True:
        given |= {"is_flag": True, "flag_value": False, "default": True, "show_default": False}
        given |= _DIFFER[field.name] | attributes
        return option(f"--no-{field.name}", field.name, **given)
    kind = str(field.type).removesuffix(" | None")
    if kind in _KINDS and word[:1] != "[":
        given["type"] = _KINDS[kind]
    if kind.startswith("tuple"):
        given |= {"multiple": True, "help": f"{given['help']} May be given several times."}
    elif group not in _HEADINGS:
        given["help"] += _default(group, field)
    elif default not in (None, False) and not prefix:
        given["default"] = default
    if field.name == "text":
        given["type"] = NAMES
    given |= _DIFFER.get(field.name, {}) | attributes
    return option(f"{name} {word}".strip(), prefix + field.name, **given)


def _default(group: type, field: dataclasses.Field[Any]) -> str:
    """Return the default of a setting, or those of the presets, for its help."""
    every = {"": field.default}
    if group is Spec:
        every = {name: getattr(spec, field.name) for name, spec in PRESETS.items()}
    if group is ShingleSpec:
        every = {name: getattr(spec.shingle, field.name) for name, spec in PRESETS.items()}
    if len(set(every.values())) == 1:
        every = {"": field.default}
    shown = [f"{name} {value}".strip() for name, value in chosen(every).items()]
    return f" [default: {', '.join(shown)}]" if shown else ""


@cache
def _told(group: type) -> dict[str, str]:
    """Return the descriptions of its fields; those of tokens are described in one spec only."""
    return described(ShingleSpec) | described(group)


@cache
def _names(group: type) -> list[str]:
    """Return the options that descriptions of a group or spec name."""
    every = (*_HEADINGS, ShingleSpec, group)
    return [field.name for of in every for field in dataclasses.fields(of)]


def _plain(text: str, group: type) -> str:
    """Return a description of the library in the words of the command line.

    >>> _plain('Such as ``"4GB"``; without ``skip_large``, ``row 17``.', Reading)
    'Such as 4GB; without --skip-large, row 17.'
    """
    if "`" not in text:  # as most are: all commands are described in some milliseconds
        return text
    text = re.sub(r'``"(\w[^`]*)"``', r"\1", text)
    for name in _names(group):
        text = text.replace(f"``{name}``", f"`{name}`")
    return as_options(text.replace('``"', "'").replace('"``', "'").replace("``", ""))


text_option = shared(Reading, "text")
private_ids_option = shared(Reading, "private_ids")
#: How files are read of which all columns are.
file_options = shared(Reading, but=("text", "id"))
#: How records are read.
table_options = all_of(shared(Reading, "id"), file_options)
#: How texts are read.
input_options = all_of(text_option, table_options)
threads_option = shared(Resources, "threads")
_SHINGLE_HELP = (
    "Units that are compared: N consecutive words or characters; or items, where the column has "
    f"lists of them. [default: {', '.join(f'{name} {of.shingle}' for name, of in PRESETS.items())}]"
)
#: Options of shingles.
shingle_options = all_of(
    compared(
        f"--preset {one_of(PRESETS)}",
        default="web",
        help="Settings to start from; the options below override them.",
    ),
    shared(Spec, "shingle", help=_SHINGLE_HELP),
    shared(
        ShingleSpec,
        "stem",
        help="Compare word stems; a Snowball language, or none. [default: clinical english]",
    ),
    shared(ShingleSpec, but=("unit", "n", "stem")),
)
_scheme_options = shared(Spec, "scheme", "seed")
#: What signatures depend on.
signature_options = all_of(shingle_options, _scheme_options)
#: Those that two texts by themselves need.
pair_options = all_of(shingle_options, shared(Spec, "threshold"))
_OF_KEYS = ("recall", "method", "num_bands", "rows", "documents")
#: Options that the keys of an index depend on.
index_options = all_of(pair_options, shared(Spec, *_OF_KEYS), _scheme_options)
_OF_INDEX = ("shingle", "threshold", *_OF_KEYS, "scheme", "seed")
_KEPT = ("keep", "order_by", "cluster")
#: Options of the settings; see `spec_of`.
spec_options = all_of(
    index_options,
    shared(Spec, *_KEPT, group=KEPT),
    shared(Spec, but=(*_OF_INDEX, *_KEPT, "only_same", "boilerplate")),
)
#: Where band keys are stored.
store_options = shared(Resources, "store", "run")
resource_options = shared(Resources, "memory", "threads")
overwrite_option = shared(Writing, "overwrite")
#: Options of a run that can be continued.
AT_WORK = ("resume", "work", "keep_run")
#: How the corpus and the tables of a run are written.
output_options = shared(Writing, but=("out", *AT_WORK))


def second_options(prefix: str, of: str) -> Callable[[F], F]:
    """Return how a second corpus is read, whose options have a prefix, such as ``old_``."""
    what = {
        "text": f"Column with the text {of}, or several. [default: as --text]",
        "id": f"Column with the ids {of}.",
        "input_format": f"Format of the files {of}.",
        "delimiter": f"Delimiter of the CSV files {of}.",
    }
    return all_of(*(shared(Reading, name, prefix=prefix, help=what[name]) for name in what))


def request_of(inputs: Sequence[str], options: dict[str, Any], clock: "Clock") -> "DedupRequest":
    """Return the request to the library, by the INPUTs and options of a command."""
    from neardup.api.running import DedupRequest
    from neardup.io.remote import located

    reading, resources = group_of(Reading, options), group_of(Resources, options)
    writing = group_of(Writing, options)
    paths, spec = [located(name) for name in inputs], spec_of(options)
    return DedupRequest(paths, reading, spec, resources, writing, clock)


def group_of(group: type[G], options: dict[str, Any]) -> G:
    """Take the options of a group."""
    names = [field.name for field in dataclasses.fields(group) if field.name in options]
    return group(**{name: options.pop(name) for name in names})


def given_options(*names: str) -> list[str]:
    """Return those of some parameters that the command line has, or all that it has."""
    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    of_all = names or tuple(context.params)
    return [name for name in of_all if context.get_parameter_source(name) == given]


def spec_of(options: Mapping[str, Any]) -> Spec:
    """Return the preset with the settings that override it."""
    given = chosen(options)
    if "recall" in given and ("num_bands" in given or "rows" in given):
        raise SpecError("recall and bands with rows exclude each other", "leave one out")
    if "stop_passages" in given:
        from neardup.corpora.stop_passages import ignored

        given |= ignored((), given["stop_passages"])
    if given.get("stem") == "none":
        given["stem"] = None
    return preset(given.pop("preset")).replace(**given)
