"""Orchestrations of a console worker."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from agent_framework import Message
from durabletask.task import OrchestrationContext
from durabletask.worker import TaskHubGrpcWorker

from hosting.console.worker import AgentWorker
from hosting.core.entity.called_run import AgentRunError
from tests.support.app.scripted import scripted_agent

Steps = Generator[Any, Any, Any]


def console_worker(address: str, **options: Any) -> AgentWorker:
    """Return a worker with the agents `writer` and `critic`, and with the orchestrations below; not started."""
    sdk_worker = TaskHubGrpcWorker(host_address=address)
    worker = AgentWorker(sdk_worker, **options)
    for name in ("writer", "critic"):
        worker.add_agent(scripted_agent(name))
    for orchestrator in orchestrators(worker):
        sdk_worker.add_orchestrator(orchestrator)
    return worker


def orchestrators(worker: AgentWorker) -> list[Callable[[OrchestrationContext, Any], Steps]]:
    """Return what the tests start by name."""

    def draft_and_shorten(context: OrchestrationContext, topic: str) -> Steps:
        writer = worker.get_agent(context, "writer")
        session = writer.create_session()
        draft = yield writer.run(topic, session=session)
        final = yield writer.run(f"Shorten this: {draft.text}", session=session)
        return {"text": final.text, "session_id": session.session_id}

    def nap_after_a_draft(context: OrchestrationContext, topic: str) -> Steps:
        writer = worker.get_agent(context, "writer")
        draft = yield writer.run(topic)
        rested = yield writer.run("sleep 0.5")
        return [draft.text, rested.text]

    def with_a_substitute(context: OrchestrationContext, message: dict[str, str]) -> Steps:
        try:
            answer = yield worker.get_agent(context, "writer").run(Message(message["role"], [message["text"]]))
        except AgentRunError as error:
            return [error.agent, error.code, error.detail]
        return answer.text

    def left_alone(context: OrchestrationContext, question: str) -> Steps:
        answer = yield worker.get_agent(context, "writer").run(question)
        return answer.text

    def call_nobody(context: OrchestrationContext, question: str) -> Steps:
        yield worker.get_agent(context, "nobody").run(question)

    return [draft_and_shorten, nap_after_a_draft, with_a_substitute, left_alone, call_nobody]
