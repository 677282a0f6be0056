"""An agent that works in rounds of a tool, whose model says at last what it was shown: for messages that join a run."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_framework import (
    Agent,
    ChatResponse,
    Content,
    Message,
)

from hosting.tools import idempotent
from tests.support.answering import AnsweringClient, calls, says

ROUNDS = 2
Gate = threading.Event | asyncio.Event
"""Closed until it is set: by another thread, or in the agent's own loop."""


async def passed(gate: Gate) -> None:
    """Wait until a gate is open."""
    if isinstance(gate, asyncio.Event):
        await gate.wait()
        return
    while not await asyncio.to_thread(gate.wait, 0.005):
        pass


class RoundsClient(AnsweringClient):
    """Asks for the tool so many `rounds`, then answers with all that it was shown; `shown` has that of each call.

    It stands at its `gate` before each answer while that is closed.
    """

    rounds: int = ROUNDS
    shown: list[list[str]]
    gate: Gate

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        shown = [*map(said, messages)]
        self.shown.append(shown)
        await passed(self.gate)
        results = 0
        for word in shown:
            results = 0 if word.startswith("assistant:") else results + (word == "tool")
        if results == self.rounds:
            return says(json.dumps(shown))
        return says(calls("work", f"call-{len(shown)}"))

    def pieces(self, content: Content) -> list[Content]:
        return [content]


def said(message: Message) -> str:
    """Return a message as a word: `tool` and `call` for a tool's result and its call, else its role and text."""
    kinds = {content.type for content in message.contents}
    if "function_result" in kinds:
        return "tool"
    return "call" if "function_call" in kinds else f"{message.role}: {message.text}"


class FileGate(threading.Event):
    """A gate that is open once there is the file, which another process makes."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def wait(self, timeout: float | None = None) -> bool:
        """Return whether it is open; after so long, if it is not."""
        if not self._path.exists():
            time.sleep(timeout or 0)
            return False
        return True


class Working:
    """The agent, and its tool, which stands at its `gate` in each `round`, counted from 1, while that is closed."""

    def __init__(
        self, name: str = "Echo", rounds: int = ROUNDS, *, gate: type[Gate] = threading.Event, **options: Any
    ) -> None:
        self.gate: Gate = gate()
        self.round = 0
        self.client = RoundsClient()
        self.client.rounds, self.client.shown, self.client.gate = rounds, [], gate()
        self.client.gate.set()

        @idempotent
        async def work() -> str:
            self.round += 1
            await passed(self.gate)
            return "worked"

        self.agent = Agent(self.client, name=name, tools=[work], **options)

    def open(self) -> None:
        """Let the tool and the model go on."""
        self.gate.set()
        self.client.gate.set()

    async def at_work(self, number: int = 1) -> None:
        """Wait until the tool is in that round."""
        await until(lambda: self.round == number)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so, under a guard of five seconds."""

    async def look() -> None:
        while not is_so():  # noqa: ASYNC110 - the agent works in another loop
            await asyncio.sleep(0.005)

    await asyncio.wait_for(look(), 5)
