"""Workflows of the shapes of Microsoft's samples 09 to 13, given as graphs, in the names of agent-framework alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Never
from uuid import uuid4

from agent_framework import (
    AgentExecutorRequest,
    AgentExecutorResponse,
    Case,
    Default,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    executor,
    handler,
    response_handler,
)
from pydantic import BaseModel

from tests.support.app.scripted import scripted_agent
from tests.support.flows import user


class Finding(BaseModel):
    """What an agent finds of a letter."""

    is_spam: bool
    reason: str = ""


@dataclass
class Counted:
    """How many words a text has."""

    words: int


@executor(id="store")
async def store(text: str, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
    """Keep the letter in the shared state, and ask the agent about it."""
    ctx.set_state("letter", text)
    await ctx.send_message(AgentExecutorRequest(messages=[user(text)], should_respond=True))


def says_spam(answer: Any) -> bool:
    """Return whether an agent found a letter to be spam."""
    return isinstance(answer, AgentExecutorResponse) and '"is_spam": true' in answer.agent_response.text


class Reject(Executor):
    """Ends a letter that is spam."""

    @handler
    async def reject(self, answer: AgentExecutorResponse, ctx: WorkflowContext[Never, str]) -> None:
        """Yield the reason."""
        await ctx.yield_output(f"spam: {Finding.model_validate_json(answer.agent_response.text).reason}")


@executor(id="recall")
async def recall(answer: AgentExecutorResponse, ctx: WorkflowContext[str]) -> None:
    """Keep what an agent made of another's words, and send on the letter of the shared state."""
    ctx.set_state("heard", answer.agent_response.text)
    await ctx.send_message(ctx.get_state("letter"))


@executor(id="count")
async def count(text: str, ctx: WorkflowContext[Counted]) -> None:
    """Count its words."""
    await ctx.send_message(Counted(len(text.split())))


class Report(Executor):
    """Joins what an agent and a function made side by side."""

    @handler
    async def join(self, parts: list[AgentExecutorResponse | Counted], ctx: WorkflowContext[Never, str]) -> None:
        """Yield it."""
        said = [str(one.words) if isinstance(one, Counted) else one.agent_response.text for one in parts]
        await ctx.yield_output("; ".join([ctx.get_state("heard"), *said]))


def letters() -> Workflow:
    """Return the shapes of samples 09 to 11: shared state, a switch, an agent that hears an agent, and a fan."""
    detector, assistant, summary = map(scripted_agent, ("detector", "assistant", "summary"))
    cases: list[Any] = [Case(condition=says_spam, target=Reject("reject")), Default(target=assistant)]
    beside: list[Any] = [summary, count]
    builder = WorkflowBuilder(name="Letters", start_executor=store).add_edge(store, detector)
    builder.add_switch_case_edge_group(detector, cases).add_edge(assistant, recall)
    return builder.add_fan_out_edges(recall, beside).add_fan_in_edges(beside, Report("report")).build()


@dataclass
class Submission:
    """What is to be published."""

    title: str
    text: str


@dataclass
class Question:
    """What a person is asked; it has what the agent found."""

    title: str
    finding: Finding


class Review(BaseModel):
    """What a person answers."""

    approved: bool
    notes: str = ""


@dataclass
class Notice:
    """What is to be written to a person."""

    request_id: str


class Gate(Executor):
    """Asks under an id of its own, which an executor beside it tells somebody."""

    @handler
    async def ask(self, answer: AgentExecutorResponse, ctx: WorkflowContext[Notice]) -> None:
        """Ask."""
        finding = Finding.model_validate_json(answer.agent_response.text)
        request_id = str(uuid4())
        await ctx.send_message(Notice(request_id), target_id="notify")
        await ctx.request_info(
            request_data=Question(finding.reason, finding), response_type=Review, request_id=request_id
        )

    @response_handler
    async def reviewed(self, question: Question, review: Review, ctx: WorkflowContext[Never, list[Message]]) -> None:
        """Yield what was decided."""
        await ctx.yield_output([user(f"{question.title}: {review.approved}, {review.notes}")])


URLS: list[str] = []


class Notify(Executor):
    """Tells a person where to answer. `hitl` is the class for that, the one name that a graph imports of its host."""

    def __init__(self, id: str, hitl: Any) -> None:
        super().__init__(id)
        self._hitl = hitl

    @handler
    async def notify(self, notice: Notice, ctx: WorkflowContext) -> None:
        """Keep the URL."""
        hitl = self._hitl.from_context(ctx, base_url="http://app.example")
        assert hitl is not None
        URLS.append(hitl.build_respond_url(notice.request_id))


class Intake(Executor):
    """Sends on what is to be published."""

    @handler
    async def take(self, submission: Submission, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
        """Ask the agent about it."""
        ctx.set_state("submission", submission)
        await ctx.send_message(AgentExecutorRequest(messages=[user(submission.text)], should_respond=True))


class Publish(Executor):
    """Yields what was decided."""

    @handler
    async def publish(self, decided: list[Message], ctx: WorkflowContext[Never, str]) -> None:
        """Yield it, with the title."""
        await ctx.yield_output(f"{ctx.get_state('submission').title}, {decided[0].text}")


def composed(hitl: Any) -> Workflow:
    """Return the shapes of samples 12 and 13: a person decides, asked by a workflow within about an agent's answer."""
    gate = Gate("gate")
    inner = WorkflowBuilder(name="Review", start_executor=gate).add_edge(gate, Notify("notify", hitl)).build()
    steps: list[Any] = [Intake("intake"), scripted_agent("analyst"), WorkflowExecutor(inner, id="review_sub")]
    builder = WorkflowBuilder(name="Composed", start_executor=steps[0])
    return builder.add_chain([*steps, Publish("publish")]).build()
