"""Two processes of one app over one log and one engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hosting.attachments.memory import MemoryAttachments
from hosting.stores.memory import SharedMemory
from tests.hosting.service.process import Engine, Process


@pytest.fixture
def processes() -> Iterator[tuple[Process, Process]]:
    """What one appends the other finds."""
    shared, attachments, engine = SharedMemory(), MemoryAttachments(), Engine()
    both = (Process(shared, attachments, engine), Process(shared, attachments, engine))
    yield both
    for process in both:
        process.loop.close()


@pytest.fixture
def process(processes: tuple[Process, Process]) -> Process:
    """The first of the two."""
    return processes[0]
