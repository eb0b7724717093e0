"""``neardup warmup``."""

import time

import click

from neardup.cli import command_options as o


@o.grouped("neardup warmup --quiet", bare=True)
@o.quiet_option
def warmup(quiet: bool) -> None:
    """Compile all kernels now, as for a container image.

    Other commands compile the kernels that they need when they are first used on a machine, which
    takes some seconds. After this command none does, but for a few kernels of very large clusters.
    The kernels are stored in NUMBA_CACHE_DIR if that is set; else next to the package, or in the
    cache folder of the user.
    """
    from neardup.api.warmup import warmup as compile_all

    begin = time.perf_counter()
    found = compile_all()
    if not quiet:
        took = f"{time.perf_counter() - begin:.1f} s"
        click.echo(f"kernels  {found.kernels:,}  in {found.folder}\ntook     {took}", err=True)
