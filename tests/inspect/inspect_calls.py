"""What users call, on results."""

from __future__ import annotations

from typing import Any

from neardup import DedupRun
from neardup.inspect.audit import Audit
from neardup.inspect.explain import Explanation
from neardup.results.results import Results


def audit(results: Results, listener: Any = False, **options: Any) -> Audit:
    return DedupRun(results.storage).audit(progress=listener, **options)


def explain(results: Results, id: object, other: object = None, **options: Any) -> Explanation:
    return DedupRun(results.storage).explain(id, other, **options)


def recluster(results: Results, out: Any = None, listener: Any = False, **options: Any) -> Results:
    return DedupRun(results.storage).recluster(out, progress=listener, **options)._results
