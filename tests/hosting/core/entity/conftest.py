"""The page's app on one process of the local host."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.support.instances import GUARD_SECONDS, Instances
from tests.support.orchestrations_app import make_page_app
from tests.support.running_host import RunningHost


@pytest.fixture(scope="session")
def page_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """One host for all tests that kill none."""
    with RunningHost(make_page_app(tmp_path_factory.mktemp("page"))) as host:
        yield host


@pytest.fixture
async def instances(page_host: RunningHost) -> AsyncIterator[Instances]:
    async with httpx.AsyncClient(base_url=page_host.origin, timeout=GUARD_SECONDS) as http:
        yield Instances(http)
