"""Commands that do not exist, and those that are meant."""

import difflib
from collections.abc import Collection

import click

#: Commands, each with words that people use for it.
_MEANT = {
    "dedup": "dedupe deduplicate dups dupes duplicates near-duplicates clean filter unique find",
    "dedup --against": "against subtract",
    "recluster": "cluster clusters clustering regroup threshold",
    "compare": "diff similarity jaccard",
    "link": "match join linkage records entities",
    "blocks": "block blocking candidates",
    "passages": "copies boilerplate plagiarism spans",
    "decontaminate": "contamination overlap benchmark leakage",
    "evaluate": "eval score accuracy precision truth",
    "report": "html page show view summary",
    "plan": "estimate forecast",
    "tune": "bands curve",
    "signatures": "minhash signature",
    "explain": "why inspect",
    "synth": "generate example demo",
    "serve": "server service http",
    "stream": "streaming pipe",
    "index create": "create new",
    "index add": "add insert",
    "index query": "query search lookup similar nearest",
    "index copied": "copied",
    "index update": "update",
    "index relink": "relink",
    "index remove": "remove delete",
    "index merge": "merge",
    "index backup": "backup",
    "index compact": "compact",
    "index check": "check verify",
    "index stats": "stats count",
}
_WORDS = {word: command for command, words in _MEANT.items() for word in words.split()}
#: Below this share of equal letters, words have little in common, such as merge and serve.
_CLOSE = 0.75


def meant(given: str, known: Collection[str], group: str = "") -> str:
    """Return a hint for a command that does not exist.

    Args:
        given: The word that was given.
        known: The commands that there are.
        group: The group that they are in; a word may mean a command of another one.

    >>> meant("merge", ["serve"])
    'did you mean neardup index merge?'
    >>> meant("dedpu", ["dedup", "serve"])
    'did you mean neardup dedup?'
    >>> meant("search", ["query", "add"], "index")
    'did you mean neardup index query?'
    >>> meant("xyz", ["query", "add"], "index")
    'known are add, query'
    """
    every = _WORDS | {name: f"{group} {name}".strip() for name in known}
    found = difflib.get_close_matches(given.lower(), every, n=1, cutoff=_CLOSE)
    return (
        f"did you mean neardup {every[found[0]]}?"
        if found
        else f"known are {', '.join(sorted(known))}"
    )


class Suggesting(click.Group):
    """A group of commands that names the one that is meant where there is none of a name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            group = ctx.command_path.partition(" ")[2]
            ctx.fail(f"No such command {args[0]!r}; {meant(args[0], known, group)}")
        return super().resolve_command(ctx, args)
