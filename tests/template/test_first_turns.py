"""The app as it is cloned, on the local host with this very Python: one thread, two turns, a restart between them."""

import sys
from pathlib import Path

import httpx
import pytest

from tests.support.template_process import copy_tree, running

HOST = [sys.executable, "-m", "devhost", "start", "--port", "0"]

pytestmark = pytest.mark.slow


async def test_the_assistant_answers_with_its_tool_and_remembers_after_a_restart(tmp_path: Path) -> None:
    """What the README promises, without installing anything: each supported Python runs this."""
    copy_tree(tmp_path)
    async with running(HOST, tmp_path) as app:
        requested = await ask(app.origin, "What is the weather in Paris?")
    async with running(HOST, tmp_path) as app:
        remembered = await ask(app.origin, "Which city did I ask about?")

    assert requested["response"] == "The weather in Paris: partly cloudy, 18 °C."
    assert remembered["response"] == "You asked about Paris."
    assert remembered["thread_id"] == requested["thread_id"] == "first"


async def ask(origin: str, message: str) -> dict[str, object]:
    async with httpx.AsyncClient(base_url=origin, timeout=30) as client:
        response = await client.post("/api/agents/assistant/run", json={"message": message, "thread_id": "first"})
    assert response.status_code == 200, response.text
    body: dict[str, object] = response.json()
    return body
