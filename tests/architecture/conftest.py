"""What the tests that parse the code need of their process."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_garbage_while_parsing() -> Iterator[None]:
    """Collect no garbage meanwhile: what other tests left of their event loops is reported with a traceback as it goes.

    A traceback is made with `ast.parse`, and CPython 3.11 fails the parse in which that happens.
    """
    gc.disable()
    yield
    gc.enable()
