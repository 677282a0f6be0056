"""An app of agent-framework-azurefunctions does the same under its import line and under ours."""

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
from agent_framework_azurefunctions import WorkflowHitlContext
"""
OURS = """
from hosting.app import AgentCallbackContext, AgentFunctionApp, AgentResponseCallbackProtocol, WorkflowHitlContext
"""

pytestmark = [
    pytest.mark.behaviour("hosting.moves-over"),
    pytest.mark.skipif(
        importlib.util.find_spec("agent_framework_azurefunctions") is None,
        reason="agent-framework-azurefunctions is not installed: it asks for azure-functions below 2, "
        "which Python 3.13 and later do not take",
    ),
]


@contextlib.contextmanager
def hosted(folder: Path, line: str) -> Iterator[httpx.Client]:
    """Run the app with what it imports in front of it, until the end of the block."""
    shutil.copytree(APP, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    shutil.copy(MOVED_APP / "function_app.py", folder)
    (folder / "moved.py").write_text(line, encoding="utf-8")
    environ = {"AGENT_CALLER_ROLES": "user,system,assistant", "AGENT_MESSAGE_TYPES": "any"}  # callers as before
    with (
        RunningHost(folder, environ=environ) as host,
        httpx.Client(base_url=host.origin, timeout=4 * GUARD_SECONDS) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with hosted(tmp_path_factory.mktemp("theirs") / "app", THEIRS) as client:
        yield client


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with hosted(tmp_path_factory.mktemp("ours") / "app", OURS) as client:
        yield client


def started(client: httpx.Client, name: str, text: str) -> str:
    """Start an orchestration and return where its status is."""
    answer = client.post(f"/api/started/{name}", content=text, headers={"content-type": "text/plain"})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["statusQueryGetUri"])


def until(client: httpx.Client, url: str, is_there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    guard = time.monotonic() + 4 * GUARD_SECONDS
    while time.monotonic() < guard:
        found = dict(client.get(url).json())
        if is_there(found):
            return found
    raise AssertionError(found)


def ended(client: httpx.Client, name: str, text: str) -> dict[str, Any]:
    return until(client, started(client, name, text), lambda found: found["runtimeStatus"] in ("Completed", "Failed"))


def approved(client: httpx.Client) -> dict[str, Any]:
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
    headers = {"accept": "application/json, text/event-stream"}
    params = {"name": tool, "arguments": {"query": "say fern"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = client.post("/runtime/webhooks/mcp", json=call, headers=headers).text
    result = json.loads(next(line for line in answer.splitlines() if line.startswith("data: "))[6:])["result"]
    return str(result["content"][0]["text"])


def run_of(client: httpx.Client, workflow: str, body: Any) -> tuple[str, dict[str, Any]]:
    """Start a workflow; return where its status is, and the status once it has ended or asks somebody.

    A function that takes a text gets a JSON object as one under our import alone: theirs fails.
    """
    answer = client.post(f"/api/workflow/{workflow}/run", json=body)
    assert answer.status_code == 202, answer.text
    url = str(answer.json()["statusQueryGetUri"])
    return url, until(client, url, lambda found: has_ended(found) or bool(found.get(ASKED)))


ASKED = "pendingHumanInputRequests"


def has_ended(found: dict[str, Any]) -> bool:
    return found["runtimeStatus"] in ("Completed", "Failed")


def made(client: httpx.Client, workflow: str, body: Any) -> list[Any]:
    """Return how a workflow ended, and what it made."""
    _, found = run_of(client, workflow, body)
    return [found["runtimeStatus"], found["output"], found["error"]]


def told(client: httpx.Client) -> list[Any]:
    """Return what a workflow within makes of an answer that is posted where its executor said.

    What is asked stands there as values under our import, and as a pickle under theirs.
    """
    url, found = run_of(client, "Composed", {"title": "Tea", "text": LETTER})
    (asked,) = found[ASKED]
    said = client.get("/api/told").json()[-1].removeprefix("http://app.example")
    answer = client.post(said, json={"approved": False, "notes": "weak"})
    end = until(client, url, has_ended)
    return [asked["respondUrl"].endswith(said), answer.status_code, end["runtimeStatus"], end["output"]]


LETTER = 'say {"is_spam": false, "reason": "calm"}'
SPAM = 'say {"is_spam": true, "reason": "loud"}'

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
    "09 to 11, shared state, an agent that hears an agent, and a fan": lambda client: made(client, "Letters", LETTER),
    "10, the other case": lambda client: made(client, "Letters", SPAM),
    "12 and 13, a workflow within asks a person": told,
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
    "09 to 11, shared state, an agent that hears an agent, and a fan": [
        "Completed",
        [f"echo: {LETTER[4:]}; {LETTER[4:]}; 5"],
        None,
    ],
    "10, the other case": ["Completed", ["spam: loud"], None],
    "12 and 13, a workflow within asks a person": [True, 200, "Completed", ["Tea, calm: False, weak"]],
}


@pytest.mark.slow
@pytest.mark.parametrize("what", DOES)
def test_a_moved_app_does_what_it_did(theirs: httpx.Client, ours: httpx.Client, what: str) -> None:
    before, now = DOES[what](theirs), DOES[what](ours)

    assert now == before
    assert (now["output"] if isinstance(now, dict) and "output" in now else now) == EXPECTED[what]


RUN = "/api/agents/WeatherAgent/run"
TEXT = {"content-type": "text/plain"}
REQUESTS: dict[str, dict[str, Any]] = {
    "text": {"content": "hello", "headers": TEXT},
    "json with a thread": {"json": {"message": "hi", "thread_id": "t"}},
    "text that asks for json": {"content": "hi", "headers": {**TEXT, "accept": "application/json"}},
    "no waiting, by header": {"json": {"message": "hi"}, "headers": {"x-ms-wait-for-response": "false"}},
    "no waiting, as text": {"content": "hi", "headers": {**TEXT, "x-ms-wait-for-response": "false"}},
    "no tools, by a word": {"json": {"message": "hi", "enable_tool_calls": "false"}},
    "the system speaks": {"json": {"message": "see", "role": "system"}},
    "a message that is a number": {"json": {"message": 42}},
    "no message": {"json": {}},
}


@pytest.mark.slow
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=list(REQUESTS))
def test_a_request_is_answered_as_it_was_under_their_import(
    ours: httpx.Client, theirs: httpx.Client, request_: dict[str, Any]
) -> None:
    """Status and form; every header and member that a client could have read, with the values that are not ids.

    Left out is what differs on purpose: `Accept` decides the form, and `waitForResponse` is understood.
    """
    sent = {"method": "POST", "url": RUN, **request_}

    before, now = theirs.request(**sent), ours.request(**sent)

    assert (now.status_code, form(now)) == (before.status_code, form(before))
    if now.status_code < 400:
        assert {name for name in before.headers if name.startswith("x-ms-")} <= set(now.headers)
    if form(before) == "json":
        assert set(before.json()) <= set(now.json())
        assert {name: now.json()[name] for name in SAME & before.json().keys()} == {
            name: value for name, value in before.json().items() if name in SAME
        }
    elif before.status_code == 200:
        assert now.text == before.text


SAME = {"response", "message", "status", "message_count"}


def form(answer: httpx.Response) -> str:
    return "json" if "json" in answer.headers.get("content-type", "") else "text"
