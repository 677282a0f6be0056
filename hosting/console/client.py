"""`AgentClient` and `AsyncAgentClient`: agents that workers elsewhere host, called from any program.

Theory. A client starts runs as an HTTP request does: it opens the run's log, signals the entity and waits for the log.
So it names the run log that the workers name, and what it started goes on without it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from agent_framework import AgentResponse
from durabletask.client import AsyncTaskHubGrpcClient, TaskHubGrpcClient
from typing_extensions import Self

from hosting.agent.loop import AgentLoop
from hosting.calling.called_answer import AgentRunError, Call, answer_text, read_answer
from hosting.calling.proxy import DurableAgent
from hosting.console.engine import TaskHubEntityClient
from hosting.errors import ConfigurationError
from hosting.identity import new_id
from hosting.names import check_agent_name
from hosting.ports import EntityClient
from hosting.request.limits import limits_of
from hosting.request.run_call import RunCall, Wait
from hosting.request.run_request import carried_request
from hosting.run.runs import Runs
from hosting.runlog.choice import choose_store
from hosting.runlog.log import RunLog
from hosting.settings import Settings, read_settings

_THREADS = 4


class AsyncAgentClient:
    """Calls agents from an event loop: `await client.get_agent("writer").run("...")`.

    Settings are those of an app, read from `environ`, relative paths below `folder`; a run log in memory, which no
    worker shares, is refused by `ConfigurationError`. Belongs to one event loop; close it there.
    """

    def __init__(
        self, client: AsyncTaskHubGrpcClient, *, environ: Mapping[str, str] = os.environ, folder: Path | None = None
    ) -> None:
        """Wrap a client of the SDK, which stays its owner's to close."""
        self._caller = _AsyncCaller(_Calls(TaskHubEntityClient(client), environ, folder))

    def get_agent(self, name: str) -> DurableAgent[Coroutine[Any, Any, AgentResponse[Any]]]:
        """Return the agent of that name; which there are, the workers alone know. Raises `ConfigurationError`."""
        return DurableAgent(check_agent_name(name), "", self._caller)

    async def close(self) -> None:
        """Let go of the run log; what was started goes on."""
        await self._caller.calls.close()

    async def __aenter__(self) -> Self:
        """Return this client."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()


class AgentClient:
    """Calls agents from any thread, each call waiting for its response: `client.get_agent("writer").run("...")`.

    The rest is as with `AsyncAgentClient`.
    """

    def __init__(
        self, client: TaskHubGrpcClient, *, environ: Mapping[str, str] = os.environ, folder: Path | None = None
    ) -> None:
        """Wrap a client of the SDK, which stays its owner's to close."""
        self._caller = _SyncCaller(_Calls(TaskHubEntityClient(client), environ, folder))

    def get_agent(self, name: str) -> DurableAgent[AgentResponse[Any]]:
        """Return the agent of that name; which there are, the workers alone know. Raises `ConfigurationError`."""
        return DurableAgent(check_agent_name(name), "", self._caller)

    def close(self) -> None:
        """Let go of the run log; what was started goes on."""
        self._caller.close()

    def __enter__(self) -> Self:
        """Return this client."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        self.close()


class _Calls:
    """Starts a run and waits for it."""

    def __init__(self, engine: EntityClient, environ: Mapping[str, str], folder: Path | None) -> None:
        self._settings = _shared(read_settings(environ))
        self._limits = limits_of(None, self._settings)
        self._engine = engine
        self._log = RunLog(choose_store(self._settings, folder or Path.cwd(), environ))
        self._runs = Runs(self._log, self._settings, time.time)

    async def response(self, call: Call, fields: Mapping[str, Any]) -> AgentResponse[Any]:
        """Return the response; raises `AgentRunError` for a run that ends otherwise, or not within the wait."""
        request = carried_request(fields, self._limits)
        asked = RunCall(request, call.thread_id, Wait(), form="json", idempotency_key=None)
        started = await self._runs.start(call.agent, asked, self._engine)
        record = await self._runs.wait(started.record, self._engine, self._settings.wait_seconds)
        named = replace(call, run_id=record.run_id)
        if record.terminal is None:
            seconds = self._settings.wait_seconds
            raise AgentRunError(named, "run_pending", f"The run goes on after {seconds:g} s (AGENT_WAIT_SECONDS).")
        return read_answer(named, answer_text(record, record.terminal))

    async def close(self) -> None:
        await self._log.close()


class _AsyncCaller:
    """A program with an event loop, as the caller of a proxy."""

    orchestration_id = None

    def __init__(self, calls: _Calls) -> None:
        self.calls = calls

    def new_id(self) -> str:
        """Return a fresh id."""
        return new_id()

    def call(self, call: Call, fields: Mapping[str, Any]) -> Coroutine[Any, Any, AgentResponse[Any]]:
        """Return what gives the response when it is awaited."""
        return self.calls.response(call, fields)


class _SyncCaller:
    """A program without one: its calls are made on a loop in a thread of their own."""

    orchestration_id = None

    def __init__(self, calls: _Calls) -> None:
        self._calls = calls
        self._loop = AgentLoop(_THREADS)

    def new_id(self) -> str:
        """Return a fresh id."""
        return new_id()

    def call(self, call: Call, fields: Mapping[str, Any]) -> AgentResponse[Any]:
        """Return the response once it is there."""
        return self._loop.result_of(self._calls.response(call, fields))

    def close(self) -> None:
        """Let go of the run log and end the thread."""
        self._loop.result_of(self._calls.close())
        self._loop.close()


def _shared(settings: Settings) -> Settings:
    if settings.run_log == "memory":
        raise ConfigurationError(
            "AGENT_RUN_LOG is 'memory', which no worker shares with a client. Name the run log of the workers."
        )
    return settings
