"""One Spark for the tests of a module."""

from collections.abc import Iterator
from typing import Any

import pytest
from spark_parts import spark_session


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session("local[2]") as session:
        yield session
