"""The measure of the page: what it needs, and what it says where that is not to be had."""

import pytest

from benchmarks.figures import NotMeasuredError
from benchmarks.measures.page import measure
from benchmarks.sizes import QUICK


async def test_a_machine_without_a_browser_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a host is started."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CHROMIUM", raising=False)

    with pytest.raises(NotMeasuredError, match="There is no Chromium"):
        await measure(QUICK)
