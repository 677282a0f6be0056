"""An agent that does what it is told, in a process whose wall clock may be wrong, and tools that the outside counts.

CHARGES is the file with a line for each charge. CLOCK_AHEAD is by how many seconds this process's clock is ahead,
LEASE_SECONDS for how long a holder that says nothing is believed to live. With OWNERS each user has
threads of their own.
"""

from __future__ import annotations

import os
import time

if ahead := float(os.environ.get("CLOCK_AHEAD", "0")):
    right_time = time.time
    time.time = lambda: right_time() + ahead  # before anything of the app asks for the time

import asyncio
import json
import re
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import azure.durable_functions as df
from agent_framework import Agent, ChatResponse, ChatResponseUpdate, Content, Message, tool

import hosting.app
from hosting.core.entity.called_run import AgentRunError
from hosting.principal import Principal, PrincipalRequest
from tests.support.answering import AnsweringClient, says

CHARGES = Path(os.environ["CHARGES"])
LEASE_SECONDS = float(os.environ["LEASE_SECONDS"])
WORD_SECONDS = 0.02


class StormClient(AnsweringClient):
    """Does what the newest message says, `<word> <number> <name>`.

    wait: answers after so many seconds. speak: says so many words, one behind another. charge, refund: calls the tool
    with the name and tells its result. recall: says all user texts that it is shown. Else an echo.
    """

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        for content in (await self.answer(messages, options)).messages[0].contents:
            for word in re.findall(r"\s*\S+", content.text or ""):
                yield ChatResponseUpdate(contents=[Content.from_text(word)], role="assistant")
                await asyncio.sleep(WORD_SECONDS)
            if not content.text:
                yield ChatResponseUpdate(contents=[content], role="assistant")

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = messages[-1]
        if newest.role == "tool":
            return says(" ".join(str(content.result) for content in newest.contents))
        word, number, name = (*newest.text.split(" "), "", "")[:3]
        if word == "wait":
            await asyncio.sleep(float(number))
        if word in ("charge", "refund"):
            return says(Content.from_function_call(f"call-{name}", word, arguments={"name": name}))
        if word == "recall":
            return says(json.dumps([message.text for message in messages if message.role == "user"]))
        if word == "speak":
            return says(" ".join(f"{name}-{n}" for n in range(int(number))))
        return says(f"done: {newest.text}")


def count(what: str) -> None:
    """Tell the outside, in one write."""
    with CHARGES.open("a", encoding="utf-8") as charges:
        charges.write(what + "\n")


@tool
async def charge(name: str) -> str:
    """Charge once."""
    count(name)
    await asyncio.sleep(WORD_SECONDS)
    return f"charged {name}"


@tool(approval_mode="always_require")
async def refund(name: str) -> str:
    """Charge once, when a person has approved."""
    count(name)
    await asyncio.sleep(WORD_SECONDS)
    return f"charged {name}"


def who(request: PrincipalRequest) -> Principal | None:
    name = request.headers.get("x-user")
    return Principal("https://login.example", name) if name else None


hosting.app.Services = partial(hosting.app.Services, lease_seconds=LEASE_SECONDS, margin_seconds=LEASE_SECONDS / 2)
storm = Agent(StormClient(), "Do as told.", name="Storm", tools=[charge, refund])
app = hosting.app.AgentFunctionApp(agents=[storm], principal=who if os.environ.get("OWNERS") else None)


@app.orchestration_trigger(context_name="context")
def bill(context: df.DurableOrchestrationContext) -> Generator[Any, Any, str]:
    """Have the agent charge under the id of the instance, and return what it tells, or the code of its failure."""
    try:
        answer = yield app.get_agent(context, "Storm").run(f"charge 4 {context.instance_id}")
    except AgentRunError as error:
        return error.code
    return answer.text
