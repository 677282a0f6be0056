"""Page context: a text that an agent's model gets beside the messages of one run, and that no thread keeps.

Theory. A page says what its user sees: the open document, the chosen row. That is true for one question and stale with
the next, so it is no message of the conversation. It stands in the request of the run, which its log keeps, and each
model call of the run gets it, as a message of the user before the newest one: its words are a caller's, and get no more
weight than a caller's messages. The message is marked as agent-framework marks those of context providers, which no
history keeps.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent_framework import Agent, ChatContext, ChatMiddleware, ChatMiddlewareLayer, Message
from agent_framework._sessions import is_local_history_conversation_id

SOURCE = "page_context"


def takes_page_context(agent: object) -> bool:
    """Return whether the agent's model can get a page context: agent-framework makes its calls."""
    return isinstance(agent, Agent) and isinstance(agent.client, ChatMiddlewareLayer)


class WithPageContext(ChatMiddleware):
    """Gives each model call of a run the page context of its request."""

    def __init__(self, text: str) -> None:
        self._message = Message("user", [text], additional_properties={"_attribution": {"source_id": SOURCE}})

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Put the context before the newest message of a user, then call the model.

        A call without such a message goes on from others: a provider that keeps the conversation has the context, and
        a history that is loaded for each call has it not.
        """
        messages = list(context.messages)
        place = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
        if _brings_all(context, messages):
            context.messages = [*messages[:place], self._message, *messages[place:]]
        await call_next()


def _brings_all(context: ChatContext, messages: list[Message]) -> bool:
    conversation_id = (context.options or {}).get("conversation_id")
    is_kept = bool(conversation_id) and not is_local_history_conversation_id(conversation_id)
    return not is_kept or any(message.role == "user" for message in messages)
