"""An agent with a memory: a context provider keeps a shopping list from turn to turn, and shows it to the model."""

import os
import re
from typing import Any

from agent_framework import Agent, AgentSession, ContextProvider, SessionContext, SupportsAgentRun, tool

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

WANTED = re.compile(r"\bbuy (?P<what>[\w ]+)", re.IGNORECASE)


class ShoppingList(ContextProvider):
    """Keeps what is to be bought in its `state`, which is stored with the conversation."""

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Tell the model what is on the list, and give it a tool to read it."""
        items: list[str] = state.get("items", [])

        @tool
        def show_list() -> str:
            """Show the shopping list."""
            return ", ".join(items) or "nothing"

        context.extend_instructions(self.source_id, f"On the shopping list: {', '.join(items) or 'nothing'}.")
        context.extend_tools(self.source_id, [show_list])

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Put on the list what the user asked for."""
        for message in context.input_messages:
            found = WANTED.search(message.text)
            if found is not None and message.role == "user":
                state["items"] = [*state.get("items", []), found["what"]]


shopper = Agent(
    client=create_chat_client(os.environ),
    name="shopper",
    description="Keeps a shopping list.",
    instructions="Help with the shopping. Answer in one sentence.",
    context_providers=[ShoppingList("shopping_list")],
)

app = AgentFunctionApp(agents=[shopper])
