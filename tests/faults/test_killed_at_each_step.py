"""Runs of the public mark `killed_at`: their app is killed around each record, while the test asks on.

The gate kills each at one record; a run that explores at all of them, and at the one over each kind of stores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from hosting.client.connection import RemoteAgentError
from hosting.names import new_id
from hosting.testing.agent_app import AgentApp
from hosting.testing.asking import RunAnswer
from tests.support.kept_in import KINDS
from tests.support.marked_app import Notes, cuts_off, source_of

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Asking:
    """What a marked test has of its app."""

    ask: Callable[..., RunAnswer]
    approve: Callable[..., RunAnswer]
    app: AgentApp
    notes: Notes

    def runs(self, thread_id: str, agent: str = "Clerk") -> list[Any]:
        return list(self.app.read(f"agents/{agent}/threads/{thread_id}/runs")["runs"])


@pytest.fixture
def asking(
    ask: Callable[..., RunAnswer], approve: Callable[..., RunAnswer], agent_app: AgentApp, notes: Notes
) -> Asking:
    return Asking(ask, approve, agent_app, notes)


def approval(has: Asking) -> None:
    """It is asked for once, and the tool is called once."""
    waiting = has.ask("call refund 5")
    assert [approval["tool"] for approval in waiting.pending_approvals] == ["refund"]

    assert (has.approve(waiting).text, has.notes.tools) == ("told: refunded 5", ["refund"])


def questions(has: Asking) -> None:
    """Each is asked once, and the step before them is made once."""
    number = has.approve(has.ask("call ship 5"), value="Elm")
    assert [asked["question"] for asked in number.pending_approvals] == ["Which number in Elm?"]

    assert (has.approve(number, value=3).text, has.notes.lines) == ("told: 5 from shelf of 5 to Elm 3", ["reserve 5"])


def sign_in(has: Asking) -> None:
    """It is asked for once, the step before it is made once, and what follows it is made with it."""
    waiting = has.ask("call push 5")
    assert [asked["kind"] for asked in waiting.pending_approvals] == ["authorization"]
    answer = has.approve(waiting)

    assert (answer.text, len(has.runs(answer.thread_id))) == ("told: branch 5 pushed by the app", 2)
    assert (has.notes.lines.count("reserve 5"), set(has.notes.lines)) == (1, {"reserve 5", "push 5"})


FUNCTION: dict[str, Any] = {
    "name": "where",
    "parameters": {"type": "object", "properties": {"n": {"type": "string"}}},
}
ASKED = {"role": "user", "content": "call where 1, where 2, look 3"}


def client_tool(has: Asking) -> None:
    """The caller repeats what got no answer; the run that goes on has the result, and the app's tool runs once."""
    answer = has.approve(has.ask("call where 1, look 2", client_tools=[FUNCTION]), value="here")

    assert (answer.text, has.notes.tools) == ("told: here | saw 2", ["look"])
    assert [run["status"] for run in has.runs(answer.thread_id)] == ["success", "success"]


def chat_tools(has: Asking) -> None:
    """The thread has no name: the key finds the calls again, and their ids the run that goes on."""
    path, fields = "chat/v1/chat/completions", {"model": "Clerk", "tools": [{"type": "function", "function": FUNCTION}]}
    asked = has.app.send("POST", path, {**fields, "messages": [ASKED]}, key=new_id())
    message = asked["choices"][0]["message"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "here"} for call in message["tool_calls"]]
    answer = has.app.send("POST", path, {**fields, "messages": [ASKED, message, *results]})
    assert_told_and_gone(has, answer["choices"][0]["message"]["content"])


def response_tools(has: Asking) -> None:
    """By Responses the caller sends its items back; a run that failed is a response of that status."""
    path = "openai/v1/responses"
    fields = {"model": "Clerk", "tools": [{"type": "function", **FUNCTION}], "store": False}
    items = has.app.send("POST", path, {**fields, "input": [ASKED]}, key=new_id())["output"]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    outputs = [{"type": "function_call_output", "call_id": call, "output": "here"} for call in calls]
    answer = has.app.send("POST", path, {**fields, "input": [ASKED, *items, *outputs]})
    if answer["status"] == "failed":
        raise RemoteAgentError("The response failed.", str(answer["error"]["code"]), 200)
    assert_told_and_gone(has, answer["output"][-1]["content"][0]["text"])


def assert_told_and_gone(has: Asking, text: str) -> None:
    """The app's own tool ran once; the thread is not stored, and goes with the last answer."""
    has.app.until("agents/Clerk/threads", lambda listed: listed["threads"] == [])
    assert (text, has.notes.tools) == ("told: here | here | saw 3", ["look"])


CONTEXT = {"tenant": "a", "limits": {"refund": 50}}


