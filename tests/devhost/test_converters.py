"""The SDK's converters as the worker uses them."""

from __future__ import annotations

import pytest

from devhost.converters import encode_result
from devhost.ports import FunctionFailedError


@pytest.mark.behaviour("devhost.classic-returns-as-recorded")
def test_what_an_http_binding_cannot_carry_fails_with_the_workers_words():
    """The text that developers find in the log, here as on Azure."""
    with pytest.raises(FunctionFailedError) as failure:
        encode_result("http", None)
    text = 'TypeError: unable to encode outgoing TypedData: unsupported type "http" for Python type "NoneType"'
    assert failure.value.message == text
