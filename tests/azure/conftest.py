"""The target and its clients; the figures are printed under the tests' results."""

import uuid
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.azure.figures import Figure, table
from tests.azure.target import TARGET, Target

FIGURES = pytest.StashKey[list[Figure]]()
TURN_SECONDS = 120  # a cold start on Azure, and a model that thinks


@pytest.fixture
def target() -> Target:
    if TARGET is None:
        pytest.skip("no host given: python dev.py test --url URL --key KEY")
    return TARGET


@pytest.fixture
async def client(target: Target) -> AsyncIterator[httpx.AsyncClient]:
    """Sends the function key with each request, when one was given."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=target.url, headers=target.headers, timeout=TURN_SECONDS, limits=limits
    ) as client:
        yield client


@pytest.fixture
async def agent(client: httpx.AsyncClient, target: Target) -> str:
    """The name of the app's first agent: the tests know nothing else of the app."""
    answer = await client.get("/api/agents")
    if answer.status_code != 200:
        wanted = " Give a function key by --key." if answer.status_code == 401 else " Is --url where the app runs?"
        pytest.fail(f"{target.url} answered {answer.status_code} to GET /api/agents.{wanted}", pytrace=False)
    return str(answer.json()["agents"][0]["name"])


@pytest.fixture
async def thread(client: httpx.AsyncClient, agent: str) -> AsyncIterator[str]:
    """A thread of the agent that nobody else uses; it is deleted at the end."""
    thread_id = f"check-{uuid.uuid4().hex}"
    yield thread_id
    await client.delete(f"/api/agents/{agent}/threads/{thread_id}")


@pytest.fixture
def figures(pytestconfig: pytest.Config) -> list[Figure]:
    return pytestconfig.stash.setdefault(FIGURES, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    measured = config.stash.get(FIGURES, [])
    if measured and TARGET is not None:
        terminalreporter.section(f"figures of {TARGET.url}")
        for line in table(measured):
            terminalreporter.write_line(line)
