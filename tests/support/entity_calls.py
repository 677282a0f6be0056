"""Runs that an orchestration without an owner would ask for, on the app called without a host."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hosting.core.entity.proxy import DurableAgent
from hosting.names import new_id
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.noted import Noted, NotingOrchestration


async def call_agent(host: DirectHost, agent: str, thread_id: str, message: str, **fields: Any) -> dict[str, Any]:
    """Have the app's agent answer on one of the app's own threads, and return the answer's fields."""
    proxy: DurableAgent[Noted] = DurableAgent(agent, "", NotingOrchestration())
    noted = proxy.run(message, session=proxy.get_session(thread_id))
    order = {**noted.fields, "correlationId": new_id(), "orchestrationId": None, **fields}
    answer = await host.entities.call(f"dafx-{agent.lower()}", thread_id, "run", order)
    assert not answer["isError"], answer
    await asyncio.wait_for(host.entities.idle(), GUARD_SECONDS)
    return dict(json.loads(json.loads(answer["result"])))
