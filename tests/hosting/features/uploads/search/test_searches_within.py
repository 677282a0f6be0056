"""Agents that search files within the run of another one: as its tool, in a workflow, and after a hand-over."""

from __future__ import annotations

from typing import Any, Never

import pytest
from agent_framework import (
    Agent,
    AgentExecutor,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)
from agent_framework.orchestrations import HandoffBuilder, SequentialBuilder

from hosting.app import FileSearch
from tests.support.event_stream import parse
from tests.support.hashed_words import HashedWords
from tests.support.library import Library, library
from tests.support.searcher import searcher

TEA = "# Drinks\n\nA cup of oolong costs four crowns.\n"
TRAIN = "# Trains\n\nThe night train to Oslo leaves at nine.\n"
DOG = "# Animals\n\nThe terrier sleeps in the kitchen.\n"
WORDS = "oolong train terrier"
DESK = "/api/agents/Desk"


def librarian(**options: Any) -> Agent[Any]:
    return searcher(FileSearch(embeddings=HashedWords(), **options))


def desk(inner: Agent[Any]) -> Agent[Any]:
    return searcher(name="Desk", tools=[inner.as_tool()])


def cited(answer: Any) -> list[str]:
    """Return the names of the files that an answer cites."""
    return sorted(citation["name"] for citation in answer.get("citations", ()))


async def said(app: Library, path: str, message: str, thread_id: str = "t") -> Any:
    """Send a message as ann, and return the answer's fields."""
    answer = await app.ask("ann", "POST", f"{path}/run", json={"message": message, "thread_id": thread_id})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.behaviour("file-search.within")
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_an_agent_that_is_a_tool_searches_for_its_caller_and_the_answer_cites(accept: str) -> None:
    inner = librarian()
    async with library(inner, desk(inner), searcher(FileSearch(embeddings=HashedWords()), name="Other")) as app:
        await said(app, DESK, "hello")
        await app.upload("ann", TEA, "owner.md")
        await app.upload("ann", TRAIN, "thread.md", f"{DESK}/threads/t/files")
        await app.upload("root", DOG, "desk.md", f"{DESK}/files")
        await app.upload("root", TEA + DOG, "librarian.md", "/api/agents/Librarian/files")
        await app.upload("root", TRAIN + DOG, "other.md", "/api/agents/Other/files")
        body = {"message": f"ask Librarian search {WORDS}", "thread_id": "t"}
        sent = await app.ask("ann", "POST", f"{DESK}/run", json=body, headers={"accept": accept})
        alone = await said(app, "/api/agents/Librarian", f"search {WORDS}", "u")

    answer = sent.json() if accept == "application/json" else parse(sent.text)[-1].fields
    assert cited(answer) == ["desk.md", "librarian.md", "owner.md", "thread.md"]
    assert all(citation["mark"] in answer["response"] for citation in answer["citations"])
    assert cited(alone) == ["librarian.md", "owner.md"]


class Teller(Executor):
    """Asks an agent, and yields its words."""

    def __init__(self, agent: Agent[Any]) -> None:
        super().__init__("teller")
        self.agent = agent

    @handler
    async def tell(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"It says: {(await self.agent.run(text)).text}")


def telling() -> Workflow:
    """Return the workflow whose executor asks an agent of its own, made anew for each run."""
    return WorkflowBuilder(name="Flow", start_executor=Teller(librarian())).build()


def executing() -> Workflow:
    return WorkflowBuilder(name="Flow", start_executor=AgentExecutor(librarian(), id="librarian")).build()


def sequential() -> Workflow:
    """Return one of an agent, and of one that says again what that said."""
    return SequentialBuilder(name="Flow", participants=[librarian(), searcher(name="Echo")]).build()


def handed_over() -> Workflow:
    """Return one whose first agent hands over to the one that searches: the framework copies both."""

    def answered(conversation: list[Message]) -> bool:
        return conversation[-1].author_name == "Librarian" and bool(conversation[-1].text)

    options: dict[str, Any] = {"require_per_service_call_history_persistence": True}
    first, second = searcher(name="Desk", **options), searcher(FileSearch(embeddings=HashedWords()), **options)
    builder = HandoffBuilder(name="Flow", participants=[first, second], termination_condition=answered)
    return builder.with_start_agent(first).add_handoff(first, [second]).add_handoff(second, [first]).build()


FLOWS = {
    "executor": (telling, f"search {WORDS}"),
    "agent": (executing, f"search {WORDS}"),
    "sequential": (sequential, f"search {WORDS}"),
    "handoff": (handed_over, f"hand over to Librarian: search {WORDS}"),
}


@pytest.mark.behaviour("file-search.within")
@pytest.mark.parametrize("flow", [*FLOWS])
async def test_an_agent_of_a_workflow_searches_for_its_run_and_the_answer_cites(flow: str) -> None:
    """The files of the thread and of its owner; nothing of another person."""
    build, message = FLOWS[flow]
    async with library(workflows=[build]) as app:
        await app.upload("ann", TEA, "owner.md")
        await app.upload("bob", DOG, "bob.md")
        await app.upload("ann", TRAIN, "thread.md", "/api/workflows/Flow/threads/t/files")
        answer = await said(app, "/api/workflows/Flow", message, "t")
        elsewhere = await said(app, "/api/workflows/Flow", message, "u")
        listed = (await app.ask("ann", "GET", "/api/workflows/Flow/threads/t/files")).json()
        content = await app.ask("ann", "GET", listed["files"][0]["content_url"])

    assert cited(answer) == ["owner.md", "thread.md"]
    assert all(citation["mark"] in answer["response"] for citation in answer["citations"])
    assert cited(elsewhere) == ["owner.md"]
    assert content.text == TRAIN


@pytest.mark.behaviour("file-search.cited")
async def test_an_answer_may_cite_what_an_earlier_turn_has_found() -> None:
    """The marks are those of the thread's own messages; nothing is searched again."""
    embeddings = HashedWords()
    async with library(searcher(FileSearch(embeddings=embeddings))) as app:
        await app.upload("ann", TEA, "owner.md")
        first = await app.say("ann", "search oolong")
        asked = len(embeddings.asked)
        second = await app.say("ann", f"tea costs four {first['citations'][0]['mark']}")

    assert (second["citations"], len(embeddings.asked)) == (first["citations"], asked)
