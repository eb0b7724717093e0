"""Positions: document << 32 | token."""

import numpy as np

from neardup.kernels.compiling import kernel

#: No position.
NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
#: The token of a position.
TOKEN = np.uint64(0xFFFFFFFF)
#: Added to the position of the runs of an anchor that are those of another one; a document has
#: fewer than 2**31 tokens.
COPY = np.uint64(1 << 31)


@kernel
def document_of(position):
    """Return the document of a position.

    Args:
        position: uint64: the document in the upper 32 bits, the token in the lower ones.
    """
    return np.int64(position >> np.uint64(32))


@kernel
def is_earlier(source, position, words):
    """Whether a run at an earlier position can be the source of a later one, without overlap.

    Args:
        source: uint64, the earlier position.
        position: uint64, the later one.
        words: Tokens of a run.
    """
    if document_of(source) < document_of(position):
        return True
    return (source & TOKEN) + np.uint64(words) <= (position & TOKEN)
