"""What a person is asked in characters that are not seen, over each way to ask: they are written out."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.hosting.unseen_app.function_app import app
from tests.support.direct import DirectHost

pytestmark = pytest.mark.behaviour("approvals.visible")

UNSEEN = "\u202e\u2066\u200b\x1b\x9b\u2028\U000e0041"
ASKED = f"ada{UNSEEN}eve"
SHOWN = r"ada\u202e\u2066\u200b\u001b\u009b\u2028\udb40\udc41eve"
CALL = r'pay\u202eyap({"to\u2066": "' + SHOWN + '"})'


@pytest.fixture(scope="module")
def host() -> DirectHost:
    return DirectHost(app)


@pytest.fixture
async def http(host: DirectHost) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(host.asgi), base_url="http://app.example/api") as client:
        yield client


def hides_nothing(text: str) -> bool:
    """Whether none of these characters is in a text."""
    return not set(text) & set(UNSEEN)


async def test_a_reply_in_text_writes_them_out(http: httpx.AsyncClient) -> None:
    """Those of the agent's own words too, which a terminal would obey."""
    answer = await http.post("/agents/Payer/run", content=ASKED, headers={"content-type": "text/plain"})

    assert hides_nothing(answer.text)
    assert CALL in answer.text
    assert answer.text.startswith("\\u001b[8m\n")


async def test_a_tool_of_mcp_writes_them_out(host: DirectHost) -> None:
    result = await host.call_tool("Payer", {"query": ASKED})
    text = result["content"][0]["text"]

    assert hides_nothing(text)
    assert CALL in text
    assert hides_nothing(result["structuredContent"]["response"])


async def test_the_log_writes_out_the_name_of_a_tool(http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "hosting"):
        asked = (await http.post("/agents/Payer/run", json={"message": ASKED})).json()
        (approval,) = asked["pending_approvals"]
        place = f"/agents/Payer/threads/{asked['thread_id']}/approvals/{approval['id']}"
        await http.post(place, json={"approved": True})
    lines = [record.getMessage() for record in caplog.records]

    assert all(map(hides_nothing, lines))
    assert any(line.endswith(r"calls tool pay\u202eyap.") for line in lines)
