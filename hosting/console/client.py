"""`AgentClient` and `AsyncAgentClient`: agents that workers elsewhere host, called from any program.

A client starts runs as an HTTP request does: it appends to the thread's log, signals the entity and waits for the log.
So it names the log that the workers name, and what it started continues without it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from agent_framework import AgentResponse
from durabletask.client import AsyncTaskHubGrpcClient, TaskHubGrpcClient
from msgspec.structs import replace

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.entity.called_run import AgentCall, AgentRunError, answer_text, read_answer
from hosting.core.entity.proxy import DurableAgent
from hosting.core.request.contents import limits_of
from hosting.core.request.fields import carried_request
from hosting.core.services import Services
from hosting.core.thread.run_request import StartRun
from hosting.errors import ConfigurationError, InvalidFieldError
from hosting.http.run_call import read_busy
from hosting.model_options import OPTIONS
from hosting.names import BUSY, check_agent_name, new_id
from hosting.ports import Wait
from hosting.principal import Caller, Principal
from hosting.settings import read_settings
from hosting.store_choice import choose_stores
from hosting.task_hub import TaskHubClient

CONSOLE_HUB = "console"
"""The default prefix of console hosts' stores."""

_THREADS = 4
T = TypeVar("T")


class AsyncAgentClient:
    """Calls agents from an event loop: `await client.get_agent("writer").run("...")`.

    Settings are those of an app, read from `environ`, relative paths below `folder`; a log in memory, which no
    worker shares, is refused by `ConfigurationError`. Belongs to one event loop; close it there.
    """

    def __init__(
        self,
        client: AsyncTaskHubGrpcClient,
        *,
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
        hub: str = CONSOLE_HUB,
    ) -> None:
        """Wrap a client of the SDK, which stays its owner's to close; `hub` is as the workers have it."""
        self._caller = _Caller[Coroutine[Any, Any, AgentResponse[Any]]](client, environ, folder, hub, lambda run: run)

    def get_agent(
        self, name: str, *, owner: Principal | None = None
    ) -> DurableAgent[Coroutine[Any, Any, AgentResponse[Any]]]:
        """Return the agent of that name; only the workers know which there are. Raises `ConfigurationError`.

        Threads are the `owner`'s; without one they are the app's.
        """
        return DurableAgent(check_agent_name(name, has_owners=owner is not None), "", self._caller, None, owner)

    async def close(self) -> None:
        """Release the log; started runs continue."""
        await self._caller.close()

    async def __aenter__(self) -> Self:
        """Return this client."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close it."""
        await self.close()


class AgentClient:
    """Calls agents from any thread, each call waiting for its response: `client.get_agent("writer").run("...")`.

    The rest is as with `AsyncAgentClient`.
    """

    def __init__(
        self,
        client: TaskHubGrpcClient,
        *,
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
        hub: str = CONSOLE_HUB,
    ) -> None:
        """Wrap a client of the SDK, which stays its owner's to close; `hub` is as the workers have it."""
        self._loop = AgentLoop(_THREADS)
        self._caller = _Caller[AgentResponse[Any]](client, environ, folder, hub, self._loop.result_of)

    def get_agent(self, name: str, *, owner: Principal | None = None) -> DurableAgent[AgentResponse[Any]]:
        """Return the agent of that name; only the workers know which there are. Raises `ConfigurationError`.

        Threads are the `owner`'s; without one they are the app's.
        """
        return DurableAgent(check_agent_name(name, has_owners=owner is not None), "", self._caller, None, owner)

    def close(self) -> None:
        """Release the log; started runs continue."""
        self._loop.result_of(self._caller.close())
        self._loop.close()

    def __enter__(self) -> Self:
        """Return this client."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()


class _Caller(Generic[T]):
    """Starts a run and waits for it, for the proxies of agents; `deliver` makes their return value of its coroutine."""

    orchestration_id = None

    def __init__(
        self,
        client: AsyncTaskHubGrpcClient | TaskHubGrpcClient,
        environ: Mapping[str, str] | None,
        folder: Path | None,
        hub: str,
        deliver: Callable[[Coroutine[Any, Any, AgentResponse[Any]]], T],
    ) -> None:
        self._deliver = deliver
        environ = os.environ if environ is None else environ
        self._settings = settings = read_settings(environ)
        if settings.log == "memory":
            raise ConfigurationError(
                "AGENT_LOG is 'memory', which clients cannot share with workers. Set it to the log of the workers."
            )
        self._engine = TaskHubClient(client)
        self._limits = limits_of(None, settings)
        stores = choose_stores(settings, folder or Path.cwd(), environ, hub)
        self._services = Services(stores, settings, AgentLoop(_THREADS))

    def new_id(self) -> str:
        return new_id()

    def call(self, call: AgentCall, fields: Mapping[str, Any]) -> T:
        return self._deliver(self._response(call, fields))

    async def _response(self, call: AgentCall, fields: Mapping[str, Any]) -> AgentResponse[Any]:
        """Return the response; raises `AgentRunError` for a run that ends otherwise, or not within the wait."""
        if OPTIONS in fields:
            raise InvalidFieldError(
                "A client cannot give options of the model: it does not know which ones the agent leaves to callers. "
                "Call the agent in an orchestration, or over HTTP."
            )
        request, busy = carried_request(fields, self._limits), read_busy({BUSY: "queue", **fields}, {})
        start = StartRun(request, call.thread_id, Wait(), busy=busy)
        runs, seconds = self._services.runs, self._settings.wait_seconds
        started = await runs.start(call.agent, start, Caller.of(self._engine, call.owner))
        run = await runs.wait_through(started.run, self._engine, seconds)
        run_call = replace(call, run_id=run.run_id)
        if (end := run.end) is None:
            raise AgentRunError(run_call, "run_pending", f"The run continues after {seconds:g} s (AGENT_WAIT_SECONDS).")
        return read_answer(run_call, answer_text(run, end))

    async def close(self) -> None:
        await self._services.close()
