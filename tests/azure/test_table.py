"""The table of figures that the endpoint tests print."""

import pytest

from tests.azure.figures import figure, table
from tests.support.storage_calls import NotCounted


@pytest.mark.behaviour("storage.calls-counted")
def test_what_could_not_be_counted_reaches_no_bar() -> None:
    """And says why it could not."""
    printed = table([figure("storage calls of a turn", NotCounted("the log did not grow"))])[1]

    assert "not counted: the log did not grow" in printed
    assert printed.endswith("NO")
