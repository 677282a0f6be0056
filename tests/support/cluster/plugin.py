"""A pytest plugin: tests that are marked `moved_time` run on a loop whose time passes while everybody waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING

import pytest

from tests.support.cluster.moved_loop import MovedLoop

if TYPE_CHECKING:
    from tests.support.cluster.cluster import Cluster


def pytest_configure(config: pytest.Config) -> None:
    """Say what the mark is."""
    config.addinivalue_line("markers", "moved_time: time passes only while everybody waits")


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give a test its loop."""
    is_moved = item.get_closest_marker("moved_time") is not None
    return {"moved": MovedLoop} if is_moved else {"real": asyncio.new_event_loop}


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """Processes of an app whose agent echoes, over one store in memory."""
    from tests.support.cluster.cluster import Cluster

    made = Cluster()
    yield made
    await made.close()
