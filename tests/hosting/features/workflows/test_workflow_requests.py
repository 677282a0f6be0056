"""Workflows that ask a person: what waits, the types of answers, and how the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Never

import httpx
import pytest
from agent_framework import (
    AgentExecutor,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
)
from agent_framework.orchestrations import (
    MagenticBuilder,
    MagenticContext,
    MagenticManagerBase,
    MagenticProgressLedger,
    MagenticProgressLedgerItem,
)
from pydantic import BaseModel, field_validator

from tests.support.app.scripted import scripted_agent
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


GRADING = "/api/workflows/Grading/threads/t"


class Grade(BaseModel):
    """What is asked for; its schema takes any number, and its own code does not."""

    points: int

    @field_validator("points")
    @classmethod
    def even(cls, points: int) -> int:
        """Take an even number; that is broken for 4."""
        if points == 4:
            raise RuntimeError("a secret of the type")
        if points % 2:
            raise ValueError("must be even")
        return points


class Teacher(Executor):
    """Asks for a grade."""

    @handler
    async def grade(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.request_info(text, Grade)

    @response_handler
    async def graded(self, text: str, grade: Grade, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"{text} has {grade.points}")


def grading_flow() -> Workflow:
    return WorkflowBuilder(name="Grading", start_executor=Teacher("teacher")).build()


@pytest.fixture
async def grading() -> AsyncIterator[httpx.AsyncClient]:
    async with served(app_of(workflow=grading_flow)) as (_, grading):
        yield grading


async def asked_by(grading: httpx.AsyncClient, name: str = "Grading") -> dict[str, Any]:
    """Run the workflow until it asks; return what it asks."""
    answer = await grading.post(f"/api/workflows/{name}/run", json={"message": "tea", "thread_id": "t"})
    assert answer.status_code == 200, answer.text
    (waiting,) = answer.json()["pending_approvals"]
    return dict(waiting)


@pytest.mark.behaviour("workflows.asks")
@pytest.mark.parametrize("place", ["workflows/Grading/threads/t/approvals", "workflow/Grading/respond/t"])
@pytest.mark.parametrize(("points", "why"), [(3, "points: Value error, must be even."), (4, "its type refuses it.")])
async def test_an_answer_that_its_type_refuses_is_refused_before_it_is_taken(
    grading: httpx.AsyncClient, place: str, points: int, why: str
) -> None:
    """The question stands, and the next answer is taken; what the type's own code raised stays in the log."""
    waiting = await asked_by(grading)
    url, bare = f"/api/{place}/{waiting['id']}", "respond" in place

    refused = await grading.post(url, json={"points": points} if bare else {"value": {"points": points}})
    still = (await grading.get(f"{GRADING}/approvals")).json()["approvals"]
    taken = await grading.post(f"{GRADING}/approvals/{waiting['id']}", json={"value": {"points": 2}})

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert refused.json()["detail"] == f"The value is not what executor 'teacher' asked for: {why}"
    assert still == [waiting]
    assert (taken.json()["status"], taken.json()["response"]) == ("success", "tea has 2")
    assert len((await grading.get(f"{GRADING}/runs")).json()["runs"]) == 2


@dataclass
class Letter:
    """A type with messages among its members."""

    words: Message
    copies: int = 1
    more: list[Message] = field(default_factory=list)


class Postman(Executor):
    """Asks for a letter, and shows one."""

    @handler
    async def ask(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.request_info(Letter(Message("user", [text]), more=[Message("user", ["and more"])]), Letter)

    @response_handler
    async def post(self, shown: Letter, letter: Letter, ctx: WorkflowContext[Never, str]) -> None:
        more = [one.text for one in letter.more]
        await ctx.yield_output(f"{letter.words.role} {letter.words.text} {letter.copies} {more}")


def letter_flow() -> Workflow:
    return WorkflowBuilder(name="Grading", start_executor=Postman("postman")).build()


@pytest.mark.behaviour("workflows.asks")
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"words": "hello"}, "user hello 1 []"),
        ({"words": "hello", "copies": 2, "more": ["a", "b"]}, "user hello 2 ['a', 'b']"),
        ({"words": ["hello"]}, None),
        ({"copies": 2}, None),
    ],
)
async def test_messages_among_the_members_of_a_type_are_texts(value: Any, said: str | None) -> None:
    async with served(app_of(workflow=letter_flow)) as (_, grading):
        waiting = await asked_by(grading)
        answer = await grading.post(f"{GRADING}/approvals/{waiting['id']}", json={"value": value})

    assert waiting["arguments"] == {"words": "tea", "copies": 1, "more": ["and more"]}
    assert waiting["answer_schema"]["properties"]["words"]["type"] == "string"
    assert answer.json().get("response") == said, answer.text
    assert answer.status_code == (400 if said is None else 200)


