"""One app with the calls of Microsoft's samples 01 to 08 does the same under its import line and under ours."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.carriers import APP
from tests.support.running_host import GUARD_SECONDS, RunningHost

MOVED_APP = Path(__file__).resolve().parent / "moved_app"
THEIRS = """
from agent_framework.azure import AgentCallbackContext, AgentFunctionApp, AgentResponseCallbackProtocol
"""
OURS = """
from hosting.app import AgentCallbackContext, AgentFunctionApp, AgentResponseCallbackProtocol
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("hosting.moves-over"),
    pytest.mark.skipif(
        importlib.util.find_spec("agent_framework_azurefunctions") is None,
        reason="agent-framework-azurefunctions is not installed: it asks for azure-functions below 2, "
        "which Python 3.13 does not take",
    ),
]


@contextlib.contextmanager
def hosted(folder: Path, line: str) -> Iterator[httpx.Client]:
    """Run the app with what it imports in front of it, until the end of the block."""
    shutil.copytree(APP, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    shutil.copy(MOVED_APP / "function_app.py", folder)
    (folder / "moved.py").write_text(line, encoding="utf-8")
    with RunningHost(folder) as host, httpx.Client(base_url=host.origin, timeout=4 * GUARD_SECONDS) as client:
        yield client


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The app under their import."""
    with hosted(tmp_path_factory.mktemp("theirs") / "app", THEIRS) as client:
        yield client


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The app under ours."""
    with hosted(tmp_path_factory.mktemp("ours") / "app", OURS) as client:
        yield client


def started(client: httpx.Client, name: str, text: str) -> str:
    """Start an orchestration and return where its status is."""
    answer = client.post(f"/api/started/{name}", content=text, headers={"content-type": "text/plain"})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["statusQueryGetUri"])


def until(client: httpx.Client, url: str, is_there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the status once it is as wanted."""
    guard = time.monotonic() + 4 * GUARD_SECONDS
    while time.monotonic() < guard:
        found = dict(client.get(url).json())
        if is_there(found):
            return found
    raise AssertionError(found)


def ended(client: httpx.Client, name: str, text: str) -> dict[str, Any]:
    """Return how an orchestration ended."""
    return until(client, started(client, name, text), lambda found: found["runtimeStatus"] in ("Completed", "Failed"))


def approved(client: httpx.Client) -> dict[str, Any]:
    """Refuse once, then agree; return the end."""
    url = started(client, "approval", "tea")
    instance = url.rpartition("/")[2]
    for attempt, review in enumerate(({"approved": False, "feedback": "longer"}, {"approved": True}), 1):
        until(client, url, lambda found, attempt=attempt: f"#{attempt}." in str(found["custom"]))
        client.post(f"/api/approve/{instance}", json=review)
    return until(client, url, lambda found: found["runtimeStatus"] in ("Completed", "Failed"))


def streamed(client: httpx.Client) -> list[Any]:
    """Return an answer, and what the callback had of it by its session."""
    answer = client.post("/api/agents/WeatherAgent/run", json={"message": "say a b"})
    kept = f"/api/agent/stream/{answer.json()['session_id']}"
    return [answer.json()["response"], until_ended(client, kept)]


def until_ended(client: httpx.Client, url: str) -> list[str]:
    """Return what the callback has once it was told the end."""
    guard = time.monotonic() + GUARD_SECONDS
    while not (kept := client.get(url).json()) or not kept[-1].startswith("["):
        assert time.monotonic() < guard, kept
    return list(kept)


def called(client: httpx.Client, tool: str) -> str:
    """Return the text of an MCP tool's result."""
    headers = {"accept": "application/json, text/event-stream"}
    params = {"name": tool, "arguments": {"query": "say fern"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = client.post("/runtime/webhooks/mcp", json=call, headers=headers).text
    result = json.loads(next(line for line in answer.splitlines() if line.startswith("data: "))[6:])["result"]
    return str(result["content"][0]["text"])


DOES: dict[str, Callable[[httpx.Client], Any]] = {
    "a tool that returns a dict": lambda client: client.post(
        "/api/agents/WeatherAgent/run", json={"message": "tool get_weather"}
    ).json()["response"],
    "an agent without endpoint": lambda client: (
        client.post("/api/agents/WriterAgent/run", json={"message": "x"}).status_code
    ),
    "a callback by its session": streamed,
    "chaining": lambda client: ended(client, "chaining", "tea"),
    "concurrency": lambda client: ended(client, "concurrency", "what is heat"),
    "a typed answer": lambda client: ended(client, "conditionals", "spam!"),
    "the other branch": lambda client: ended(client, "conditionals", "a letter"),
    "a person who refuses once": approved,
    "a tool of both doors": lambda client: called(client, "WeatherAgent"),
    "a tool alone": lambda client: called(client, "StockAdvisor"),
}
EXPECTED = {
    "a tool that returns a dict": 'tool said {"location": "Seattle", "temperature": 72}',
    "an agent without endpoint": 404,
    "a callback by its session": ["a b", ["a", " b", "[a b]"]],
    "chaining": "say tea | Improve: tea | recall",
    "concurrency": {"writer": "echo: what is heat", "weather": "echo: what is heat"},
    "a typed answer": "Email marked as spam: spam!",
    "the other branch": "Email sent",
    "a person who refuses once": {"content": "tea, longer", "attempts": 2},
    "a tool of both doors": "fern",
    "a tool alone": "fern",
}


@pytest.mark.parametrize("what", DOES)
def test_a_moved_app_does_what_it_did(theirs: httpx.Client, ours: httpx.Client, what: str) -> None:
    """The same under either import, and what the sample is for."""
    before, now = DOES[what](theirs), DOES[what](ours)

    assert now == before
    assert (now["output"] if isinstance(now, dict) and "output" in now else now) == EXPECTED[what]
