"""``neardup passages``."""

from pathlib import Path
from typing import Any

from neardup.cli import command_options as o
from neardup.cli.showing import show_events, show_record
from neardup.copied_passages.passage_spec import CutSpec, PassageSpec
from neardup.options.option_groups import Resources, Writing


@o.grouped(
    "neardup passages notes.jsonl -o out --id id --order-by date --within patient\n"
    "neardup passages web/ -o out --preset web --cut"
)
@o.inputs_argument
@o.input_options
@o.of_input(
    "--against CORPUS",
    type=o.PATH,
    help="An old corpus, or the output folder of neardup dedup; its documents come first.",
)
@o.second_options("old_", "of the old corpus")
@o.shared(PassageSpec, "words", help="Words of the shortest run that counts. [default: 25]")
@o.compared("--preset [web|clinical]", help="50 or 10 words, unless --words is given.")
@o.shared(PassageSpec, but=("words",))
@o.out_option
@o.of_output("--no-text", help="Leave the texts of boilerplate out of its table.")
@o.of_output(
    "--by COLUMN[,COLUMN...]",
    type=o.NAMES,
    help="List the totals by its values too, as of an author; or by those of several, crossed.",
)
@o.shared(Writing, "format", "compression", "tables", "overwrite", "resume", "work")
@o.shared(CutSpec, "annotate", group=o.OUTPUT)
@o.json_option
@o.shared(CutSpec, but=("annotate",), group=o.KEPT)
@o.shared(Resources, "memory", help="Memory that may be used, such as 4GB. [default: 1GB]")
@o.threads_option
@o.quiet_option
def passages(inputs: tuple[str, ...], out: str, json_: bool, quiet: bool, **options: Any) -> None:
    """Find every run of words in INPUT that occurs earlier, exactly, and name its source.

    OUT gets passages.parquet (a row for each copied passage, with the characters of it and of its
    source), documents.parquet (words, copied words and the main source of each document) and
    run.json. Nothing is deleted by default: --cut and the other options of the selection write
    clean/ too, in the format of the input. After a crash the same command
    with --resume continues the run.
    """
    from neardup.api.copying import passages as find

    with_text = not options.pop("no_text")
    with show_events(not quiet) as listener:
        run = find(
            [Path(name) for name in inputs],
            out=out,
            progress=listener or False,
            texts=with_text,
            **o.chosen(options),
        )
    show_record(run.summary, out, json_, quiet)
