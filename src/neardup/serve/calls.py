"""Bodies and answers of the calls of the service, as JSON has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, cast

from msgspec import UNSET, Meta, Struct, UnsetType

Id: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | str
Text: TypeAlias = str | list[str]
Texts: TypeAlias = Annotated[list[Text], Meta(description="Texts, or lists of items.")]
Group: TypeAlias = Annotated[
    str | int | bool | None,
    Meta(description="Where the index compares within groups: that of a text, empty for none."),
]
IdType: TypeAlias = Literal["int", "str", ""]
Threshold: TypeAlias = Annotated[float, Meta(gt=0, le=1)]


class GivenDocument(Struct, forbid_unknown_fields=True):
    """A document that comes in; without ids, each gets an integer above all that were ids."""

    text: Text
    id: Id | None = None
    group: Group = None


def _require_one(**given: object) -> None:
    """Refuse a call with both of two forms, or none; errors name its fields, and no value."""
    names = " and ".join(f"`{name}`" for name in given)
    count = sum(value is not UNSET for value in given.values())
    if count != 1:
        found = "both are given" if count else "neither is given"
        raise ValueError(f"expected one of {names}, and {found}")


class NewDocuments(Struct, forbid_unknown_fields=True):
    """Documents, or one ``text`` with its ``id``, added if they are similar to none before them."""

    documents: list[GivenDocument] | UnsetType = UNSET
    text: Text | UnsetType = UNSET
    id: Id | None = None
    group: Group = None

    def __post_init__(self) -> None:
        self.documents = _documents(self)


class Decision(Struct):
    """Whether a document is in the index, or which one it is a duplicate of."""

    id: Id
    kept: bool
    duplicate_of: Id | None
    similarity: float | None


class DecisionList(Struct):
    """A decision for each document, in their order."""

    id_type: IdType
    answers: list[Decision]


class AddedDocuments(Struct, forbid_unknown_fields=True):
    """Documents, or one ``text`` with its ``id``, added whatever they are similar to."""

    documents: list[GivenDocument] | UnsetType = UNSET
    text: Text | UnsetType = UNSET
    id: Id | None = None
    group: Group = None
    on_conflict: Literal["error", "replace", "skip"] = "error"

    def __post_init__(self) -> None:
        self.documents = _documents(self)


def _documents(asked: NewDocuments | AddedDocuments) -> list[GivenDocument]:
    """Return the documents of a call in either form."""
    _require_one(documents=asked.documents, text=asked.text)
    if isinstance(asked.documents, UnsetType):
        assert not isinstance(asked.text, UnsetType)
        return [GivenDocument(asked.text, asked.id, asked.group)]
    for name in ("id", "group"):
        if getattr(asked, name) is not None:
            what = f"`{name}` is given, which is for `text`; in `documents` each has its own"
            raise ValueError(what)
    return asked.documents


class Count(Struct):
    """How many documents were added."""

    added: int


class Query(Struct, forbid_unknown_fields=True):
    """Texts, or one ``text``, whose ``top`` similar documents are wanted, from a threshold on."""

    texts: Texts | UnsetType = UNSET
    text: Text | UnsetType = UNSET
    group: Group | list[Group] = None
    top: Annotated[int, Meta(ge=1, le=2**31)] | None = None
    threshold: Threshold | None = None

    def __post_init__(self) -> None:
        _require_one(texts=self.texts, text=self.text)
        texts = [self.text] if isinstance(self.texts, UnsetType) else self.texts
        self.texts = cast("list[Text]", texts)
        if not isinstance(self.group, list):
            self.group = [self.group] * len(texts)
        if len(self.group) != len(texts):
            raise ValueError("`group` has more or fewer values than there are texts")


class Match(Struct):
    """A document that is similar to a text; ``query`` is the number of the text, from 0."""

    query: int
    id: Id
    similarity: float
    query_contained: float
    match_contained: float


class MatchList(Struct):
    """Matches, by text, then the most similar first."""

    id_type: IdType
    matches: list[Match]


class OneText(Struct, forbid_unknown_fields=True):
    """A text."""

    text: Text
    group: Group = None


class IsDuplicate(Struct):
    """Whether a document is similar to the text."""

    duplicate: bool


class OneId(Struct, forbid_unknown_fields=True):
    """The id of a document."""

    id: Id


class StoredText(Struct):
    """The text of a document; null where the index stores shingles only."""

    id: Id
    text: Text | None


class DocumentIds(Struct, forbid_unknown_fields=True):
    """Ids of documents."""

    ids: list[Id]


class Contained(Struct):
    """Whether there is a document with each of the ids."""

    contained: list[bool]


class NewText(Struct, forbid_unknown_fields=True):
    """A new text of a document; with ``if_new`` only if it is similar to no other document."""

    id: Id
    text: Text
    if_new: bool = False
    group: Group = None


class Updated(Struct):
    """Whether the new text was kept, and which duplicates of the old one have to be sent again."""

    id: Id
    kept: bool
    duplicate_of: Id | None
    similarity: float | None
    released: list[Id]


class Released(Struct):
    """Ids of documents that were answered as duplicates of those that were removed."""

    released: list[Id]


class Pair(Struct, forbid_unknown_fields=True):
    """A document, and a text or the id of another document to compare it with."""

    id: Id
    text: Text | None = None
    other: Id | None = None
    group: Group = None


class ComparedTexts(Struct):
    """Comparison of two texts: numbers of shingles and tokens, and shares of them."""

    similarity: float
    containment_a: float
    containment_b: float
    shared: int
    only_a: int
    only_b: int
    tokens_a: int
    tokens_b: int
    equal: Literal["bytes", "tokens"] | None
    threshold: float
    n: int
    other_group: bool
    duplicates: bool
    note: str


class Nothing(Struct, forbid_unknown_fields=True):
    """No argument."""


class Compaction(Struct, forbid_unknown_fields=True):
    """Whether the text of removed documents is removed from the disk too."""

    purge: bool = False


class Stats(Struct):
    """Numbers of documents, segments and bytes."""

    documents: int
    duplicates: int
    removed: int
    pending: int
    segments: int
    bytes_segments: int
    bytes_documents: int
    num_bands: int
    rows: int
    threshold: float
    shingle: str
    store_text: bool
    recipe: str


class Problems(Struct):
    """Errors of the index, a line for each; none where all is well."""

    problems: list[str]


class About(Struct):
    """Settings of the index, and limits of the service."""

    version: str
    spec: dict[str, Any]
    recipe: dict[str, Any]
    id_type: IdType
    readonly: bool
    max_documents: int
    max_body: int


class Problem(Struct):
    """An error, as in RFC 9457; ``error`` is the name of its class in neardup.errors."""

    title: str
    status: int
    detail: str
    error: Annotated[str, Meta(min_length=1)]
    hint: str = ""


class Call(NamedTuple):
    """A call of the service.

    Attributes:
        name: The last part of its path.
        asked: Its body; None for a call without one.
        answer: Its answer.
        about: A sentence about it.
        writes: Whether it changes the index.
        errors: Statuses that it may have besides those that any call may have.
    """

    name: str
    asked: type[Struct] | None
    answer: type[Struct]
    about: str
    writes: bool = False
    errors: tuple[int, ...] = ()


#: Statuses of any call with a body, and of any that writes besides.
COMMON = (400, 401, 408, 413, 415, 421, 422, 500, 503)
WRITING = (403, 429, 507)

CALLS = (
    Call("add_if_new", NewDocuments, DecisionList, "Add documents that are new.", True, (409,)),
    Call(
        "add", AddedDocuments, Count, "Add documents, whatever they are similar to.", True, (409,)
    ),
    Call("query", Query, MatchList, "Return the documents that are similar to texts."),
    Call("first_matches", Query, MatchList, "Return the first similar document of each text."),
    Call("is_duplicate", OneText, IsDuplicate, "Return whether a document is similar to a text."),
    Call("get", OneId, StoredText, "Return the text of a document.", errors=(404,)),
    Call("contains", DocumentIds, Contained, "Return whether there are documents with some ids."),
    Call("update", NewText, Updated, "Replace the text of a document.", True, (404,)),
    Call("remove", DocumentIds, Released, "Remove documents.", True, (404,)),
    Call(
        "explain", Pair, ComparedTexts, "Compare two documents, or a text with one.", errors=(404,)
    ),
    Call("stats", None, Stats, "Return numbers of documents, segments and bytes."),
    Call("about", None, About, "Return settings of the index and limits of the service."),
    Call("check", Nothing, Problems, "Read all of the index, and return its errors."),
    Call("compact", Compaction, Nothing, "Make one segment of all, which takes a while.", True),
)

#: Given the name of a call, returns it.
CALL: Callable[[str], Call] = {call.name: call for call in CALLS}.__getitem__
