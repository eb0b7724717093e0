"""Runs of words that occur earlier: anchors that rule out, hashes that decide, passages that grow.

A *run* is ``words`` consecutive tokens. A *position* is ``document << 32 | token``: positions are
ordered as documents in keep order, then as tokens. See ``docs/method.md``, "Passages".
"""
