"""The ready-made workflows of samples/workflow_builders, which all kill their process together, once.

Each waits at its second model call until all of them are there. NOTES has a line for each model call that was made.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sample
from agent_framework import ChatResponse, Message

from hosting.offline.model import complete
from tests.support.answering import AnsweringClient

NOTES = Path(os.environ["NOTES"])
NAMES = ("Sequential", "Concurrent", "Handoff", "GroupChat", "Magentic")
calls: Counter[str] = Counter()


async def meet(messages: Sequence[Message]) -> None:
    """Wait at a second call for those of the others, and end the process with the last of them."""
    said = " ".join(message.text for message in messages).casefold()
    name = next(name for name in NAMES if name.casefold() in said)
    calls[name] += 1
    if calls[name] == 2 and "died" not in NOTES.read_text().splitlines():
        if all(calls[other] > 1 for other in NAMES):
            note("died")
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.Event().wait()
    note(name)


def note(text: str) -> None:
    """Write a line for the outside."""
    with NOTES.open("a") as file:
        file.write(f"{text}\n")


class MeetingClient(AnsweringClient):
    """The offline model, whose calls meet first."""

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        await meet(messages)
        return await complete(messages, options)


NOTES.touch()
sample.client = MeetingClient()
app = sample.app
