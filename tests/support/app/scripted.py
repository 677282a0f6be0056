"""Agents whose answers a test decides by what it asks: a real framework agent over a small real chat client."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    UsageDetails,
)


class ScriptedModel(BaseChatClient[Any]):
    """Answers `echo: <text>`, or does what the first word of the newest message says.

    fail: raises. sleep S: takes S seconds. block S: blocks the loop. meet N: goes on once N runs are there.
    exit S: ends the process after S seconds. count: says how many messages it saw. recall: says
    all user texts. say TEXT: says just that. see: says the contents of the newest message. formatted: says the
    response_format that it got. tool NAME: calls a tool, if it may; insist NAME: calls it all the same. Each call is
    written to the file named by SCRIPT_LOG, for tests that count attempts from the outside.
    """

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        if stream:
            return self._build_response_stream(self._words(messages, options))
        return self._answer(messages, options)

    async def _words(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        answer = await self._answer(messages, options)
        for content in answer.messages[0].contents:
            words = re.findall(r"\s*\S+|\s+", content.text or "") if content.type == "text" else []
            for output in [Content.from_text(word) for word in words] or [content]:
                yield ChatResponseUpdate(role="assistant", contents=[output], message_id=str(len(messages)))
        if answer.usage_details is not None:
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_usage(answer.usage_details)])

    async def _answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = messages[-1]
        if newest.role == "tool":
            return _says(f"tool said {newest.contents[0].result}")
        word, _, rest = newest.text.partition(" ")
        _note(newest.text)
        if word == "fail":
            raise RuntimeError("a secret of the model")
        if word == "exit":
            await asyncio.sleep(float(rest))
            os._exit(9)
        if word == "sleep":
            await asyncio.sleep(float(rest))
        if word == "meet":
            await meet(int(rest))
            return _says(f"{rest} have met")
        if word == "block":
            time.sleep(float(rest))  # noqa: ASYNC251 - blocking the loop is the point
        if word == "count":
            return _says(str(len(messages)))
        if word == "recall":
            return _says(" | ".join(message.text for message in messages if message.role == "user"))
        if word == "say":
            return _says(rest)
        if word == "see":
            return _says(" ".join(_seen(newest)))
        if word == "formatted":
            return _says(json.dumps({"format": options.get("response_format")}))
        if word == "insist" or (word == "tool" and options.get("tool_choice") != "none"):
            call = Content.from_function_call(call_id="call-1", name=rest, arguments={})
            return ChatResponse(messages=Message("assistant", [call]))
        return _says(f"echo: {newest.text}")


_GATHERED: list[asyncio.Future[None]] = []


async def meet(number: int) -> None:
    """Return once so many calls of this process wait here."""
    _GATHERED.append(asyncio.get_running_loop().create_future())
    mine = _GATHERED[-1]
    if len(_GATHERED) == number:
        for one in _GATHERED:
            one.set_result(None)
        _GATHERED.clear()
    await mine


class ScriptedClient(FunctionInvocationLayer[Any], ScriptedModel):
    """The scripted model with function invocation."""


def _seen(message: Message) -> list[str]:
    """Return role and contents, the latter as kind, a file's name and what they hold."""
    return [str(message.role), *map(_shown, message.contents)]


def _shown(content: Content) -> str:
    name = f"{content.name}:" if content.name and content.uri else ""
    return f"{content.type}:{name}{content.text or content.uri or content.file_id or ''}"


def _says(text: str) -> ChatResponse[Any]:
    usage = UsageDetails(input_token_count=3, output_token_count=4, total_token_count=7)
    return ChatResponse(messages=Message("assistant", [text]), usage_details=usage)


def _note(text: str) -> None:
    if path := os.environ.get("SCRIPT_LOG"):
        with Path(path).open("a", encoding="utf-8") as log:
            log.write(f"{os.getpid()} {text}\n")


def thread_name() -> str:
    """Say on which thread a synchronous tool runs."""
    import threading

    return threading.current_thread().name


def scripted_agent(name: str) -> Agent[Any]:
    """Return an agent of that name over the scripted model."""
    return Agent(ScriptedClient(), "Do as told.", name=name, description=f"The scripted {name}.", tools=[thread_name])
