"""More orchestrations of the page's app, for what the page does not show."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import azure.durable_functions as df

from hosting.app import AgentFunctionApp
from hosting.functions import agent_calls

Steps = Generator[Any, Any, Any]


def register(app: AgentFunctionApp) -> None:
    """Register them; what waits for an agent does so for a moment."""
    agent_calls.WAIT_SECONDS = 0.0

    def orchestrator(function: Any) -> Any:
        return app.orchestration_trigger(context_name="context")(function)

    @orchestrator
    def remember(context: df.DurableOrchestrationContext) -> Steps:
        writer = app.get_agent(context, "WRITER")
        session = writer.create_session(session_id=context.get_input())
        yield writer.run("my name is Ada", session=session)
        within = yield writer.run("recall", session=session)
        apart = yield writer.run("recall")
        return [within.text, apart.text]

    @orchestrator
    def tell_all(context: df.DurableOrchestrationContext) -> Steps:
        answer = yield app.get_agent(context, "writer").run("say [1, 2]", response_format={"type": "array"})
        return {
            "kind": type(answer).__name__,
            "text": answer.text,
            "value": answer.value,
            "usage": dict(answer.usage_details),
            "ids": answer.additional_properties,
        }

    @orchestrator
    def carry(context: df.DurableOrchestrationContext) -> Steps:
        given = context.get_input()
        writer = app.get_agent(context, "writer")
        answer = yield writer.run(given["text"], session=writer.create_session(session_id=given["thread_id"]))
        if given["waits"]:
            yield context.wait_for_external_event("go")
        return answer.text

    @orchestrator
    def call_nobody(context: df.DurableOrchestrationContext) -> Steps:
        answer = yield app.get_agent(context, "nobody").run("hi")
        return answer.text
