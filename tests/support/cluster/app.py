"""The app as a process of a cluster has it: over the cluster's stores, with its agents on the loop of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from agent_framework import AgentResponse, AgentResponseUpdate, Content, Message

from hosting.app import AgentFunctionApp
from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.time_limits import TimeLimit
from hosting.core.services import Services
from hosting.core.stores.stores import Stores
from hosting.functions.shutdown import Shutdown
from hosting.host_settings import function_timeout_seconds
from hosting.settings import is_developers

AGENT = "Echo"
T = TypeVar("T")


class EchoAgent:
    """Says what it was asked, word by word when streamed; it has answered the `turns` that it was given.

    While its `gate` is closed it thinks. It raises what it `fails` with, one at a time, and `asks` for approval of
    calls by these ids, once.
    """

    id = name = AGENT
    description = None

    def __init__(self) -> None:
        self.turns: list[list[str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails: list[Exception] = []
        self.asks: list[str] = []

    def run(self, messages: Any = None, *, stream: bool = False, session: Any = None, **options: Any) -> Any:
        """Answer, at once or in words."""
        texts = [message.text for message in messages]
        return self._words(texts) if stream else self._answer(texts)

    async def _answer(self, texts: list[str]) -> AgentResponse[Any]:
        await self._begin(texts)
        requested, self.asks = self.asks, []
        calls = [Content.from_function_call(call_id=name, name="pay", arguments="{}") for name in requested]
        requests = [Content.from_function_approval_request(str(call.call_id), call) for call in calls]
        asking = [Message("assistant", [*calls, *requests])] if requests else []
        return AgentResponse(messages=asking or self.says(texts[-1]))

    def says(self, text: str) -> list[Message]:
        """Return the answer to a text."""
        return [Message("assistant", [Content.from_text(f"echo: {text}")])]

    async def _words(self, texts: list[str]) -> Any:
        for word in ("echo:", f" {texts[-1]}"):
            yield AgentResponseUpdate(contents=[Content.from_text(word)], role="assistant")
            await asyncio.sleep(0.01)
        await self._begin(texts)

    async def _begin(self, texts: list[str]) -> None:
        self.turns.append(texts)
        await self.gate.wait()
        if self.fails:
            raise self.fails.pop(0)


class AgentsHere(AgentLoop):
    """Runs agents on the loop of the test: nothing happens beside it, and time stands while an agent works."""

    def submit(self, work: Coroutine[Any, Any, T]) -> Any:
        """Begin the work."""
        return asyncio.run_coroutine_threadsafe(work, asyncio.get_running_loop())


class Unannounced(Shutdown):
    """Leaves the signals that end a process to the process of the tests."""

    def _watch(self) -> None:
        """Watch nothing."""


class ClusterApp(AgentFunctionApp):
    """An app over these stores; `bounds` are those of its `Services`."""

    def __init__(self, stores: Stores, bounds: Mapping[str, Any], **options: Any) -> None:
        self._stores, self._bounds = stores, bounds
        super().__init__(**options)

    def _make_services(self, folder: Path, environ: Mapping[str, str]) -> Services:
        limit = TimeLimit.of_app(self._settings, function_timeout_seconds(folder, environ))
        self._time_limit = limit
        self._loop = AgentsHere(self._settings.tool_threads, names_causes=is_developers(environ))
        self.shutdown = Unannounced(self._loop.close, self._drain)
        bounds: dict[str, Any] = {
            "admits": (self.shutdown.admit,),
            "turn": self.shutdown.turn,
            "working_seconds": limit.working_seconds,
            "attempts": limit.attempts,
            **self._bounds,
        }
        return Services(self._stores, self._settings, self._loop, **bounds)
