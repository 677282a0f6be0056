"""Text by which a person decides: nothing in it is unseen, over each way to ask."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from hosting.visible import visible, visible_json, visible_line
from tests.hosting.unseen_app.function_app import app
from tests.support.direct import DirectHost

pytestmark = pytest.mark.behaviour("approvals.visible")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u202e001", "\\u202e001"),
        ("a\u200bb", "a\\u200bb"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("\x1b[8m", "\\u001b[8m"),
        ("\x7f\x9b", "\\u007f\\u009b"),
        ("\u3164\u115f", "\\u3164\\u115f"),
        ("\ufe0f\U000e0101", "\\ufe0f\\udb40\\udd01"),
        ("Grüße, שלום, 你好 🙂\n\tend", "Grüße, שלום, 你好 🙂\n\tend"),
    ],
)
def test_what_is_not_seen_is_written_out_and_the_rest_stays(text: str, shown: str) -> None:
    """Overrides, widths of nothing, tags, escapes of terminals, fillers, selectors."""
    assert visible(text) == shown
    assert json.loads(f'"{visible(text)}"'.replace("\n", "\\n").replace("\t", "\\t")) == text


def test_json_stays_the_same_value_and_a_name_stays_one_line() -> None:
    value = {"to\u202e": ["\u2066a", {"\u200d": "\n"}]}

    assert json.loads(visible_json(value)) == value
    assert visible_json(value) == '{"to\\u202e": ["\\u2066a", {"\\u200d": "\\n"}]}'
    assert visible_line("pay\n\u202eno") == "pay\\n\\u202eno"


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
