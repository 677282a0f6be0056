"""Context and metadata of a run that an orchestration, a client, a schedule or another agent begins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Never

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowContext, executor

from hosting.core.entity.called_run import AgentCall
from hosting.core.entity.proxy import DurableAgent
from hosting.core.request.contents import Limits, limits_of
from hosting.core.request.fields import carried_request
from hosting.errors import InvalidFieldError
from hosting.settings import read_settings
from hosting.tools import current
from tests.support.context_reader import context_reader
from tests.support.owned_app import OwnedApp

pytestmark = pytest.mark.behaviour("context.carried")

CONTEXT = {"tenant": "a"}


class Noting:
    """A caller that keeps what the proxy has it send."""

    orchestration_id = "o-1"

    def new_id(self) -> str:
        """Return the same id each time."""
        return "0" * 32

    def call(self, call: AgentCall, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what would be sent, as the engine keeps it."""
        return dict(json.loads(json.dumps(fields)))


def limits() -> Limits:
    """Return the limits of an entity of a plain app."""
    return limits_of(None, read_settings({}))


def test_an_orchestration_carries_them_in_its_call() -> None:
    sent = DurableAgent("Clerk", "", Noting()).run(
        "hello", context=CONTEXT, metadata={"ticket": 7}, thread_metadata={"team": "red", "old": None}
    )
    request = carried_request(sent, limits())

    assert (request.context, request.metadata) == (CONTEXT, {"ticket": 7})
    assert request.thread_metadata == {"team": "red", "old": None}
    assert not DurableAgent("Clerk", "", Noting()).run("hello").keys() & {"context", "metadata", "thread_metadata"}


@pytest.mark.parametrize(
    "wrong", [{"context": {"a": object()}}, {"context": {"a": "x" * 20_000}}, {"metadata": {"a": []}}]
)
def test_a_wrong_one_is_refused_where_the_call_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidFieldError):
        DurableAgent("Clerk", "", Noting()).run("hello", **wrong)


async def test_the_executors_of_a_workflow_and_their_agents_read_it() -> None:
    noted: list[str] = []
    reader = context_reader(noted.append)

    def flow() -> Workflow:
        @executor(id="first")
        async def first(text: str, context: WorkflowContext[str]) -> None:
            noted.append(f"executor {json.dumps(current().context)}")
            await context.send_message(f"call show {text}")

        @executor(id="last")
        async def last(text: str, context: WorkflowContext[Never, str]) -> None:
            await context.yield_output((await reader.run(text)).text)

        return WorkflowBuilder(name="Flow", start_executor=first).add_edge(first, last).build()

    app = OwnedApp(workflows=[flow])
    body = {"message": "1", "thread_id": "w", "context": CONTEXT, "metadata": {"ticket": 7}}
    async with app.http:
        answer = await app.ask("ada", "POST", "/api/workflows/Flow/run", json=body)

    assert (answer.status_code, answer.json()["metadata"]) == (200, {"ticket": 7}), answer.text
    assert [note for note in noted if not note.startswith("model ")] == [
        f"{name} {json.dumps(CONTEXT)}" for name in ("executor", "middleware", "provider", "tool")
    ]
