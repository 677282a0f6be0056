"""The adapter of AG-UI, on small services with a fault or a smaller contract."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from conformance.__main__ import ALL_CHECKS
from conformance.adapters.ag_ui import AgUiService
from conformance.trial import Result, Trial, result_of

NAMED = {check.name: check for check in ALL_CHECKS}
STARTED = {"type": "RUN_STARTED"}
FINISHED = {"type": "RUN_FINISHED"}
ASKED = {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [{"id": "call"}]}}


def said(text: str, name: str = "m") -> dict[str, str]:
    """Return what an agent says."""
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": text}


class Agent:
    """An agent of AG-UI. `takes`: how many decisions on one call; `replays`: threads, to whom."""

    def __init__(self, takes: int = 1, replays: str = "nobody") -> None:
        self._takes = takes
        self._replays = replays
        self._threads: dict[str, tuple[str, list[Any]]] = {}

    def events(self, body: dict[str, Any], owner: str) -> list[dict[str, Any]]:
        """Return those of one run."""
        if body.get("resume"):
            self._takes -= 1
            return [STARTED, said("paid"), FINISHED] if self._takes >= 0 else [{"type": "RUN_ERROR", "message": "no"}]
        if not body["messages"]:
            writer, messages = self._threads.get(body["threadId"], ("", []))
            shows = self._replays == "everybody" or (self._replays == "owners" and owner == writer)
            return [STARTED, *([{"type": "MESSAGES_SNAPSHOT", "messages": messages}] if shows else []), FINISHED]
        self._threads[body["threadId"]] = (owner, body["messages"])
        return [STARTED, ASKED if body["messages"][-1]["content"].startswith("refund") else FINISHED]

    async def answer(self, request: httpx.Request) -> httpx.Response:
        events = self.events(json.loads(request.content), request.headers.get("x-user", ""))
        return httpx.Response(200, text="".join(f"data: {json.dumps(event)}\n\n" for event in events))


async def tried(check: str, agent: Agent) -> Result:
    async with httpx.AsyncClient(base_url="http://agent", transport=httpx.MockTransport(agent.answer)) as http:
        trial = Trial(AgUiService(http, ""), "hello", "slow", "refund", [{"x-user": "ada"}, {"x-user": "bob"}])
        return await result_of(NAMED[check], trial)


@pytest.mark.behaviour("conformance.finds")
@pytest.mark.parametrize(
    ("check", "agent", "outcome"),
    [
        ("approval.once", Agent(takes=1), "passed"),
        ("approval.once", Agent(takes=2), "failed"),
        ("owners.read", Agent(replays="owners"), "passed"),
        ("owners.read", Agent(replays="everybody"), "failed"),
    ],
)
async def test_a_promise_of_an_ag_ui_agent_is_kept_or_not(check: str, agent: Agent, outcome: str) -> None:
    """A decision may be refused within a stream; a thread is read by a request without messages."""
    assert (await tried(check, agent)).outcome == outcome


@pytest.mark.behaviour("conformance.fair")
async def test_an_ag_ui_agent_that_replays_no_thread_does_not_offer_to_hide_one() -> None:
    """That the other owner reads nothing proves nothing: nobody can."""
    assert (await tried("owners.read", Agent())).outcome == "not offered"
