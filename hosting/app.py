"""`AgentFunctionApp`: validate, plan, register. Everything else is below."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import azure.durable_functions as df
import azure.functions as func
from agent_framework import SupportsAgentRun

from hosting.agent.loop import AgentLoop
from hosting.app_stores import choose_stores
from hosting.callback.callback_calls import CallbackCalls
from hosting.callback.listeners import Listeners
from hosting.callback.notices import ENTITY, NoticeEntity
from hosting.callback.protocol import AgentResponseCallbackProtocol
from hosting.calling.proxy import DurableAgent
from hosting.entity.entities import Entities
from hosting.entity.expiry import checked_ttl
from hosting.entity.settling import Settling
from hosting.entity.sweep import Sweep
from hosting.errors import ConfigurationError
from hosting.functions.approvals import register_approvals
from hosting.functions.classic import adapt_classic_handler
from hosting.functions.entity import register_entity
from hosting.functions.health import register_health
from hosting.functions.http import NO_AGENT_FUNCTION, register_agent, register_runs
from hosting.functions.mcp import register_tool
from hosting.functions.openapi import register_openapi
from hosting.functions.orchestrations import AgentTask, get_agent
from hosting.functions.sweep import register_retention, register_sweep
from hosting.functions.taken_routes import refuse_taken_routes
from hosting.functions.threads import register_threads
from hosting.names import entity_name, http_function
from hosting.plan import Plan
from hosting.process.safeguards import safeguards_of
from hosting.process.shutdown import Shutdown
from hosting.process.start_up import end_start_up, keep_start_up
from hosting.process.time_limit import TimeLimit, function_timeout_seconds
from hosting.process.worker_settings import report_missing
from hosting.reply.routes import ROUTES
from hosting.retry import Retry
from hosting.run.retention import Retention
from hosting.services import Services
from hosting.settings import Settings, read_settings, report_unknown

logger = logging.getLogger(__name__)

_NOT_YET = {
    "workflow": "Workflows are not hosted yet. Give agents=[...].",
    "workflows": "Workflows are not hosted yet. Give agents=[...].",
    "entity_id": "An agent's entity is 'dafx-<agent name>' and cannot be named. Leave entity_id out.",
    "workflow_name": "Workflows are not hosted yet. Leave workflow_name out.",
}


class AgentFunctionApp(df.DFApp):
    """A Functions app whose agents are durable services: HTTP, MCP and an entity for each.

    Constructor and method names are those of the class of that name in `agent-framework-azurefunctions`. Keywords only.
    Wrong agents, names, options and settings raise `hosting.errors.ConfigurationError` here, before anything is served.
    """

    def __init__(
        self,
        *,
        agents: Sequence[SupportsAgentRun] | None = None,
        http_auth_level: func.AuthLevel = func.AuthLevel.FUNCTION,
        enable_health_check: bool = True,
        enable_http_endpoints: bool = True,
        enable_mcp_tool_trigger: bool = False,
        default_callback: AgentResponseCallbackProtocol | None = None,
        max_poll_retries: int | None = None,
        poll_interval_seconds: float | None = None,
        environ: Mapping[str, str] = os.environ,
        **unknown: Any,
    ) -> None:
        """Register the agents. `max_poll_retries * poll_interval_seconds` is the longest wait, if either is given."""
        keep_start_up(environ)
        _refuse("AgentFunctionApp", unknown)
        super().__init__(http_auth_level=http_auth_level)
        self._settings = _with_longest_wait(read_settings(environ), max_poll_retries, poll_interval_seconds)
        self._http_by_default = enable_http_endpoints
        self._mcp_by_default = enable_mcp_tool_trigger
        self._default_callback = default_callback
        self._plan = Plan()
        self._ttls: dict[str, float] = {}
        self._is_heard = False
        report_missing(environ)
        report_unknown(environ)
        folder = Path.cwd()
        asks_for_key = self.auth_level is not func.AuthLevel.ANONYMOUS
        self._safeguards = safeguards_of(self._settings, folder, environ)
        self._safeguards.check_http(is_anonymous=not asks_for_key)
        self._time_limit = TimeLimit(self._settings.run_timeout_seconds, function_timeout_seconds(folder, environ))
        self._loop = AgentLoop(self._settings.tool_threads)
        self._shutdown = Shutdown(self._loop.close)
        self._stores = choose_stores(self._settings, folder, environ)
        self._calls = CallbackCalls(self._settings.callback_seconds)
        self._listeners = Listeners(self._calls)
        turn, is_heard = self._shutdown.turn, self._listeners.hears
        self._entities = Entities(self._settings, self._loop, self._stores, listeners=self._listeners, turn=turn)
        self._services = Services.over(self._stores, self._settings, admit=self._shutdown.admit, is_heard=is_heard)
        self._register_shared(has_health=enable_health_check, asks_for_key=asks_for_key)
        for agent in agents or ():
            self.add_agent(agent)

    def _register_shared(self, *, has_health: bool, asks_for_key: bool) -> None:
        """Register what all agents share: one function for each route, whichever agent and thread it names."""
        plan, settings = self._plan, self._settings
        register_runs(self, plan, self._services)
        register_threads(self, plan, self._services.threads, settings)
        register_approvals(self, plan, self._services, settings)
        register_openapi(self, plan, settings, has_health=has_health, asks_for_key=asks_for_key)
        if settings.run_log_days:
            register_retention(self, Retention(self._stores.log, settings.run_log_days, time.time))
        if has_health:
            register_health(self, plan, self._stores.log, self._shutdown.admit)

    @property
    def agents(self) -> dict[str, SupportsAgentRun]:
        """The registered agents by name."""
        return self._plan.by_name()

    def get_agent(
        self, context: df.DurableOrchestrationContext, name: str, *, retry: Retry | None = None
    ) -> DurableAgent[AgentTask]:
        """Return a registered agent for use inside an orchestrator; raises `UnknownAgentError` for any other name.

        `retry` is for runs that are given none; without it they have the agent's own.
        """
        return get_agent(context, self._plan, name, retry)

    def get_functions(self) -> list[Any]:
        """Return the functions for the worker to index, the user's own classic HTTP handlers adapted."""
        functions: list[Any] = super().get_functions()
        if not self._plan.agents:
            logger.warning("This app has no agents. Give AgentFunctionApp(agents=[...]), or call add_agent(...).")
        refuse_taken_routes(functions, self._served_names())
        for function in functions:
            adapt_classic_handler(function)
        end_start_up()
        return functions

    def add_agent(
        self,
        agent: SupportsAgentRun,
        *,
        callback: AgentResponseCallbackProtocol | None = None,
        enable_http_endpoint: bool | None = None,
        enable_mcp_tool_trigger: bool | None = None,
        mcp_tool_name: str | None = None,
        mcp_tool_description: str | None = None,
        run_timeout_seconds: float | None = None,
        ttl_seconds: float | None = None,
        retry: Retry | None = None,
        **unknown: Any,
    ) -> None:
        """Register one more agent; None means as the app's constructor or settings say, its tool named as the agent."""
        _refuse("add_agent", unknown)
        planned = self._plan.add(
            agent,
            http=self._http_by_default if enable_http_endpoint is None else enable_http_endpoint,
            mcp=self._mcp_by_default if enable_mcp_tool_trigger is None else enable_mcp_tool_trigger,
            tool_name=mcp_tool_name,
            tool_description=mcp_tool_description,
        )
        self._safeguards.check_agent(agent, planned.name, is_tool=planned.tool is not None)
        seconds = self._time_limit.of(planned.name, run_timeout_seconds)
        ttl = checked_ttl(planned.name, ttl_seconds, self._settings.thread_ttl_seconds)
        self._listen(planned.name, callback or self._default_callback)
        register_entity(self, entity_name(planned.name), self._entities.of(planned, seconds, ttl, retry).handle)
        if planned.http:
            register_agent(self, planned, self._services, self._settings)
        if planned.tool is not None:
            register_tool(self, planned, planned.tool, self._services.runs, self._settings)
        if ttl is not None:
            self._end_threads_of(planned.name, ttl)

    def _served_names(self) -> set[str]:
        by_agent = {http_function(agent.name) for agent in self._plan.agents.values()}
        return by_agent | {route.function for route in ROUTES} | {NO_AGENT_FUNCTION}

    def _listen(self, agent: str, callback: object | None) -> None:
        if callback is None:
            return
        self._listeners.add(agent, callback)
        if not self._is_heard:
            turn = self._shutdown.turn
            entity = NoticeEntity(self._calls, self._listeners, self._stores.log, time.time, turn)
            register_entity(self, ENTITY, entity.handle)
        self._is_heard = True

    def _end_threads_of(self, agent: str, ttl_seconds: float) -> None:
        if not self._ttls:
            sweep = Sweep(self._ttls, time.time, Settling(self._stores.log))
            register_sweep(self, sweep, self._settings.sweep_schedule)
        self._ttls[agent] = ttl_seconds


def _refuse(where: str, unknown: Mapping[str, Any]) -> None:
    for name, value in unknown.items():
        if name not in _NOT_YET:
            raise ConfigurationError(f"{where} has no option {name!r}. See docs/hosting.md for its options.")
        if value is not None:
            raise ConfigurationError(_NOT_YET[name])


def _with_longest_wait(settings: Settings, retries: int | None, interval: float | None) -> Settings:
    if retries is None and interval is None:
        return settings
    seconds = (30 if retries is None else retries) * (1.0 if interval is None else interval)
    if not 0 <= seconds <= 220:
        raise ConfigurationError(
            f"max_poll_retries * poll_interval_seconds is {seconds:g} s, the longest wait: it must be 0 to 220."
        )
    return settings.model_copy(update={"wait_seconds": float(seconds)})
