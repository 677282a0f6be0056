"""A graph on LangGraph's Agent Server, as `langgraph dev` serves it: in memory. X-User says who asks.

The server imports this file once more by its path, for the graph and the auth handler that the variables below name.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_sdk import Auth

from tests.conformance.serving import serve

WORDS, WORD_SECONDS = 20, 0.05
STEPS, STEP_SECONDS = 8, 0.4

auth = Auth()


@auth.authenticate
async def who(headers: dict[bytes, bytes]) -> dict[str, Any]:
    """Take the caller's word for it: this is a test. The user has a token, as in LangGraph's guide to auth."""
    token = headers.get(b"authorization", b"").decode()
    return {"identity": headers.get(b"x-user", b"nobody").decode(), "token": token}


@auth.on.threads
async def owned(ctx: Any, value: dict[str, Any]) -> dict[str, str]:
    """Threads are their owner's, as the server's own example has it."""
    owner = {"owner": ctx.user.identity}
    value.setdefault("metadata", {}).update(owner)
    return owner


class Slow(GenericFakeChatModel):
    """Says its message word by word."""

    async def _astream(self, *arguments: Any, **named: Any) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in super()._astream(*arguments, **named):
            await asyncio.sleep(WORD_SECONDS)
            yield chunk


async def step(state: MessagesState) -> dict[str, Any]:
    """Make one step of a run, a node as any other; the last one says all that were made."""
    asked = str(state["messages"][-1].content)
    await asyncio.sleep(STEP_SECONDS)
    made[asked].append(f"step-{len(made[asked]) + 1}")
    return {"messages": [AIMessage(" ".join(made[asked]))]} if len(made[asked]) == STEPS else {}


made: dict[str, list[str]] = defaultdict(list)


def by_message(state: MessagesState) -> str:
    """Choose the next node."""
    newest = state["messages"][-1]
    return "step" if newest.type == "human" and str(newest.content).startswith("long") else "answer"


async def answer(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    """Do what the first word of the newest message says."""
    asked = str(state["messages"][-1].content)
    if asked.startswith("refund"):
        return {"messages": [AIMessage("It is paid back." if interrupt("refund") else "It is not paid back.")]}
    if asked.startswith("ask"):
        return {"messages": [AIMessage(f"It goes to {interrupt('Where does it go?')}.")]}
    if asked.startswith("behalf"):
        _, owner, _ = config["configurable"]["langgraph_auth_user"]["token"].split(".")
        return {"messages": [AIMessage(f"2 letters for {owner}.")]}
    if asked.startswith("slow"):
        model = Slow(messages=iter([AIMessage(" ".join(["word"] * WORDS))]))
        return {"messages": [await model.ainvoke(state["messages"])]}
    return {"messages": [AIMessage(f"You wrote: {asked}")]}


graph = (
    StateGraph(MessagesState)
    .add_node("answer", answer)
    .add_node("step", step)
    .add_conditional_edges(START, by_message, ["answer", "step"])
    .add_conditional_edges("step", lambda state: "step" if by_message(state) == "step" else END, ["step", END])
    .compile()
)

if __name__ == "__main__":
    os.environ |= {
        "LANGSERVE_GRAPHS": json.dumps({"Assistant": f"{__file__}:graph"}),
        "LANGGRAPH_AUTH": json.dumps({"path": f"{__file__}:auth"}),
        "LANGGRAPH_RUNTIME_EDITION": "inmem",
        "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
        "MIGRATIONS_PATH": "__inmem",
        "DATABASE_URI": ":memory:",
        "REDIS_URI": "fake",
        "LANGSMITH_TRACING": "false",
    }
    from langgraph_api.server import app

    serve(app)
