"""``neardup passages``."""

from pathlib import Path
from typing import Any

from neardup.cli import command_options as o
from neardup.cli.showing import show_events, show_record
from neardup.frame.options import Resources, Writing


@o.grouped(
    "neardup passages notes.jsonl -o out --id id --order-by date --within patient\n"
    "neardup passages web/ -o out --preset web --cut"
)
@o.inputs_argument
@o.input_options
@o.of_input(
    "--against CORPUS",
    type=o.PATH,
    help="Another corpus, or the output folder of neardup dedup; its documents come first.",
)
@o.second_options("old_", "of the old corpus")
@o.compared("--words L", type=int, help="Words of the shortest run that counts. [default: 25]")
@o.compared("--preset [web|clinical]", help="50 or 10 words, unless --words is given.")
@o.compared("--order-by COLUMN", help="Order of the documents. [default: that of the input]")
@o.compared("--within COLUMN", help="Compare only documents with equal values, as of a patient.")
@o.compared("--across COLUMN", help="Compare only documents with different values, as of a site.")
@o.compared(
    "--source [longest|latest|first]",
    "name_source",
    default="longest",
    help="Which earlier occurrence of a passage is named.",
)
@o.compared(
    "--boilerplate N",
    default=0,
    help="Runs in N documents or more are boilerplate, and not copied.",
)
@o.compared("--bridge G", type=int, default=0, help="Join passages over G changed words at most.")
@o.advanced("--stem LANGUAGE", help="Compare word stems; a Snowball language.")
@o.advanced("--keep-case", help="Distinguish upper and lower case.")
@o.advanced("--nfkc", help="Unicode compatibility composition first.")
@o.advanced("--strip-accents", help="Remove nonspacing marks.")
@o.ignore_options
@o.out_option
@o.of_output("--by COLUMN", help="List the totals by its values too, as of an author.")
@o.shared(Writing, "format", "compression", "overwrite", "resume", "work")
@o.of_output("--annotate", help="Add words, copied_share and copied_from to each document.")
@o.json_option
@o.kept("--cut", help="Cut the copied words. [default: nothing is cut]")
@o.kept(
    "--cut-boilerplate",
    help="Cut boilerplate, but for its first occurrence. With --mask or --whole, nothing else.",
)
@o.kept("--mask TEXT", help="Put TEXT instead of each stretch that is cut; asks for --cut.")
@o.kept(
    "--whole [line|sentence|paragraph]",
    help="Cut only complete ones that are copied completely; asks for --cut.",
)
@o.kept("--drop-above SHARE", help="Leave out documents of which a larger share is copied.")
@o.kept("--drop-below WORDS", type=int, help="Leave out documents with fewer words left.")
@o.kept("--keep-sources", help="Leave no document out that has the only occurrence of cut words.")
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

    --cut removes what stands between two copied words too: with --ignore or --stop-passages also
    ignored text, though it may stand nowhere else. With --nfkc a character that becomes several
    words stays unless all of them are copied.
    """
    from neardup.api.copying import passages as find

    with show_events(not quiet) as listener:
        run = find(
            [Path(name) for name in inputs],
            out=out,
            progress=listener or False,
            **options,
        )
    show_record(run.summary, out, json_, quiet)
