"""An app of `agent-framework-azurefunctions` comes over by one import line: its constructor calls, its requests."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import azure.functions as func
import httpx
import pytest

from tests.support.app.scripted import scripted_agent
from tests.support.carriers import APP
from tests.support.running_host import GUARD_SECONDS, RunningHost

THEIR_IMPORT = "from agent_framework_azurefunctions import AgentFunctionApp"
OUR_IMPORT = "from hosting.app import AgentFunctionApp"
HAVE_THEIRS = importlib.util.find_spec("agent_framework_azurefunctions") is not None
RUN = "/api/agents/Joker/run"
TEXT = {"content-type": "text/plain"}

needs_theirs = pytest.mark.skipif(
    not HAVE_THEIRS,
    reason="agent-framework-azurefunctions is not installed: it asks for azure-functions below 2, "
    "which Python 3.13 and later do not take",
)

# The calls that its README, docstrings and samples show, with agents made here.
DOCUMENTED = {
    "none yet": "app = AgentFunctionApp()",
    "agents in the constructor": "app = AgentFunctionApp(agents=[joker, poet])",
    "agents added": "app = AgentFunctionApp()\napp.add_agent(joker)\napp.add_agent(poet)",
    "health and retries": "app = AgentFunctionApp(agents=[joker], enable_health_check=True, max_poll_retries=50)",
    "all of polling": "app = AgentFunctionApp(agents=[joker], max_poll_retries=10, poll_interval_seconds=0.5)",
    "no health": "app = AgentFunctionApp(agents=[joker], enable_health_check=False)",
    "an open app": "app = AgentFunctionApp(agents=[joker], http_auth_level=func.AuthLevel.ANONYMOUS)",
    "no endpoints": "app = AgentFunctionApp(agents=[joker], enable_http_endpoints=False)",
    "tools": "app = AgentFunctionApp(agents=[joker, poet], enable_mcp_tool_trigger=True)",
    "a tool only": (
        "app = AgentFunctionApp(enable_health_check=True)\n"
        "app.add_agent(joker)\n"
        "app.add_agent(poet, enable_http_endpoint=False, enable_mcp_tool_trigger=True)"
    ),
    "no callbacks": "app = AgentFunctionApp(agents=[joker], default_callback=None)\napp.add_agent(poet, callback=None)",
    "by position": "app = AgentFunctionApp([joker])\napp.add_agent(poet, None, False, True)",
    "no workflows": "app = AgentFunctionApp(agents=[joker], workflow=None, workflows=None)",
}


AS_THEIRS = {"AGENT_CALLER_ROLES": "user,system,assistant", "AGENT_MESSAGE_TYPES": "any"}
"""What a moved app may set, so that its callers are taken as before."""

ATTRIBUTES = ("enable_health_check", "enable_http_endpoints", "enable_mcp_tool_trigger", "default_callback")


def built(source: str) -> Any:
    """Return the app that a module of this source makes."""
    names = {"joker": scripted_agent("Joker"), "poet": scripted_agent("Poet"), "func": func}
    exec(source, names)
    return names["app"]


def functions(app: Any) -> dict[str, str]:
    """Return the functions that belong to agents: name and kind of trigger."""
    return {
        function.get_function_name(): function.get_trigger().type
        for function in app.get_functions()
        if function.get_function_name().startswith(("http-", "dafx-", "mcptool-", "health_check"))
    }


@needs_theirs
@pytest.mark.behaviour("hosting.moves-over")
@pytest.mark.parametrize("body", DOCUMENTED.values(), ids=list(DOCUMENTED))
def test_a_documented_call_makes_the_same_functions_under_either_import(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entities, endpoints and tools by the same names, the same agents by name; ours has more routes beside them."""
    monkeypatch.chdir(tmp_path)
    theirs, ours = (built(f"{line}\n{body}") for line in (THEIR_IMPORT, OUR_IMPORT))

    made, wanted = functions(ours), functions(theirs)
    assert made == wanted
    assert list(ours.agents) == list(theirs.agents)
    assert {name: getattr(ours, name) for name in ATTRIBUTES} == {name: getattr(theirs, name) for name in ATTRIBUTES}


@contextlib.contextmanager
def hosted(folder: Path, line: str, more: str = "") -> Iterator[httpx.Client]:
    """Run the documented app of one agent on the local host until the end of the block."""
    shutil.copytree(APP, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    app = (
        f"app = AgentFunctionApp(agents=[scripted_agent('Joker')], enable_health_check=True, max_poll_retries=50{more})"
    )
    (folder / "function_app.py").write_text(f"from scripted import scripted_agent\n{line}\n\n{app}\n", encoding="utf-8")
    with (
        RunningHost(folder, environ=AS_THEIRS) as host,
        httpx.Client(base_url=host.origin, timeout=4 * GUARD_SECONDS) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with hosted(tmp_path_factory.mktemp("ours") / "app", OUR_IMPORT, ", health_lists_agents=True") as client:
        yield client


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with hosted(tmp_path_factory.mktemp("theirs") / "app", THEIR_IMPORT) as client:
        yield client


REQUESTS: dict[str, dict[str, Any]] = {
    "text": {"content": "hello", "headers": TEXT},
    "text on a thread": {"url": f"{RUN}?thread_id=k", "content": "hello", "headers": TEXT},
    "json with a session": {"json": {"message": "hi", "session_id": "s"}},
    "json with a thread": {"json": {"message": "hi", "thread_id": "t"}},
    "text that asks for json": {"content": "hi", "headers": {**TEXT, "accept": "application/json"}},
    "no waiting, by header": {"json": {"message": "hi"}, "headers": {"x-ms-wait-for-response": "false"}},
    "no waiting, by field": {"json": {"message": "hi", "wait_for_response": False}},
    "no waiting, as text": {"content": "hi", "headers": {**TEXT, "x-ms-wait-for-response": "false"}},
    "no waiting, by a letter": {"json": {"message": "hi"}, "headers": {"x-ms-wait-for-response": "N"}},
    "no waiting, off": {"json": {"message": "hi"}, "headers": {"x-ms-wait-for-response": "off"}},
    "no tools, by a word": {"json": {"message": "hi", "enable_tool_calls": "false"}},
    "the system speaks": {"json": {"message": "see", "role": "system"}},
    "a message that is a number": {"json": {"message": 42}},
    "no message": {"json": {}},
    "a blank message": {"content": " ", "headers": TEXT},
    "health": {"method": "GET", "url": "/api/health"},
}


@pytest.mark.slow
@needs_theirs
@pytest.mark.behaviour("hosting.moves-over")
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


SAME = {"response", "message", "status", "message_count", "agents", "agent_count"}


def form(answer: httpx.Response) -> str:
    return "json" if "json" in answer.headers.get("content-type", "") else "text"
