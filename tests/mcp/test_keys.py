"""The MCP endpoint on a host that asks for keys."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.mcp_exchange import HEADERS, PATH
from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = pytest.mark.slow

KEYS = {"master": "m", "host": "h", "functions": {}, "system": {"durabletask_extension": "d", "mcp_extension": "t"}}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture(scope="module")
def keyed_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """The app with resources and prompts, started with `--auth`."""
    source = Path(__file__).parent / "apps" / "offers"
    folder = shutil.copytree(source, tmp_path_factory.mktemp("keyed") / "app")
    (folder / ".devhost").mkdir(exist_ok=True)
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS), encoding="utf-8")
    with RunningHost(folder, "--port", "0", "--auth") as host:
        yield host


@pytest.mark.behaviour("mcp.key")
@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ({}, "", 401),
        ({"x-functions-key": "wrong"}, "", 401),
        ({"x-functions-key": "h"}, "", 403),
        ({"x-functions-key": "t"}, "", 200),
        ({"x-functions-key": "m"}, "", 200),
        ({}, "?code=t", 200),
    ],
)
async def test_the_endpoint_opens_to_its_system_key_and_the_masters(
    keyed_host: RunningHost, headers: dict[str, str], query: str, status: int
) -> None:
    """In the header or the query, and before anything else of the request is looked at."""
    async with httpx.AsyncClient(timeout=GUARD_SECONDS) as client:
        answer = await client.post(keyed_host.origin + PATH + query, json=PING, headers={**HEADERS, **headers})

    assert answer.status_code == status
