"""`AgentWorker`: agents on a worker of the `durabletask` SDK, in a process of your own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from agent_framework import SupportsAgentRun
from durabletask.client import TaskHubGrpcClient
from durabletask.task import OrchestrationContext
from durabletask.worker import TaskHubGrpcWorker
from typing_extensions import Self

from hosting.agent.loop import AgentLoop
from hosting.app_stores import choose_stores
from hosting.calling.proxy import DurableAgent
from hosting.console.engine import TaskHubEntityClient, TaskHubOrchestrations
from hosting.console.entity import ServedEntity, register_entity
from hosting.console.orchestrations import AgentTask, CallingOrchestration
from hosting.entity.entities import Entities
from hosting.entity.expiry import checked_ttl
from hosting.entity.settling import Settling
from hosting.entity.sweep import Sweep, Swept
from hosting.plan import Plan
from hosting.process.time_limit import TimeLimit
from hosting.retry import Retry
from hosting.settings import read_settings


class AgentWorker:
    """Hosts agents on any worker of the SDK; orchestrations and activities are added to that worker as ever.

    Settings are those of an app (docs/settings.md), read from `environ`; stores with relative paths are below `folder`.
    Wrong agents, names and settings raise `hosting.errors.ConfigurationError`. Use it as a context manager, or call
    `start` and `stop`.
    """

    def __init__(
        self,
        worker: TaskHubGrpcWorker,
        *,
        client: TaskHubGrpcClient | None = None,
        environ: Mapping[str, str] = os.environ,
        folder: Path | None = None,
    ) -> None:
        """Wrap a worker that has not been started; with a `client` of the same engine tools reach orchestrations."""
        self._orchestrations = None if client is None else TaskHubOrchestrations(client)
        self._settings = settings = read_settings(environ)
        folder = folder or Path.cwd()
        self._worker = worker
        self._plan = Plan()
        self._ttls: dict[str, float] = {}
        self._time_limit = TimeLimit(settings.run_timeout_seconds, None)
        self._stopping = threading.Event()
        self._loop = AgentLoop(settings.tool_threads)
        self._stores = choose_stores(settings, folder, environ)
        self._entities = Entities(settings, self._loop, self._stores)

    @property
    def agents(self) -> dict[str, SupportsAgentRun]:
        """The registered agents by name."""
        return self._plan.by_name()

    def add_agent(
        self,
        agent: SupportsAgentRun,
        *,
        run_timeout_seconds: float | None = None,
        ttl_seconds: float | None = None,
        retry: Retry | None = None,
    ) -> None:
        """Register one agent; None means as the settings say."""
        planned = self._plan.add(agent, http=False, mcp=False)
        seconds = self._time_limit.of(planned.name, run_timeout_seconds)
        ttl = checked_ttl(planned.name, ttl_seconds, self._settings.thread_ttl_seconds)
        entity = self._entities.of(planned, seconds, ttl, retry)
        served = ServedEntity(entity, self._loop, self._stopping, self._orchestrations)
        register_entity(self._worker, planned.name, served)
        if ttl is not None:
            self._ttls[planned.name] = ttl

    def get_agent(
        self, context: OrchestrationContext, name: str, *, retry: Retry | None = None
    ) -> DurableAgent[AgentTask]:
        """Return a registered agent for use inside an orchestrator; raises `UnknownAgentError` for any other name.

        `retry` is for runs that are given none; without it they have the agent's own.
        """
        planned = self._plan.known(name)
        return DurableAgent(planned.name, planned.description, CallingOrchestration(context), retry)

    def sweep(self, client: TaskHubGrpcClient) -> Swept:
        """Have threads whose time to live is up delete themselves; to be called now and then, by one process at least.

        Raises `EngineUnavailableError` and `LogUnavailableError`; what was asked until then stays asked.
        """
        sweep = Sweep(self._ttls, time.time, Settling(self._stores.log))
        return self._loop.result_of(sweep.run(TaskHubEntityClient(client)))

    def start(self) -> None:
        """Begin to take work, on threads of the SDK; returns at once."""
        self._worker.start()

    def stop(self) -> None:
        """Take no more work, return once what runs has ended, and close what agents and stores hold open."""
        self._stopping.set()
        self._worker.stop()
        self._loop.result_of(self._stores.log.close())
        self._loop.close()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop."""
        self.stop()
