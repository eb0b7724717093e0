"""``neardup sketch``."""

import json
from typing import Any

import click

from neardup.cli import options as o
from neardup.cli.showing import show_events


@o.grouped("neardup sketch shards/ --store cassandra://db/neardup --run notes --shard 3/8")
@o.inputs_argument
@o.input_options
@o.skip_large_option
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
    from neardup.state.shards import Shard

    with show_events(not quiet) as listener:
        request = o.request_of(inputs, options, listener=listener)
        found = sketch_into_store(request, Shard.parse(shard))
    if json_:
        click.echo(json.dumps(found, indent=2))
    elif not quiet:
        where = f"{found['partitions']:,} of {found['of']:,} partitions"
        click.echo(f"sketched    {found['documents']:>12,}   documents in {where}", err=True)