class Manager(MagenticManagerBase):
    """Plans by what was said, and lets everybody speak once."""

    async def plan(self, magentic_context: MagenticContext) -> Message:
        return Message("assistant", [f"Plan of {[message.text for message in magentic_context.chat_history]}"])

    async def replan(self, magentic_context: MagenticContext) -> Message:
        return await self.plan(magentic_context)

    async def create_progress_ledger(self, magentic_context: MagenticContext) -> MagenticProgressLedger:
        is_done = any(message.author_name == "writer" for message in magentic_context.chat_history)

        def item(answer: bool | str) -> MagenticProgressLedgerItem:
            return MagenticProgressLedgerItem(reason="", answer=answer)

        return MagenticProgressLedger(item(is_done), item(False), item(True), item("writer"), item("say written"))

    async def prepare_final_answer(self, magentic_context: MagenticContext) -> Message:
        return Message("assistant", [magentic_context.chat_history[-1].text])


def reviewed_flow() -> Workflow:
    agents = [scripted_agent("writer")]
    return MagenticBuilder(
        name="Reviewed", participants=agents, manager=Manager(), enable_plan_review=True, output_from="all"
    ).build()


@pytest.mark.behaviour("workflows.asks")
@pytest.mark.behaviour("workflows.builders")
async def test_the_plan_of_a_magentic_workflow_is_reviewed() -> None:
    """A review with words makes another plan, which is asked about; one without any begins the work."""
    async with served(app_of(workflow=reviewed_flow)) as (_, grading):
        plan = await asked_by(grading, "Reviewed")
        place = "/api/workflows/Reviewed/threads/t/approvals"
        wrong = await grading.post(f"{place}/{plan['id']}", json={"value": {"review": "shorter"}})
        again = await grading.post(f"{place}/{plan['id']}", json={"value": {"review": ["shorter"]}})
        (second,) = again.json()["pending_approvals"]
        end = (await grading.post(f"{place}/{second['id']}", json={"value": {"review": []}})).json()

    assert plan["arguments"] == {"plan": "Plan of ['tea']", "current_progress": None, "is_stalled": False}
    assert plan["answer_schema"]["properties"]["review"]["items"] == {"type": "string"}
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_input")
    assert second["arguments"]["plan"] == "Plan of ['tea', 'shorter']"
    assert (end["status"], "written" in end["response"]) == ("success", True), end


@dataclass
class Odd:
    """What no request can bring."""

    event: asyncio.Event


@pytest.mark.behaviour("workflows.asks")
async def test_an_answer_that_no_request_can_bring_fails_the_run() -> None:
    """With what to do instead."""

    class Asker(Executor):
        @handler
        async def ask(self, text: str, ctx: WorkflowContext) -> None:
            await ctx.request_info(text, Odd)

        @response_handler
        async def judge(self, text: str, odd: Odd, ctx: WorkflowContext) -> None:
            pass

    def flow() -> Workflow:
        return WorkflowBuilder(name="Asking", start_executor=Asker("asker")).build()

    async with served(app_of(workflow=flow)) as (_, http):
        answer = await http.post("/api/workflows/Asking/run", json={"message": "tea"})

    assert (answer.status_code, answer.json()["code"]) == (500, "run_failed")
    assert "Executor 'asker' asks for a Odd, which a request cannot carry." in answer.json()["detail"]
