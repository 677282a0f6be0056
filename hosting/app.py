"""`AgentFunctionApp`: validate, plan, register. Everything else is below."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import azure.durable_functions as df
import azure.functions as func
from agent_framework import SupportsAgentRun
from msgspec.structs import replace
from typing_extensions import Unpack

from hosting.assembly import (
    SETTINGS,
    FeatureOptions,
    access_of,
    as_hosted,
    lent_name,
    make_features,
    make_plan,
    triggers_of,
    workflows_of,
)
from hosting.azure_log import keep_lines_of_entities, quiet_libraries
from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.time_limits import TimeLimit
from hosting.core.entity.proxy import DurableAgent
from hosting.core.entity.thread_entity import ThreadEntity
from hosting.core.services import Services
from hosting.feature import drain, hooks_of
from hosting.functions.agent_calls import WAIT_FUNCTION, register_wait
from hosting.functions.agent_triggers import F, marked
from hosting.functions.answering import Served
from hosting.functions.app_triggers import register_openapi, register_page, register_unknown
from hosting.functions.durable import AgentTask, CallingOrchestration, register_entity
from hosting.functions.feature_entities import FeatureEntities
from hosting.functions.features import doors_of, register_features
from hosting.functions.http_triggers import register, register_agent
from hosting.functions.orchestrations import OrchestrationRoutes
from hosting.functions.shutdown import Shutdown
from hosting.functions.timers import TIMERS, register_expiry, register_timers
from hosting.functions.user_routes import own_functions, refuse_taken_names
from hosting.functions.users_functions import prepare
from hosting.host_settings import (
    Safeguards,
    app_folder,
    function_timeout_seconds,
    report_missing,
    route_prefix,
    task_hub,
)
from hosting.http.lists import ListHandlers
from hosting.http.page import FUNCTION as PAGE_FUNCTION
from hosting.http.routes import OPENAPI
from hosting.http.runs import RunHandlers
from hosting.http.threads import ThreadHandlers, exports_of
from hosting.names import Busy, entity_function, entity_name, http_function
from hosting.options import AS_THE_APP, AgentOptions, Reasoning, Retry, options_of_app
from hosting.plan import AgentPlan, introduction_of
from hosting.principal import Principal, PrincipalRequest, PrincipalResolver
from hosting.settings import AllSettings, Settings, is_developers, is_production, report_unknown, with_options
from hosting.start_up import report_import, reported, warn
from hosting.store_choice import choose_stores
from hosting.upstream import AGENT_OPTIONS, APP_OPTIONS, WORKFLOW_OPTIONS, UpstreamMethods, take_options
from hosting.workflows import HostedWorkflow, WorkflowSource

if TYPE_CHECKING:
    from hosting.features.callbacks.callbacks import AgentCallbackContext, AgentResponseCallbackProtocol
    from hosting.features.memory.provider import OwnerMemory
    from hosting.features.metering.budgets import Budget, Price
    from hosting.features.metering.limits import Limit
    from hosting.features.search.engine import SearchEngine, SearchHit, SearchQuery, ThreadPlace, ThreadText
    from hosting.features.triggers.client import AgentRun, AppClient
    from hosting.features.triggers.trigger import SKIP, AgentRequest, TriggerOptions
    from hosting.features.workflows.hitl_context import WorkflowHitlContext

__all__ = [
    "SKIP",
    "AgentCallbackContext",
    "AgentFunctionApp",
    "AgentRequest",
    "AgentResponseCallbackProtocol",
    "AgentRun",
    "Budget",
    "Limit",
    "OwnerMemory",
    "Price",
    "Principal",
    "PrincipalRequest",
    "SearchHit",
    "SearchQuery",
    "ThreadPlace",
    "ThreadText",
    "WorkflowHitlContext",
]


def __getattr__(name: str) -> Any:
    return lent_name(__name__, name)


class AgentFunctionApp(UpstreamMethods, df.DFApp):
    """A Functions app whose agents are durable services: HTTP, MCP and an entity for each agent.

    Constructor and methods have the names of the class in `agent-framework-azurefunctions`, and its order of arguments.
    Wrong agents, names, options and settings raise `hosting.errors.ConfigurationError` here, before anything is served.
    A workflow is given as it is, or as the function that builds it (docs/guides/workflows.md).
    `max_poll_retries * poll_interval_seconds` is the longest wait, if either is given.
    `health_lists_agents`: `GET health`, which needs no key, names the agents, as that of the other package does.
    `enable_page` serves the page for a browser at `ui/`; None is where the app is developed only.
    `wires` names other protocols whose clients are served too, such as "responses" (docs/reference/responses.md).
    `budget` is how much a run, thread or owner's day may use of a model, `limit` how much a caller may ask (limits.md).
    `webhook` is notified of each run's end (notifications.md), `client_tools` lets requests bring tools (client-tools),
    `options` are those of models that requests set (options.md), as far as an agent has none of its own.
    `search` is a search engine of your own, in place of the app's index of its threads (docs/guides/search.md).
    `principal` says who sends a request, and each caller then has threads of their own (docs/guides/security.md).
    """

    def __init__(  # noqa: PLR0917 - the order is that of the class that users come from
        self,
        agents: Sequence[SupportsAgentRun] | None = None,
        workflow: WorkflowSource | None = None,
        workflows: Sequence[WorkflowSource] | Mapping[str, WorkflowSource] | None = None,
        http_auth_level: func.AuthLevel = func.AuthLevel.FUNCTION,
        enable_health_check: bool = True,
        enable_http_endpoints: bool = True,
        max_poll_retries: int | None = None,
        poll_interval_seconds: float | None = None,
        enable_mcp_tool_trigger: bool = False,
        default_callback: AgentResponseCallbackProtocol | None = None,
        *,
        health_lists_agents: bool = False,
        enable_page: bool | None = None,
        wires: Sequence[str] = (),
        principal: PrincipalResolver | None = None,
        search: SearchEngine | None = None,
        budget: Budget | None = None,
        limit: Limit | None = None,
        webhook: str | None = None,
        client_tools: bool = False,
        options: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] = os.environ,
        **unknown: Any,
    ) -> None:
        report_import()
        quiet_libraries()
        take_options("AgentFunctionApp", unknown, APP_OPTIONS)
        super().__init__(http_auth_level=http_auth_level)
        self.max_poll_retries, self.poll_interval_seconds = max_poll_retries, poll_interval_seconds
        all_settings, hosted = AllSettings(environ, SETTINGS), workflows_of(workflow, workflows)
        settings, most_bytes = all_settings.of(Settings), unknown.get("max_state_bytes")
        self._settings = with_options(settings, max_poll_retries, poll_interval_seconds, most_bytes)
        self.enable_health_check, self.enable_http_endpoints = enable_health_check, enable_http_endpoints
        self.enable_mcp_tool_trigger, self.default_callback = enable_mcp_tool_trigger, default_callback
        folder, self._ttls = app_folder(environ), dict[str, float]()
        keep_lines_of_entities(folder, environ)
        self._options = options_of_app(options, budget=budget, limit=limit, webhook=webhook, client_tools=client_tools)
        self._plan = make_plan(principal, requires_key=self.auth_level is not func.AuthLevel.ANONYMOUS)
        report_missing(environ)
        report_unknown(environ, SETTINGS)
        self._safeguards = Safeguards(self._settings, folder, environ)
        self._safeguards.check_http(is_anonymous=not self._plan.requires_key)
        self._services = self._make_services(folder, environ)
        features = FeatureOptions(principal, wires, search, enable_health_check, health_lists_agents)
        self._served = self._make_served(all_settings, features)
        self._orchestrations = OrchestrationRoutes(self._served, self._services.route_prefix, self._shutdown)
        self._has_page = not is_production(environ) if enable_page is None else enable_page
        self._add_all(agents or (), hosted)

    def _make_services(self, folder: Path, environ: Mapping[str, str]) -> Services:
        settings = self._settings
        self._time_limit = TimeLimit.of_app(settings, function_timeout_seconds(folder, environ))
        self._loop = AgentLoop(
            settings.tool_threads,
            most_blocked_seconds=settings.blocked_seconds,
            names_code=not is_production(environ),
            names_causes=is_developers(environ),
        )
        self._shutdown = Shutdown(self._loop.close, self._drain)
        return Services(
            choose_stores(settings, folder, environ, task_hub(folder, environ)),
            settings,
            self._loop,
            admits=(self._shutdown.admit, self._loop.admit),
            turn=self._shutdown.turn,
            working_seconds=self._time_limit.working_seconds,
            attempts=self._time_limit.attempts,
            route_prefix=route_prefix(folder, environ),
        )

    def _make_served(self, settings: AllSettings, options: FeatureOptions) -> Served:
        workflows: list[str] = []
        features = make_features(self._services, self._plan, settings, options, workflows)
        entities = FeatureEntities(self._shutdown.turn, self._services.clocks.wall)
        return Served(self, self._plan, access_of(features), entities, workflows, self._shutdown.watch, features)

    def _register_shared(self) -> None:
        """Register the functions that all agents and workflows share, once the app has them all: one for each route."""
        served, plan, settings, services = self._served, self._plan, self._settings, self._services
        added = (served.link_names, served.links, served.rules_of)
        lists = ListHandlers(served.access, *added, settings, has_workflows=bool(served.workflows))
        for handlers in (RunHandlers(services), ThreadHandlers(services, settings, exports_of(services, plan)), lists):
            register(served, handlers.bound())
        register_features(served)
        register_unknown(served)
        register_openapi(served, settings)
        register_timers(served, services)
        register_wait(self)
        if self._has_page:
            register_page(served)

    @property
    def agents(self) -> dict[str, SupportsAgentRun]:
        """The registered agents by name."""
        return {planned.name: planned.agent for planned in self._plan.listed if planned.kind == "agent"}

    @property
    def client(self) -> AppClient:
        """Starts runs, reads, follows and cancels them, in `async def` functions of your own: `app.client.run(...)`."""
        return triggers_of(self._served.features).client

    def agent_trigger(self, agent: str, **options: Unpack[TriggerOptions]) -> Callable[[F], F]:
        """Have each delivery of a function's trigger begin one run of the agent (docs/guides/triggers.md).

        The function returns the message, an `AgentRequest`, None for the delivery's body, or `SKIP` for no run.
        """
        return marked(triggers_of(self._served.features).trigger(agent, options))

    def get_agent(
        self,
        context: df.DurableOrchestrationContext,
        agent_name: str,
        *,
        retry: Retry | None = None,
        owner: Principal | None = None,
    ) -> DurableAgent[AgentTask]:
        """Return an agent for use inside an orchestrator; raises `UnknownAgentError` for an unknown name.

        A call to one that this app does not have fails after some minutes: during a deployment another instance may
        have it. `retry` is for runs that are given none; without it they have the agent's own. Threads are the
        `owner`'s, the same at every replay: take it from the orchestration's input. Without one they are the app's.
        """
        name, description = self._plan.named(agent_name)
        caller = CallingOrchestration(context, lambda agent: self._plan.find(agent) is not None)
        return DurableAgent(name, description, caller, retry, owner)

    @property
    def introduction(self) -> Mapping[str, Any]:
        """The app's description for a local host at its start: models, routes, its page, a first request."""
        of_agents = {http_function(agent.name) for agent in self._plan.agents.values()}
        shared = (*(self._own_functions - of_agents), *TIMERS, *self._served.entities.names, WAIT_FUNCTION)
        page = PAGE_FUNCTION if self._has_page else None
        doors = doors_of(self._served)
        return {**introduction_of(self._plan, shared), "openapi": OPENAPI.function, "page": page, "doors": doors}

    async def principal_of(self, req: func.HttpRequest) -> Principal | None:
        """Return the sender of a request to your own route; None without sign-in, and in an app without `principal`."""
        return await self._orchestrations.principal(req)

    def orchestration_status_route(self) -> None:
        """Register `GET orchestrations/{instance_id}`, where callers read the state of `run_orchestration`.

        Nobody sees an orchestration that was begun for somebody else, and no URL holds a key.
        """
        self._orchestrations.register_status()

    async def run_orchestration(
        self,
        req: func.HttpRequest,
        client: df.DurableOrchestrationClient,
        name: str,
        given: object = None,
        *,
        principal: Principal | None = None,
        wait_seconds: float = 0.0,
    ) -> func.HttpResponse:
        """Start an orchestration with the input `given`, and return the answer to the request that asked for it.

        It is 200 with the output where that comes within `wait_seconds`, 500 with the state where it fails, else 202
        with the place of the status route. The state is shown to `principal` alone, whoever sends the request if none
        is given; where nobody is signed in, the answer is 401 and nothing is started.
        """
        return await self._orchestrations.run(req, client, name, given, principal=principal, wait_seconds=wait_seconds)

    @property
    def _own_functions(self) -> set[str]:
        """The functions of this library that answer requests, and its clocks, as far as the app has them."""
        return own_functions(self._served, has_page=self._has_page)

    def validate_function_names(self, functions: list[Any]) -> None:
        """Refuse two functions with the same name, ignoring case: the SDK calls this, and compares with case."""
        refuse_taken_names(functions)
        super().validate_function_names(functions)

    def get_functions(self) -> list[Any]:
        """Return the functions for the worker to index, the user's own classic HTTP handlers adapted."""
        with reported():
            if OPENAPI not in self._served.routes:
                self._register_shared()
            functions: list[Any] = super().get_functions()
            if not self._plan.agents:
                warn("This app has no agents. Give agents=[...] or call add_agent(...). See docs/reference/hosting.md.")
            prepare(functions, self._own_functions, has_owners=self._plan.has_owners)
            return functions

    def add_agent(
        self,
        agent: SupportsAgentRun,
        callback: AgentResponseCallbackProtocol | None = None,
        enable_http_endpoint: bool | None = None,
        enable_mcp_tool_trigger: bool | None = None,
        *,
        mcp_tool_name: str | None = None,
        mcp_tool_description: str | None = None,
        run_timeout_seconds: float | None = None,
        ttl_seconds: float | None = None,
        retry: Retry | None = None,
        busy: Busy = "queue",
        budget: Budget | None = None,
        limit: Limit | None = None,
        webhook: str | None = None,
        client_tools: bool | None = None,
        reasoning: Reasoning | None = None,
        options: Mapping[str, Any] | None = None,
        **unknown: Any,
    ) -> None:
        """Register one more agent; None means as the constructor or settings say, and the tool has the agent's name."""
        take_options("add_agent", unknown, AGENT_OPTIONS)
        own = AgentOptions(
            http=enable_http_endpoint,
            mcp=enable_mcp_tool_trigger,
            tool_name=mcp_tool_name,
            tool_description=mcp_tool_description,
            run_timeout_seconds=run_timeout_seconds,
            ttl_seconds=ttl_seconds,
            retry=retry,
            busy=busy,
            budget=budget,
            limit=limit,
            webhook=webhook,
            client_tools=client_tools,
            reasoning=reasoning,
            model_options=options,
            callback=callback or None,
        )
        self._add(agent, own)

    def configure_workflow(self, workflow: WorkflowSource, **unknown: Any) -> None:
        """Register one more workflow, as the constructor's `workflows` does."""
        take_options("configure_workflow", unknown, WORKFLOW_OPTIONS)
        self._add_all((), workflows_of(workflow, None))

    def _add_all(self, agents: Sequence[SupportsAgentRun], hosted: Sequence[HostedWorkflow]) -> None:
        for agent in agents:
            self._add(agent, AS_THE_APP)
        for workflow in hosted:
            self._add(workflow, AgentOptions(http=True))
            self._served.workflows.append(workflow.name)

    def _add(self, agent: SupportsAgentRun | HostedWorkflow, own: AgentOptions) -> None:
        """Register the functions of an agent or a workflow: its entity, and its route and tool if it has them."""
        # The attributes have the names of upstream's, and like those they may be set after the constructor.
        app = replace(
            self._options,
            http=self.enable_http_endpoints,
            mcp=self.enable_mcp_tool_trigger,
            callback=self.default_callback or None,
            ttl_seconds=self._settings.thread_ttl_seconds,
        )
        self._host(self._plan.add(as_hosted(agent), own, app=app))

    def _host(self, planned: AgentPlan) -> None:
        """Register the functions of an agent, and those of the agents within it."""
        options = planned.options
        self._safeguards.check_agent(planned.agent, planned.name, is_tool=planned.tool is not None)
        seconds = self._time_limit.of(planned.name, options.run_timeout_seconds)
        for feature in self._served.features:
            feature.add(planned)
        within = [each for feature in self._served.features for each in feature.within(planned)]
        hooks = hooks_of(self._served.features, planned)
        if outer := self._services.hooks.get(options.within.lower()):
            hooks = replace(hooks, meter=outer.meter, balance=outer.balance)
        self._services.hold(planned, seconds, hooks)
        entity = ThreadEntity(planned, self._services, hooks.on_end)
        name, function = entity_name(planned.name), entity_function(planned.name)
        register_entity(self, name, lambda batch, _: entity.handle(batch), function)
        if options.http and not options.within:
            register_agent(self._served, planned, self._services, self._settings)
        if options.ttl_seconds:
            if not self._ttls:
                register_expiry(self, self._services, self._ttls)
            self._ttls[planned.name] = options.ttl_seconds
        for inner in within:
            self._host(self._plan.add(as_hosted(inner.agent, inner.name), inner.options, inner.name))

    async def _drain(self, seconds: float) -> None:
        await drain(self._served.features, self._services.drain(seconds), seconds)