def context(has: Asking) -> None:
    """The run is one, its code read the context alone, and the thread's metadata changed with it once."""
    answer = has.ask("call show 1", context=CONTEXT, metadata={"ticket": 7}, thread_metadata={"team": "red"})
    thread = has.app.read(f"agents/Clerk/threads/{answer.thread_id}")

    readers = [line for line in has.notes.lines if not line.startswith("model ")]
    assert "shown 1" in answer.text
    assert {line.partition(" ")[2] for line in readers} == {json.dumps(CONTEXT, sort_keys=True)}
    assert {"tool", "provider", "middleware"} <= {line.partition(" ")[0] for line in readers}
    assert [(run["status"], run["metadata"]) for run in has.runs(answer.thread_id)] == [("success", {"ticket": 7})]
    assert thread["metadata"] == {"team": "red"}


OPTIONS = {
    "message": "call look",
    "options": {"temperature": 0.5, "reasoning_effort": "low", "tool_choice": "required", "seed": 3},
}


def options(has: Asking) -> None:
    """The run's model has them in both attempts, and they are in the key's fingerprint too."""
    key = new_id()
    answer = has.ask(thread=key, key=key, **OPTIONS)
    url = f"{has.app.url}/api/agents/Joker/run"
    again, other = (
        httpx.post(url, json={**OPTIONS, "thread_id": key, **more}, headers={"idempotency-key": key})
        for more in ({}, {"options": {"temperature": 0.4}})
    )

    assert json.loads(answer.text) == {"temperature": 0.5, "reasoning_effort": "low"}
    assert (again.json()["run_id"], again.headers["x-ms-ignored"]) == (answer.run_id, "options.seed")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    assert len(has.runs(key, "Joker")) == 1


CLERK = source_of("clerk", "clerk")
CALLERS = source_of(
    "clerk", "clerk", 'wires=["chat-completions", "responses"], client_tools=True, agents=[clerk(note)]'
)
DECLARED = '{"temperature": (0, 1), "reasoning_effort": ["low"], "tool_choice": ["required"]}'
OBEDIENT = source_of("obedient", "obedient", "", f"app.add_agent(obedient(), options={DECLARED})\n")
DECIDED, ACCEPTED = "after the decision was recorded", "after the request was recorded"


def killed(
    source: str, check: Callable[[Asking], None], moment: str, *marks: pytest.MarkDecorator, tool: str = ""
) -> list[Any]:
    """Return the cases of a check whose app is killed; a kill at work in `tool` ends its run."""
    cases: Sequence[tuple[str, str, bool]] = [
        (moment, "sqlite", False),
        ("each step", "sqlite", True),
        *((moment, kind, True) for kind in KINDS[1:]),
    ]
    return [
        pytest.param(
            source,
            kind,
            check,
            tool,
            marks=[pytest.mark.killed_at(killed_at), *marks, *[pytest.mark.explore] * explores],
            id=f"{check.__name__}-{'each' if explores and kind == 'sqlite' else 'chosen'}-{kind}",
        )
        for killed_at, kind, explores in cases
    ]


@pytest.mark.parametrize(
    ("agent_app_folder", "kept", "check", "tool"),
    [
        *killed(CLERK, approval, DECIDED, pytest.mark.behaviour("approvals.survives-kill"), tool="refund"),
        *killed(
            source_of("asker", "asker"),
            questions,
            "before the result of 'reserve' was recorded",
            pytest.mark.behaviour("asks.survives-kill"),
            tool="reserve",
        ),
        *killed(
            source_of("signer", "signer"),
            sign_in,
            DECIDED,
            pytest.mark.behaviour("authorizations.survives-kill"),
            tool="reserve",
        ),
        *killed(CALLERS, client_tool, DECIDED, pytest.mark.behaviour("client-tools.survives-kill"), tool="look"),
        *killed(CALLERS, chat_tools, DECIDED, pytest.mark.behaviour("chat.survives-kill"), tool="look"),
        *killed(CALLERS, response_tools, DECIDED, pytest.mark.behaviour("responses.functions"), tool="look"),
        *killed(
            source_of("context_reader", "context_reader"),
            context,
            ACCEPTED,
            pytest.mark.behaviour("context.survives-kill"),
        ),
        *killed(
            OBEDIENT, options, "after the result of 'look' was recorded", pytest.mark.behaviour("options.survives-kill")
        ),
    ],
    indirect=["agent_app_folder", "kept"],
)
def test_an_app_that_is_killed_around_a_record_does_what_it_does_without_a_kill(
    check: Callable[[Asking], None], tool: str, asking: Asking, request: pytest.FixtureRequest
) -> None:
    """A tool that was cut off is not called again, and ends its run: nobody knows whether it did its work."""
    if not tool or not cuts_off(request, tool):
        check(asking)
        return
    with pytest.raises(RemoteAgentError) as ended:
        check(asking)

    assert ended.value.code == "run_interrupted"
    assert asking.notes.tools in ([], [tool])
