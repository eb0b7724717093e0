"""What must hold for every band store, as tests to inherit: for ours, and for somebody else's."""

from __future__ import annotations

from neardup.testing.stores import StoreContract

__all__ = ["StoreContract"]
