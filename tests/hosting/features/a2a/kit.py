"""The agent that the protocol's test kit wants: it answers by the beginning of a message's id, as its `scenarios/` say.

https://github.com/a2aproject/a2a-tck, branch 1.0-dev: the kit's texts are the same whatever it wants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    ChatResponse,
    Content,
    ContextProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
    tool,
)

from hosting.app import AgentFunctionApp
from hosting.core.agent.agent_loop import RUN
from tests.support.answering import AnsweringClient, says

NAME = "Kit"
FILE, MEDIA_TYPE = "output.txt", "text/plain"
ANSWERS: Mapping[str, Content] = {
    "tck-artifact-text": Content.from_text("Generated text content"),
    "tck-artifact-file-url": Content.from_uri("https://example.com/output.txt", media_type=MEDIA_TYPE, name=FILE),
    "tck-artifact-file": Content.from_data(b"From a file.", MEDIA_TYPE, name=FILE),
    "tck-artifact-data": Content.from_data(b'{"key": "value", "count": 42}', "application/json"),
    "tck-input-required": Content.from_function_call("asks", "ask", arguments={}),
    "tck-message-response": Content.from_text("Direct message response"),
    "tck-stream-001": Content.from_text("Stream hello from TCK"),
    "tck-stream-003": Content.from_text("Stream task lifecycle"),
    "tck-stream-ordering-001": Content.from_text("Ordered output"),
}
"""By the beginning of the message's id; the first that fits. Else `ELSE`."""
ELSE = Content.from_text("Hello from TCK")


class MessageIds(ContextProvider):
    """Tells the model the id of the message that its run answers, which no agent is told otherwise."""

    def __init__(self, app: Callable[[], AgentFunctionApp]) -> None:
        super().__init__("message_ids")
        self._app = app

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Read it of the run that is at work, which this process holds."""
        accepted = self._app()._services.holders.held[RUN.get()].run.accepted
        context.extend_instructions(self.source_id, ((accepted.wire or {}).get("a2a") or {})["message_id"])


class KitsClient(AnsweringClient):
    """Answers with one content, by its instructions."""

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        wanted = str(options["instructions"])
        return says(next((content for prefix, content in ANSWERS.items() if wanted.startswith(prefix)), ELSE))


@tool(approval_mode="always_require")
def ask() -> str:
    """Wait for a person."""
    return "answered"


def kit_agent(app: Callable[[], AgentFunctionApp]) -> Agent[Any]:
    """Return the agent for the kit, of the app that there is when it is asked."""
    return Agent(KitsClient(), name=NAME, tools=[ask], context_providers=[MessageIds(app)])
