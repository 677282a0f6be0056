"""A pytest plugin: whatever an entity stores in any test, Microsoft's .NET package can read and send to a model again.

A test that has an entity store something else on purpose is marked `foreign_documents`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", "foreign_documents: entities store what other packages cannot read")


@pytest.fixture(autouse=True)
def stored_documents_are_portable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Read each document as .NET does when an operation of an entity has made it."""
    module: Any = sys.modules.get("hosting.core.entity.thread_entity")
    if module is None or request.node.get_closest_marker("foreign_documents"):
        yield
        return
    from tests.support.dotnet_reader import faults

    answer, found = module.ThreadEntity.answer, []

    async def answer_and_read(self: Any, batch: Any) -> Any:
        answered = await answer(self, batch)
        if answered.state is not None and answered.state != batch.state:
            found.extend(faults(answered.state, batch.state if _is_document(batch.state) else None))
        return answered

    monkeypatch.setattr(module.ThreadEntity, "answer", answer_and_read)
    yield
    assert found == [], "an entity stored what .NET cannot read"


def _is_document(text: str | None) -> bool:
    return text is not None and '"conversationHistory"' in text
