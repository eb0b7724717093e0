"""The experiments of "Deduplication in a massive clinical note dataset" (2017), repeated.

    python -m experiments            # all of them, then the page docs/paper/index.md
    python -m experiments time       # one of them, then the page

Each experiment is a module with a function that returns what was counted or measured, as plain
values. `plots` draws it, and `page` writes it next to the numbers of the paper, which are in
`paper`. How much is tried is in `sizes`.

The documents that are repeated are in `documents`.
"""
