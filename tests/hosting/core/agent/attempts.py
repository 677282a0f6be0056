"""One attempt of an agent, without a thread or a log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agent_framework import Message

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentRunner, Attempt, AttemptOutcome
from hosting.core.thread.messages import request_messages
from hosting.core.thread.run_request import RunRequest

GUARD_SECONDS = 5.0


def attempt(
    message: str = "hi",
    *,
    run_id: str = "r-1",
    request: RunRequest | None = None,
    history: Sequence[str] = (),
    **more: Any,
) -> Attempt:
    """Return what one attempt of a run needs, behind messages that a user sent before."""
    request = request or RunRequest(message=message)
    before = [Message("user", [text]) for text in history]
    for number, past in enumerate(before):
        past.additional_properties["_thread_position"] = (number + 1, 0)
    return Attempt(run_id, "t", request, request_messages(request), before, session=None, **more)


async def outcome_of(
    agent: Any, loop: AgentLoop, made: Attempt | None = None, seconds: float = GUARD_SECONDS
) -> AttemptOutcome:
    """Run one attempt of an agent under the guard."""
    return await asyncio.wait_for(AgentRunner(agent, "Joker", loop).run(made or attempt(), seconds), GUARD_SECONDS)
