"""The documents of one cluster, with what each has that the first one has not."""

from neardup.inspect.one_cluster import Cluster, Member
from neardup.values.readable import counted
from neardup.values.visible import name, visible
from neardup.views.compared import marked
from neardup.views.differences import Difference, Fold, differences, folded

#: Equal words that are shown before and after each difference.
_CONTEXT = 20


def headline(found: Cluster) -> str:
    """Return how many documents and texts the cluster has, and how many are left out."""
    what = counted(found.documents, "document")
    if found.texts < found.documents:
        what += f" with {counted(found.texts, 'text')}"
    if found.left_out:
        more = counted(found.left_out, "document")
        what += f"; {more} with other texts left out, raise limit= for more"
    return f"Cluster {found.cluster}: {what}."


def about(member: Member) -> str:
    """Return what became of a document, and how many others have its text."""
    more = f", and {member.copies:,} more with this text" if member.copies else ""
    if member.kept:
        return f"{name(member.doc_id)}: kept{more}"
    of = "a document" if member.duplicate_of is None else name(member.duplicate_of)
    return f"{name(member.doc_id)}: removed, {member.similarity:.4f} to {of}{more}"


def parts(found: Cluster, member: Member) -> list[Difference | Fold]:
    """Return the differences from the text of the first document; none for that one."""
    return list(folded(differences(found.members[0].text, member.text), _CONTEXT))


def render(found: Cluster) -> str:
    """Return the first text, and of the others what differs from it, for a terminal."""
    first, *others = found.members
    blocks = [headline(found), f"{about(first)}\n{visible(first.text)}"]
    for member in others:
        shown = "".join(marked(part, False) for part in parts(found, member))
        blocks.append(f"{about(member)}; [-only in the first-] {{+only here+}}\n{shown}")
    return "\n\n".join(blocks)
