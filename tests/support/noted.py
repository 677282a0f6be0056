"""An orchestration that notes the calls of its proxies and sends nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from agent_framework import AgentResponse

from hosting.core.entity.called_run import AgentCall, read_answer
from hosting.core.entity.proxy import DurableAgent


@dataclass(frozen=True)
class Noted:
    """One call: what would be sent, and how its result would be read."""

    call: AgentCall
    fields: Mapping[str, Any]

    def answered(self, text: str, value: object) -> AgentResponse[Any]:
        """Return what the orchestrator gets for an answer of the entity."""
        contents = [{"$type": "text", "text": text}]
        messages = [{"role": "assistant", "contents": contents}]
        entry = {"$type": "response", "createdAt": "2026-01-01T00:00:00Z", "messages": messages}
        return read_answer(self.call, json.dumps({"status": "success", "value": value, "entry": entry}))


class NotingOrchestration:
    """Ids are counted from 1, as a replay counts them."""

    orchestration_id = "o-1"

    def __init__(self) -> None:
        self._ids = count(1)
        self.calls: list[Noted] = []

    def new_id(self) -> str:
        return f"id-{next(self._ids)}"

    def call(self, call: AgentCall, fields: Mapping[str, Any]) -> Noted:
        self.calls.append(Noted(call, fields))
        return self.calls[-1]


def noting_agent(name: str = "writer") -> tuple[DurableAgent[Noted], NotingOrchestration]:
    """Return a proxy, and where its calls are noted."""
    orchestration = NotingOrchestration()
    return DurableAgent(name, "Writes.", orchestration), orchestration
