"""`AgentWorker`: agents on a worker of the `durabletask` SDK, in a process of your own."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from agent_framework import SupportsAgentRun
from durabletask.client import TaskHubGrpcClient
from durabletask.task import OrchestrationContext
from durabletask.worker import TaskHubGrpcWorker

from hosting.console.client import CONSOLE_HUB
from hosting.console.durable import CallingOrchestration, ServedEntity
from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.time_limits import TimeLimit
from hosting.core.entity.proxy import DurableAgent
from hosting.core.entity.thread_entity import ThreadEntity
from hosting.core.retention import DAY_SECONDS
from hosting.core.services import Services
from hosting.core.sweeps import Sweep, Swept, sweeps_of
from hosting.names import entity_name
from hosting.options import AgentOptions, Retry
from hosting.plan import Plan
from hosting.principal import Principal
from hosting.settings import read_settings
from hosting.store_choice import choose_stores
from hosting.task_hub import AgentTask, TaskHubClient


class AgentWorker:
    """Hosts agents on any worker of the SDK; add orchestrations and activities to that worker as usual.

    Settings are those of an app (settings.md) without those of its features, read from `environ`; stores with relative
    paths are below `folder`. Wrong agents, names and settings raise `hosting.errors.ConfigurationError`. Use it as a
    context manager, or call `start` and `stop`.
    """

    def __init__(
        self,
        worker: TaskHubGrpcWorker,
        *,
        client: TaskHubGrpcClient | None = None,
        environ: Mapping[str, str] = os.environ,
        folder: Path | None = None,
        hub: str = CONSOLE_HUB,
    ) -> None:
        """Wrap a worker that has not been started; with a `client` of the same engine tools reach orchestrations.

        The names of all that is stored begin with `hub`: apps that share a store have different ones, and clients
        have the worker's.
        """
        self._engine = None if client is None else TaskHubClient(client)
        self._settings = settings = read_settings(environ)
        folder = folder or Path.cwd()
        self._worker = worker
        self._plan = Plan()
        self._ttls: dict[str, float] = {}
        self._time_limit = TimeLimit.of_app(settings, None)
        self._stopping = threading.Event()
        self._loop = AgentLoop(settings.tool_threads)
        stores, attempts = choose_stores(settings, folder, environ, hub), self._time_limit.attempts
        self._services = Services(stores, settings, self._loop, attempts=attempts)

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
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Register one agent; None means as the settings say, and no options of its model for callers."""
        own = AgentOptions(
            run_timeout_seconds=run_timeout_seconds, ttl_seconds=ttl_seconds, retry=retry, model_options=options
        )
        planned = self._plan.add(agent, own.over(AgentOptions(ttl_seconds=self._settings.thread_ttl_seconds)))
        self._services.hold(planned, self._time_limit.of(planned.name, run_timeout_seconds))
        entity = ThreadEntity(planned, self._services)
        served = ServedEntity(entity, self._loop, self._stopping, self._engine)
        self._worker.add_entity(served.operate, name=entity_name(planned.name))
        if planned.options.ttl_seconds:
            self._ttls[planned.name] = planned.options.ttl_seconds

    def get_agent(
        self,
        context: OrchestrationContext,
        name: str,
        *,
        retry: Retry | None = None,
        owner: Principal | None = None,
    ) -> DurableAgent[AgentTask]:
        """Return a registered agent for use inside an orchestrator; raises `UnknownAgentError` for any other name.

        `retry` is for runs that are given none; without it they have the agent's own. Threads are the `owner`'s, the
        same at every replay; without one they are the app's.
        """
        planned = self._plan.known(name)
        return DurableAgent(planned.name, planned.description, CallingOrchestration(context), retry, owner)

    def sweep(self, client: TaskHubGrpcClient) -> Swept:
        """Do the work of an app's timers; call it now and then, in one process at least.

        Threads delete themselves after their time to live; those that were not used for AGENT_LOG_DAYS remove old
        events; threads erase uploads to which nothing refers; those that were deleted AGENT_RECEIPT_DAYS ago are
        forgotten; runs that no process took up are signalled for. Raises `EngineUnavailableError`,
        `LogUnavailableError` and `AttachmentsUnavailableError`; work begun until then continues.
        """
        hub, services, days = TaskHubClient(client), self._services, self._settings.log_days
        expiring = Sweep("expire", lambda: self._ttls, services.purging, services.rotation("expire"))
        ages = dict.fromkeys(self.agents, days * DAY_SECONDS)
        trimming = Sweep("trim", lambda: ages, services.purging, services.rotation("trim"))
        for companions in sweeps_of(services, self._plan.by_name):
            self._loop.result_of(companions.run(hub))
        self._loop.result_of(self._services.promise_sweep(self._plan.by_name).run(hub))
        swept = [self._loop.result_of(sweep.run(hub)) for sweep in (expiring, trimming)]
        return Swept(sum(result.signalled for result in swept), all(result.is_complete for result in swept))

    def start(self) -> None:
        """Begin to take work, on threads of the SDK; returns at once."""
        self._worker.start()

    def stop(self) -> None:
        """Take no more work, return when running work has ended, and close agents and stores."""
        self._stopping.set()
        self._worker.stop()
        self._loop.result_of(self._services.drain(0.0))
        self._loop.result_of(self._services.close())
        self._loop.close()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop."""
        self.stop()
