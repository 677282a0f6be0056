"""Workflows that ask a person: what waits, how it is answered, and how the run goes on."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from agent_framework import (
    AgentExecutor,
    FunctionTool,
    Workflow,
    WorkflowBuilder,
)

from tests.support.clerk import clerk
from tests.support.flows import asking_flow
from tests.support.made_app import app_of, served

THREAD = "/api/workflows/Asking/threads/t"


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with served(app_of(workflow=asking_flow)) as (_, http):
        yield http


async def asked(http: httpx.AsyncClient, message: str) -> dict[str, Any]:
    answer = await http.post("/api/workflows/Asking/run", json={"message": message, "thread_id": "t"})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def answered(http: httpx.AsyncClient, approval: dict[str, Any], body: Any) -> httpx.Response:
    return await http.post(f"{THREAD}/approvals/{approval['id']}", json=body)


@pytest.mark.behaviour("workflows.asks")
async def test_what_an_executor_asks_is_listed_with_the_schema_of_its_answer(http: httpx.AsyncClient) -> None:
    """With the run, and of the thread; what was yielded before is the run's answer."""
    body = await asked(http, "tea")

    (waiting,) = body["pending_approvals"]
    assert (waiting["tool"], waiting["arguments"]) == ("reviewer", {"text": "tea", "steps": ["one", "two"]})
    assert waiting["answer_schema"]["properties"]["note"]["type"] == "string"
    assert body["response"] == "asked\n\nWaits for a person's answer to: reviewer."
    assert (await http.get(f"{THREAD}/approvals")).json()["approvals"] == [waiting]
    busy = await http.post("/api/workflows/Asking/run", json={"message": "x", "thread_id": "t"})
    assert busy.json()["code"] == "approvals_pending"
    timeline = (await http.get(f"{THREAD}/runs/{body['run_id']}/timeline")).json()
    assert [(step["yielded"], step["asked"]) for step in timeline["steps"] if step["kind"] == "executor"] == [(1, 1)]


@pytest.mark.behaviour("workflows.asks")
async def test_the_answer_continues_from_there(http: httpx.AsyncClient) -> None:
    """In the type that was asked for; nothing waits any more, and the next message begins anew."""
    (waiting,) = (await asked(http, "tea"))["pending_approvals"]

    answer = await answered(http, waiting, {"value": {"approved": False, "note": "hot"}})

    assert (answer.status_code, answer.json()["response"]) == (200, "tea: False hot")
    assert (await http.get(f"{THREAD}/approvals")).json()["approvals"] == []
    asking, going_on = [
        (await http.get(f"{THREAD}/runs/{run}/timeline")).json() for run in (waiting["run_id"], answer.json()["run_id"])
    ]
    assert (going_on["continues"], asking.get("continues")) == (waiting["run_id"], None)
    (step,) = [step for step in asking["steps"] if step["kind"] == "approval_answered"]
    assert {name: step[name] for name in ("id", "tool", "arguments", "value")} == {
        **{name: waiting[name] for name in ("id", "tool", "arguments")},
        "value": {"approved": False, "note": "hot"},
    }
    assert (await asked(http, "milk"))["pending_approvals"][0]["arguments"]["text"] == "milk"


@pytest.mark.behaviour("workflows.asks")
@pytest.mark.parametrize(
    ("body", "code", "sentence"),
    [
        ({"approved": True}, "invalid_input", "'reviewer' waits for an answer. Send it as 'value'"),
        ({"value": {"note": "secret"}}, "invalid_input", "The value is not what 'reviewer' asked for: "),
        ({"value": None}, "invalid_input", "asked for"),
        ({"value": 1, "approved": True}, "invalid_field", "Send one of 'approved', 'value' and 'error'"),
        ({}, "invalid_field", "'approved'"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused(
    http: httpx.AsyncClient, body: Any, code: str, sentence: str
) -> None:
    """By a sentence without the answer; the question stands."""
    (waiting,) = (await asked(http, "tea"))["pending_approvals"]

    answer = await answered(http, waiting, body)

    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert sentence in answer.json()["detail"]
    assert "secret" not in answer.text
    assert (await http.get(f"{THREAD}/approvals")).json()["approvals"] == [waiting]


@pytest.mark.behaviour("workflows.asks")
@pytest.mark.parametrize(("approved", "made"), [(True, ["refund 5"]), (False, [])])
async def test_the_tool_of_an_agent_in_a_workflow_waits_for_its_approval(approved: bool, made: list[str]) -> None:
    """As one of an agent alone does; it has no schema, and is approved or refused."""
    notes: list[str] = []

    def flow() -> Workflow:
        agent = AgentExecutor(clerk(notes.append), id="agent")
        return WorkflowBuilder(name="Asking", start_executor=agent).build()

    async with served(app_of(workflow=flow)) as (_, http):
        (waiting,) = (await asked(http, "call refund 5"))["pending_approvals"]
        wrong = await answered(http, waiting, {"value": 1})
        answer = await answered(http, waiting, {"approved": approved, "reason": "too much"})

    assert (waiting["kind"], waiting["tool"], "answer_schema" in waiting) == ("approve", "refund", False)
    assert "Tool 'refund' waits for a decision." in wrong.json()["detail"]
    assert answer.json()["status"] == "success", answer.text
    assert [note.rpartition(" ")[0] if len(note.split()) > 2 else note for note in notes] == made


@pytest.mark.behaviour("client-tools.declared")
@pytest.mark.parametrize(
    ("sent", "result"),
    [({"value": "here"}, "here"), ({"error": "lost"}, "Error: lost"), ({"approved": False}, "refused")],
)
async def test_the_tool_that_an_agent_in_a_workflow_declares_is_a_tool_of_the_caller(
    sent: dict[str, Any], result: str
) -> None:
    def flow() -> Workflow:
        agent = clerk(lambda note: None)
        agent.default_options["tools"].append(FunctionTool(name="where", func=None, description="Where?"))
        return WorkflowBuilder(name="Asking", start_executor=AgentExecutor(agent, id="agent")).build()

    async with served(app_of(workflow=flow)) as (_, http):
        (waiting,) = (await asked(http, "call where 5"))["pending_approvals"]
        answer = await answered(http, waiting, sent)

    assert (waiting["kind"], waiting["tool"], waiting["arguments"]) == ("client_tool", "where", {"n": "5"})
    assert result in answer.json()["response"], answer.text
