"""An agent whose tool reports the progress of its run, as a test has it, and whose middleware and model note theirs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from agent_framework import Agent, tool

from hosting.tools import ToolCall, current
from tests.support.steered import Gate, RoundsClient, passed

Reports = Callable[[ToolCall], Any]


class Reporting:
    """The agent. `report` is called in its tool with the call, and `gate` holds the tool back behind that.

    `client.shown` is what its model got. Of `rounds` tool calls each is a step.
    """

    def __init__(
        self, report: Reports, *, name: str = "Echo", rounds: int = 1, gate: type[Gate] = threading.Event
    ) -> None:
        self.gate, self.reported = gate(), gate()
        self.raised: list[Exception] = []
        self.client = RoundsClient()
        self.client.rounds, self.client.shown, self.client.gate = rounds, [], gate()
        self.client.gate.set()

        @tool(name="work")
        async def work() -> str:
            try:
                result = report(current())
                if result is not None:
                    await result
            except (LookupError, ValueError) as error:
                self.raised.append(error)
            self.reported.set()
            await passed(self.gate)
            return "worked"

        self.agent = Agent(self.client, name=name, tools=[work])

    @property
    def shown(self) -> str:
        """All that the model got."""
        return json.dumps(self.client.shown)
