"""What users call is typed: no `Any`, but for the values of JSON and of Arrow arrays."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import neardup

#: JSON values; and pyarrow's stubs want the type of values that are not known before they are read.
_ALLOWED = re.compile(r"\b(Array|ChunkedArray|Scalar)\[Any\]|\bdict\[str, Any\]")


def public(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield functions: one, or those of a class that users may call."""
    if inspect.isclass(value):
        if issubclass(value, BaseException):
            return
        if "__init__" in vars(value):
            yield name, value.__init__
        for key, member in vars(value).items():
            if not key.startswith("_"):
                member = getattr(member, "__func__", getattr(member, "fget", member))
                if inspect.isfunction(member):
                    yield f"{name}.{key}", member
    elif callable(value):
        yield name, value


def test_no_public_signature_has_any() -> None:
    loose, seen = [], 0
    for name in neardup.__all__:
        for where, function in public(name, getattr(neardup, name)):
            seen += 1
            signature = inspect.signature(function)
            kinds = {p.name: p.annotation for p in signature.parameters.values()}
            kinds["return"] = signature.return_annotation
            for argument, kind in kinds.items():
                # What it returns depends on the command that made the folder.
                if argument in ("self", "cls") or (where, argument) == ("open", "return"):
                    continue
                assert kind is not inspect.Parameter.empty, f"{where}: {argument} has no type"
                if re.search(r"\bAny\b", _ALLOWED.sub("", str(kind).replace("typing.", ""))):
                    loose.append(f"{where}: {argument} is {kind}")
    assert loose == []
    assert seen > 60


def test_a_corpus_has_a_precise_type() -> None:
    for function, arguments in (
        (neardup.dedup, {"source": "Corpus"}),
        (neardup.against, {"new": "Corpus", "old": "OldCorpus"}),
        (neardup.plan, {"source": "Corpus"}),
        (neardup.passages, {"source": "Corpus", "against": "Corpus | None"}),
        (neardup.decontaminate, {"train": "Corpus", "against": "Corpus"}),
    ):
        parameters = inspect.signature(function).parameters
        assert {name: str(parameters[name].annotation) for name in arguments} == arguments
