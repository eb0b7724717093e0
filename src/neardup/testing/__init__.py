"""Tests to inherit, for those who write a store, an engine, a storage or a command.

Each contract is a class of tests for pytest. A subclass whose name begins with ``Test`` makes the
object to test, and inherits the tests. pytest must be installed.
"""

import pytest

# Failing tests show the values that they compare.
for name in ("command_contract", "engine_contract", "storage_contract", "store_contract"):
    pytest.register_assert_rewrite(f"neardup.testing.{name}")

from neardup.testing.command_contract import CommandContract  # noqa: E402
from neardup.testing.engine_contract import EngineAnswer, EngineContract  # noqa: E402
from neardup.testing.storage_contract import StorageContract  # noqa: E402
from neardup.testing.store_contract import StoreContract  # noqa: E402

__all__ = ["CommandContract", "EngineAnswer", "EngineContract", "StorageContract", "StoreContract"]
