"""A row's agent as its author runs it without us: agent-framework alone, in one process, with a session of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from typing import Any

from agent_framework import (
    Agent,
    AgentResponse,
    AgentSession,
    Content,
    Message,
    ResponseStream,
    create_always_approve_tool_response,
)

from tests.fidelity.conversation import Told, Turn
from tests.fidelity.features import Setting, agent_of

GUARD_SECONDS = 10.0
MOST_DECISIONS = 4
CALLERS_RESULT = "In Paris."


async def run_plain(setting: Setting, turns: Any) -> list[Told]:
    """Return what the caller was told of each turn."""
    agent = agent_of(setting)
    session = agent.create_session()
    try:
        return [await asyncio.wait_for(_take(agent, session, setting, turn), GUARD_SECONDS) for turn in turns]
    finally:
        if isinstance(agent, Agent):
            await agent.close()


async def _take(agent: Any, session: AgentSession, setting: Setting, turn: Turn) -> Told:
    setting.model.begin_turn(turn.script)
    contents = [Content.from_text(turn.message), *(Content.from_data(data, kind) for kind, data in turn.contents)]
    messages = [Message("user", contents)]
    running = asyncio.create_task(_run(agent, session, setting, messages))
    try:
        if turn.ending == "cancelled":
            setting.model.before_answer = lambda: asyncio.get_running_loop().create_future()
            await setting.model.is_asked(running)
            running.cancel()
            await asyncio.wait((running,))
            setting.model.before_answer = lambda: None
            return Told("cancelled")
        response = await running
        for _ in range(MOST_DECISIONS):
            requests = list(asked(response))
            if not requests:
                break
            answers = [answer_to(setting, request) for request in requests]
            response = await _run(agent, session, setting, answers)
    except Exception as error:
        return Told("failed", f"{type(error).__name__}: {error}"[:200])
    return Told("answered", response.text)


async def _run(agent: Any, session: AgentSession, setting: Setting, messages: list[Message]) -> AgentResponse[Any]:
    if setting.row["carrier"] != "streamed":
        response: AgentResponse[Any] = await agent.run(messages, session=session)
        return response
    updates: AsyncIterable[Any] = agent.run(messages, session=session, stream=True)
    async for _ in updates:
        pass
    assert isinstance(updates, ResponseStream)
    final: AgentResponse[Any] = await updates.get_final_response()
    return final


def asked(response: AgentResponse[Any]) -> Any:
    """Iterate over the approvals that the response asks for, and the calls of tools that are only declared."""
    for content in response.user_input_requests:
        if content.type in {"function_approval_request", "function_call"}:
            yield content


def answer_to(setting: Setting, request: Content) -> Message:
    """Return the message with the person's decision, or with the caller's result of its own tool."""
    if request.type == "function_call":
        return Message("tool", [Content.from_function_result(str(request.call_id), result=CALLERS_RESULT)])
    return Message("user", [decision_of(setting, request)])


def decision_of(setting: Setting, request: Content) -> Content:
    """Return what the person decides."""
    if setting.row["approval"] == "standing":
        return create_always_approve_tool_response(request)
    return request.to_function_approval_response(setting.row["approval"] != "refused")
