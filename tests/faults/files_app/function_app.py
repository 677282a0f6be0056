"""An agent of the harness whose process stands still where a test wants it: in a write of a file, or behind its record.

The message is that point, `write` or `recorded`, or `read`. Another agent has files of all its owner's threads, and
stands behind each write at the point `shared`. STANDS is the file with a line for each time that it stood
there, and it stands until the file GOES_ON is there. MODEL is the file with a line for each call of the model.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FileAccessProvider,
    FileSystemAgentFileStore,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    create_harness_agent,
)

import hosting.app
from hosting.features.files.owned import OwnedFiles
from hosting.features.files.store import SessionFiles
from hosting.offline.model import OfflineChatClient

STANDS, GOES_ON, MODEL = (Path(os.environ[name]) for name in ("STANDS", "GOES_ON", "MODEL"))
NOTE = "plan.md"
ROUTE = "Kilometre by kilometre. " * 100
KEPT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("todos_add", {"todos": [{"title": "Book the train"}]}),
    ("file_memory_write", {"file_name": NOTE, "content": f"{ROUTE}Paris"}),
    ("file_memory_replace", {"file_name": NOTE, "old_string": "Paris", "new_string": "Paris, Paris"}),
    ("file_memory_write", {"file_name": "hotel.md", "content": "Near the station"}),
)
SEEN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("todos_get_all", {}),
    ("file_memory_read", {"file_name": NOTE}),
    ("file_memory_read", {"file_name": "hotel.md"}),
)


async def stand(point: str) -> None:
    """Stand still there until the test has killed this process, or lets all go on."""
    with STANDS.open("a", encoding="utf-8") as file:
        file.write(f"{point}\n")
    while not GOES_ON.exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.05)


class _Planner(BaseChatClient[Any]):
    """Calls the tools one after the other, and ends with the results."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        answer = self._answer(messages)
        return self._build_response_stream(_streamed(answer)) if stream else answer

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        asked = max(n for n, message in enumerate(messages) if message.text in ("write", "recorded", "read"))
        results = [content for message in messages[asked:] for content in message.contents if content.result]
        with MODEL.open("a", encoding="utf-8") as file:
            file.write(f"{messages[asked].text} {len(results)}\n")
        plan = SEEN if messages[asked].text == "read" else KEPT
        if messages[asked].text == "recorded" and len(results) == len(KEPT):
            await stand("recorded")
        if len(results) == len(plan):
            return ChatResponse(messages=Message("assistant", ["\n".join(str(item.result) for item in results)]))
        name, arguments = plan[len(results)]
        called = Content.from_function_call(f"call-{len(results)}", name, arguments=arguments)
        return ChatResponse(messages=Message("assistant", [called]))


class PlannersClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], _Planner):
    """The model with function invocation and middleware."""


async def _streamed(answer: Awaitable[ChatResponse[Any]]) -> AsyncIterator[ChatResponseUpdate]:
    for message in (await answer).messages:
        yield ChatResponseUpdate(role="assistant", contents=message.contents)


class StandingFiles(SessionFiles):
    """Files that stand still behind the write of the last one."""

    async def write(self, path: str, content: str, *, overwrite: bool = True) -> None:
        await super().write(path, content, overwrite=overwrite)
        if path.endswith("hotel.md"):
            await stand("write")


if os.environ["POINT"] == "write":
    import hosting.features.files.provider

    hosting.features.files.provider.SessionFiles = StandingFiles  # type: ignore[misc]


class StandingOwned(OwnedFiles):
    """Files of owners that stand still behind each write."""

    async def write(self, *arguments: Any, **options: Any) -> None:
        await super().write(*arguments, **options)
        await stand("shared")


if os.environ["POINT"] == "shared":
    import hosting.features.files.owned

    hosting.features.files.owned.OwnedFiles = StandingOwned  # type: ignore[misc]
access = FileAccessProvider(
    FileSystemAgentFileStore("deployed"), disable_readonly_tool_approval=True, disable_write_tool_approval=True
)
keeper = Agent(OfflineChatClient(), name="Keeper", context_providers=[access])
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
app = hosting.app.AgentFunctionApp(agents=[create_harness_agent(PlannersClient(), name="Planner"), keeper])
