"""Two processes of one app over one log and one engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hosting.core.stores.memory import MemoryObjects, SharedMemory
from tests.hosting.core.process import Engine, Process


@pytest.fixture
def processes() -> Iterator[tuple[Process, Process]]:
    """What one appends the other finds."""
    shared, attachments, engine = SharedMemory(), MemoryObjects(), Engine()
    both = (Process(shared, attachments, engine), Process(shared, attachments, engine))
    yield both
    for process in both:
        process.loop.close()


@pytest.fixture
def process(processes: tuple[Process, Process]) -> Process:
    """The first of the two."""
    return processes[0]


@pytest.fixture
def counted() -> Iterator[Process]:
    """A process whose holders look after nothing within a test: what it asks its store for are a turn's own calls."""
    alone = Process(SharedMemory(), MemoryObjects(), Engine(), holding={"poll_seconds": 60, "lease_seconds": 60})
    yield alone
    alone.loop.close()
