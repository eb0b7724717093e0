"""``neardup dedup``, and ``neardup sketch``, which does its first step on several machines."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from neardup.cli import command_options as o
from neardup.cli.showing import show_events, show_record
from neardup.commands import why_not
from neardup.errors import SpecError
from neardup.options.option_groups import Reading, Writing
from neardup.spec import ShingleSpec, Spec

#: Options that do not go with --against.
_NOT_AGAINST = {
    *("annotate", "clean", "compression", "tables", "keep_run", "store", "run"),
    *("cluster", "tree_threshold", "pairs", "only_same", "boilerplate"),
}
_OF_CORPUS = ("old_text", "old_id", "old_input_format", "old_delimiter")
_SETTINGS = {"preset", *(field.name for kind in (Spec, ShingleSpec) for field in fields(kind))}


@o.grouped(
    "neardup dedup notes.jsonl -o out --id note_id --threshold 0.8\n"
    "neardup dedup shards/ -o out --preset clinical --memory 4GB --resume"
)
@o.inputs_argument
@o.out_option
@o.output_options
@o.shared(Writing, *o.AT_WORK)
@o.of_input(
    "--against OLD",
    help="Remove documents similar to this old corpus, too: an index, the kept documents of an "
    "output folder, or files, which are sketched first. The settings are those of an index or "
    "output folder.",
)
@o.second_options("old_", "of the old corpus")
@o.kept(
    "--old-only",
    help="Remove only documents similar to the old corpus, and list all such pairs.",
)
@o.input_options
@o.spec_options
@o.shared(Spec, "only_same", group=o.KEPT)
@o.shared(Spec, "boilerplate")
@o.store_options
@o.resource_options
@o.json_option
@o.quiet_option
def dedup(inputs: tuple[str, ...], out: str, against: str | None, **options: Any) -> None:
    """Find near-duplicates in INPUT and write a deduplicated corpus.

    INPUT is a file, a folder, a pattern, a URL (s3://, gs://, abfs://, hf://, https://) or - for
    standard input: JSON lines, Parquet, CSV, TSV,
    Arrow IPC or plain text; the textual ones also as .gz and .zst. A folder of plain text files is
    one document a file, with its path as its id.

    OUT gets clean/ (the kept documents, in the format of the input), clusters.parquet (one row for
    each document: its cluster, whether it is kept, and the kept document that it is a duplicate
    of) and run.json (the summary). Pairs go into edges.parquet with --pairs all, and with the
    clusterings bounded, components and louvain. After a crash the same command with --resume
    continues the run.

    With --against, OUT gets clean/, clusters.parquet (one row for each document: whether it is
    kept, and the document that it duplicates) and run.json; with --old-only also matches.parquet, a
    row for each document and old document that are similar.

    With --run, the sketches that neardup sketch put into the store are used.

    With --json, the content of run.json is printed as well.
    """
    if against is not None:
        _against(inputs, out, against, options)
        return
    for name in [name for name in options if name.startswith("old_")]:
        if options.pop(name) and o.given_options(name):
            raise SpecError(f"`{name}` needs an old corpus", "give `against`")
    if options["only_same"]:
        from neardup.api.dedup import WITHOUT_EFFECT, refuse_similarity

        refuse_similarity(name for name in o.given_options() if name in WITHOUT_EFFECT)
    from neardup.deduplication.clock import Clock, process_start

    quiet, json_ = options.pop("quiet"), options.pop("json_")
    with show_events(not quiet) as listener:
        options["out"] = out
        found = o.request_of(inputs, options, Clock(listener, process_start())).run()
    show_record(found.record, out, json_, quiet)
    if not (json_ or quiet):
        from neardup.copied_passages.hint import hint
        from neardup.results.results import Results

        if said := hint(Results(found)):
            click.echo(f"{'passages':<13}{said}", err=True)


def _against(inputs: tuple[str, ...], out: str, old: str, options: dict[str, Any]) -> None:
    """Do `neardup.against`; options that do not go with it are refused."""
    from neardup.api.against import against
    from neardup.api.indexes.old_corpora import is_corpus
    from neardup.io.remote import located

    given, target = o.given_options(), located(old)
    for name in given:
        if name in _NOT_AGAINST:
            what = why_not("against", name) or f"`{name}` does not go with `against`"
            raise SpecError(what, "leave it out")
    json_, quiet = options.pop("json_"), options.pop("quiet")
    known = {name: value for name, value in options.items() if name not in _NOT_AGAINST}
    settings = {name: known.pop(name) for name in _SETTINGS & known.keys()}
    if is_corpus(target):
        known["spec"] = o.spec_of(settings)
    elif wrong := [name for name in given if name in _SETTINGS.union(_OF_CORPUS)]:
        raise SpecError(
            f"`{wrong[0]}` does not go with this `against`, an index or a run: its settings apply",
            "leave it out",
        )
    paths = [located(name) for name in inputs]
    with show_events(not quiet) as listener:
        found = against(paths, target, out=out, progress=listener or False, **o.chosen(known))
    show_record(found.summary, out, json_, quiet)


@o.grouped("neardup sketch shards/ --store cassandra://db/neardup --run notes --shard 3/8")
@o.inputs_argument
@o.input_options
@o.spec_options
@o.store_options
@o.advanced("--shard I/N", default="1/1", help="Sketch every N-th partition, from the I-th on.")
@o.threads_option
@o.json_option
@o.quiet_option
def sketch(inputs: tuple[str, ...], shard: str, json_: bool, quiet: bool, **options: Any) -> None:
    """Compute the band keys of INPUT into a shared store.

    Several machines may do so, each a shard of it. Give the same INPUT and settings to each. When
    all are complete, neardup dedup with the same INPUT, settings, --store and --run continues from
    there.
    """
    from neardup.api.running import sketch_into_store
    from neardup.deduplication.clock import Clock
    from neardup.state.shards import Shard

    with show_events(not quiet) as listener:
        request = o.request_of(inputs, options, Clock(listener))
        found = sketch_into_store(request, Shard.parse(shard))
    if json_:
        click.echo(json.dumps(found, indent=2))
    elif not quiet:
        where = f"{found['partitions']:,} of {found['of']:,} partitions"
        click.echo(f"sketched    {found['documents']:>12,}   documents in {where}", err=True)


@o.grouped("neardup signatures notes.jsonl --id note_id -o signatures.parquet")
@o.inputs_argument
@o.input_options
@o.file_option(*("-o", "--output", "out"), what="Parquet file to make.", required=True)
@o.option("--num-hashes N", default=128, group=o.COMPARED, help="Entries of a signature.")
@o.signature_options
@o.overwrite_option
@o.threads_option
@o.quiet_option
def signatures(inputs: tuple[str, ...], out: Path, quiet: bool, **options: Any) -> None:
    """Write the MinHash signatures of INPUT: a row with id and signature for each document.

    neardup.read_signatures reads them, to be cut into bands of your choice.
    """
    from neardup.api.saved_signatures import save_signatures
    from neardup.io.remote import located

    reading, writing = o.group_of(Reading, options), o.group_of(Writing, options)
    how: dict[str, Any] = {name: options.pop(name) for name in ("num_hashes", "threads")}
    spec, paths = o.spec_of(options), [located(name) for name in inputs]
    how |= {name: getattr(spec, name) for name in ("shingle", "scheme", "seed")}
    count = save_signatures(paths, out, reading=reading, writing=writing, **how)
    if not quiet:
        click.echo(f"signed      {count:>12,}   documents, in {out}", err=True)
