"""Workflows of the shapes of Microsoft's samples 09 to 13, given as graphs, in the names of agent-framework alone."""

from __future__ import annotations

import json
from collections.abc import Callable
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
class Found:
    """The same, with the letter's key in the shared state."""

    finding: Finding
    letter: str


def is_spam(wanted: bool) -> Callable[[Any], bool]:
    """Return the condition of an edge; what is no finding passes."""
    return lambda message: not isinstance(message, Found) or message.finding.is_spam == wanted


@executor(id="store")
async def store(text: str, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
    """Keep the letter in the shared state, and ask the agent about it."""
    key = str(uuid4())
    ctx.set_state(f"letter:{key}", text)
    ctx.set_state("current", key)
    await ctx.send_message(AgentExecutorRequest(messages=[user(text)], should_respond=True))


@executor(id="found")
async def found(answer: AgentExecutorResponse, ctx: WorkflowContext[Found]) -> None:
    """Read what the agent found."""
    finding = Finding.model_validate_json(answer.agent_response.text)
    await ctx.send_message(Found(finding, f"letter:{ctx.get_state('current')}"))


@executor(id="answer")
async def answer_letter(found: Found, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
    await ctx.send_message(AgentExecutorRequest(messages=[user(ctx.get_state(found.letter))], should_respond=True))


@executor(id="send")
async def send(answer: AgentExecutorResponse, ctx: WorkflowContext[Never, str]) -> None:
    await ctx.yield_output(f"sent {answer.agent_response.text}")


@executor(id="refuse")
async def refuse(found: Found, ctx: WorkflowContext[Never, str]) -> None:
    await ctx.yield_output(f"spam: {found.finding.reason}")


def letters() -> Workflow:
    """Return the graph of sample 09: two agents, functions, conditions, and the letter in the shared state."""
    detector, assistant = scripted_agent("detector"), scripted_agent("assistant")
    return (
        WorkflowBuilder(name="Letters", start_executor=store)
        .add_edge(store, detector)
        .add_edge(detector, found)
        .add_edge(found, answer_letter, condition=is_spam(False))
        .add_edge(found, refuse, condition=is_spam(True))
        .add_edge(answer_letter, assistant)
        .add_edge(assistant, send)
        .build()
    )


def says_spam(answer: Any) -> bool:
    """Return whether an agent found a letter to be spam."""
    return isinstance(answer, AgentExecutorResponse) and '"is_spam": true' in answer.agent_response.text


class Reject(Executor):
    """Ends a letter that is spam."""

    @handler
    async def reject(self, answer: AgentExecutorResponse, ctx: WorkflowContext[Never, str]) -> None:
        """Yield the reason."""
        await ctx.yield_output(f"spam: {Finding.model_validate_json(answer.agent_response.text).reason}")


def triage() -> Workflow:
    """Return the graph of sample 10: an agent takes the text, a switch leads on, and an agent hears an agent."""
    detector, assistant = scripted_agent("detector"), scripted_agent("assistant")
    cases: list[Any] = [Case(condition=says_spam, target=Reject("reject")), Default(target=assistant)]
    builder = WorkflowBuilder(name="Triage", start_executor=detector)
    return builder.add_switch_case_edge_group(detector, cases).add_edge(assistant, send).build()


@dataclass
class Counted:
    """What a function counts of a text."""

    what: str
    number: int


def counting(what: str, count: Callable[[str], int]) -> Any:
    """Return a function as an executor that counts."""

    @executor(id=what)
    async def counted(text: str, ctx: WorkflowContext[Counted]) -> None:
        await ctx.send_message(Counted(what, count(text)))

    return counted


@executor(id="route")
async def route(body: str, ctx: WorkflowContext[str]) -> None:
    """Read the text out of the body."""
    await ctx.send_message(json.loads(body)["content"])


@executor(id="collect")
async def collect(counts: list[Counted], ctx: WorkflowContext[str]) -> None:
    """Have the agents told."""
    await ctx.send_message("say " + ", ".join(f"{one.what} {one.number}" for one in counts))


@executor(id="mix")
async def mix(answers: list[AgentExecutorResponse], ctx: WorkflowContext[str]) -> None:
    """Have an agent and a function told what the agents said."""
    await ctx.send_message("say " + " & ".join(one.agent_response.text for one in answers))


class Report(Executor):
    """Joins what agents and functions made."""

    @handler
    async def join(self, parts: list[AgentExecutorResponse | Counted], ctx: WorkflowContext[Never, str]) -> None:
        """Yield it."""
        said = [one.agent_response.text if isinstance(one, AgentExecutorResponse) else str(one.number) for one in parts]
        await ctx.yield_output("; ".join(said))


def parallel() -> Workflow:
    """Return the graph of sample 11: functions, agents, and an agent beside a function, each side by side."""
    counts = [counting("words", lambda text: len(text.split())), counting("lines", lambda text: text.count("\n") + 1)]
    agents, mixed = [scripted_agent("left"), scripted_agent("right")], [scripted_agent("summary"), counting("all", len)]
    builder = WorkflowBuilder(name="Parallel", start_executor=route).add_fan_out_edges(route, counts)
    builder.add_fan_in_edges(counts, collect).add_fan_out_edges(collect, agents).add_fan_in_edges(agents, mix)
    return builder.add_fan_out_edges(mix, mixed).add_fan_in_edges(mixed, Report("report")).build()


@dataclass
class Submission:
    """What is to be published."""

    title: str
    text: str


@dataclass
class Question:
    """What a person is asked; it has what the agent found."""

    title: str
    finding: Finding | None


class Review(BaseModel):
    """What a person answers."""

    approved: bool
    notes: str = ""


class Take(Executor):
    """Keeps what is to be published, and asks the agent."""

    @handler
    async def take(self, body: str, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
        """Read the body."""
        submission = Submission(**json.loads(body))
        ctx.set_state("submission", submission)
        await ctx.send_message(AgentExecutorRequest(messages=[user(submission.text)], should_respond=True))


class Gate(Executor):
    """Asks a person about what the agent found."""

    @handler
    async def ask(self, answer: AgentExecutorResponse, ctx: WorkflowContext[Question]) -> None:
        """Ask."""
        finding = Finding.model_validate_json(answer.agent_response.text)
        await ctx.request_info(Question(ctx.get_state("submission").title, finding), Review)

    @response_handler
    async def reviewed(self, question: Question, review: Review, ctx: WorkflowContext[list[Message]]) -> None:
        """Send on what was decided."""
        word = "published" if review.approved else "refused"
        await ctx.send_message([user(f"{question.title} {word}: {review.notes}")])


class Publish(Executor):
    """Yields what was decided."""

    @handler
    async def publish(self, decided: list[Message], ctx: WorkflowContext[Never, str]) -> None:
        """Yield it."""
        await ctx.yield_output(decided[0].text)


def moderated() -> Workflow:
    """Return the graph of sample 12."""
    steps: list[Any] = [Take("take"), scripted_agent("analyst"), Gate("gate"), Publish("publish")]
    return WorkflowBuilder(name="Moderated", start_executor=steps[0]).add_chain(steps).build()


@dataclass
class Notice:
    """What is to be written to a person."""

    request_id: str


class Inner(Executor):
    """Asks under an id of its own, which an executor beside it tells somebody."""

    @handler
    async def ask(self, submission: Submission, ctx: WorkflowContext[Notice]) -> None:
        """Ask."""
        request_id = str(uuid4())
        await ctx.send_message(Notice(request_id), target_id="notify")
        await ctx.request_info(
            request_data=Question(submission.title, None), response_type=Review, request_id=request_id
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
    async def take(self, submission: Submission, ctx: WorkflowContext[Submission]) -> None:
        """Send it on."""
        await ctx.send_message(submission)


def composed(hitl: Any) -> Workflow:
    """Return the graph of sample 13: what asks is a workflow within."""
    gate, notify, intake = Inner("gate"), Notify("notify", hitl), Intake("intake")
    inner = WorkflowBuilder(name="Review", start_executor=gate).add_edge(gate, notify).build()
    within = WorkflowExecutor(inner, id="review_sub")
    builder = WorkflowBuilder(name="Composed", start_executor=intake)
    return builder.add_chain([intake, within, Publish("publish")]).build()
