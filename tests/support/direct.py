"""The direct carrier: the app's handlers called without a host, behind an ASGI app, so that httpx speaks to both.

It does what the real host does around them and no more: it routes by the indexed bindings, hands a durable client to
the handlers, and delivers signals to the entity function one at a time per key, again after a failure.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections import defaultdict
from collections.abc import Callable
from contextvars import Context
from functools import cached_property
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import azure.durable_functions as df
from azure.functions.decorators.function_app import Function
from azure.functions.decorators.http import HttpTrigger
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

logger = logging.getLogger(__name__)

MOST_DELIVERIES = 6


class Entities:
    """Every entity of the app: its state text, and one delivery at a time.

    `states` are the stored ones, and `ends` what those without a state answered last. `clocks` are the orchestrations
    that were started, by their instances; nobody runs them. While `gate` is closed, signals are taken and not
    delivered, as by an engine that is behind.
    """

    def __init__(self, functions: dict[str, Callable[..., Any]]) -> None:
        self._functions = functions
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = WeakKeyDictionary()
        self._tasks: dict[asyncio.Task[Any], tuple[str, str, str, object]] = {}
        self.states: dict[str, str] = {}
        self.ends: dict[str, str] = {}
        self.refuse_signals = False
        self.clocks: dict[str, Any] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    def has(self, name: str) -> bool:
        """Return whether the app has such an entity."""
        return name.lower() in self._functions

    def deliver(self, name: str, key: str, operation: str, value: object) -> asyncio.Task[Any]:
        """Queue one signal and return its delivery: an invocation of its own, in nobody's context."""
        work = self._deliver(name.lower(), key, operation, value)
        task: asyncio.Task[Any] = Context().run(asyncio.ensure_future, work)
        self._tasks[task] = (name, key, operation, value)
        task.add_done_callback(self._tasks.pop)
        return task

    def lose(self) -> None:
        """Lose what is to be delivered, as an engine does that is restored to a moment before."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    def take_over(self, dead: Entities) -> None:
        """Go on with what another process has committed, and deliver what it has not."""
        self.states, self.clocks = dead.states, dead.clocks
        for signal in list(dead._tasks.values()):
            self.deliver(*signal)

    async def idle(self) -> None:
        """Return once nothing is delivered any more."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def call(self, name: str, key: str, operation: str, value: object, is_signal: bool = False) -> dict[str, Any]:
        """Run one operation as one batch and return its result object; the state is committed."""
        place = f"@{name}@{key}"
        turns = self._turns.setdefault(asyncio.get_running_loop(), defaultdict(asyncio.Lock))
        async with turns[place]:  # an operation that a test did not wait for ends with that test's loop
            state = self.states.get(place)
            given = {"name": operation, "input": json.dumps(json.dumps(value)), "isSignal": is_signal}
            batch = [{**given, "id": str(uuid.uuid4())}]
            payload = {"self": {"name": name, "key": key}, "exists": state is not None, "state": state, "batch": batch}
            answer = json.loads(
                await self._functions[name](batch=json.dumps(payload), client=SignalClient(self), context=None)
            )
            for kept in (self.states, self.ends):
                kept.pop(place, None)
            (self.states if answer["entityExists"] else self.ends)[place] = answer["entityState"]
            for signal in answer["signals"]:
                value = json.loads(json.loads(signal["input"]))
                self.deliver(signal["target"]["name"], signal["target"]["key"], signal["name"], value)
            return dict(answer["results"][0])

    async def _deliver(self, name: str, key: str, operation: str, value: object) -> None:
        await self.gate.wait()
        for _ in range(MOST_DELIVERIES):
            try:
                await self.call(name, key, operation, value, is_signal=True)
            except Exception:
                continue
            return


class EntityState(Struct, frozen=True):
    """What the SDK's client returns for an entity."""

    entity_exists: bool
    entity_state: object = None


class InstanceState(Struct, frozen=True):
    """What the SDK's client returns for an orchestration; the status is None where there is none."""

    runtime_status: df.OrchestrationRuntimeStatus | None
    output: object = None
    custom_status: object = None


class PurgedInstances(Struct, frozen=True):
    """What the SDK's client returns for a purge."""

    instances_deleted: int


class SignalClient:
    """The part of the SDK's durable client that the handlers use, over `Entities`; keys are parts of URLs."""

    def __init__(self, entities: Entities) -> None:
        self._entities = entities

    async def signal_entity(self, entity_id: df.EntityId, operation: str, value: object) -> None:
        """Send a signal, or fail as a lost connection would; the engine takes none for an entity without a function."""
        if self._entities.refuse_signals:
            raise ConnectionError("the signal may or may not have been sent")
        name = unquote(entity_id.name)
        if not self._entities.has(name):
            raise ValueError(f"400: The function {name!r} doesn't exist, is disabled, or is not an entity function.")
        self._entities.deliver(name, unquote(entity_id.key), operation, value)

    async def read_entity_state(self, entity_id: df.EntityId) -> EntityState:
        """Return the state as a value, as the engine does, also what an entity that has none answered last."""
        place = f"@{unquote(entity_id.name).lower()}@{unquote(entity_id.key)}"
        text = self._entities.states.get(place) or self._entities.ends.get(place)
        return EntityState(False) if text is None else EntityState(True, json.loads(text))

    async def start_new(self, name: str, instance_id: str, given: Any) -> str:
        """Start an orchestration, which never runs."""
        self._entities.clocks[instance_id] = given
        return instance_id

    async def get_status(self, instance_id: str) -> InstanceState:
        """Say that an orchestration that was started runs."""
        is_there = unquote(instance_id) in self._entities.clocks
        return InstanceState(df.OrchestrationRuntimeStatus.Running if is_there else None)

    async def terminate(self, instance_id: str, reason: str) -> None:
        """End an orchestration."""
        del self._entities.clocks[instance_id]

    async def purge_instance_history(self, instance_id: str) -> PurgedInstances:
        """Remove an entity, whether it has a state or not, or the clock of a schedule; there is nothing else here."""
        kept = (self._entities.states, self._entities.ends)
        for instances in kept:
            instances.pop(unquote(instance_id), None)
        return PurgedInstances(1)


async def _failed(request: Request, error: Exception) -> Response:
    """Answer as the host does, which has the cause in its log: clients of tests do not raise it."""
    logger.error("The function at %s failed.", request.url.path, exc_info=error)
    return Response("Internal Server Error", 500)


class DirectHost:
    """The indexed app: `asgi` for its HTTP functions, `entities` for the rest, `tools` by MCP tool name.

    `sdk` makes the durable client that its HTTP functions get.
    """

    def __init__(self, app: df.DFApp, prefix: str = "/api", sdk: Callable[[Entities], Any] = SignalClient) -> None:
        self._sdk = sdk
        self.functions = {function.get_function_name(): function for function in app.get_functions()}
        triggers = {name: self.functions[name].get_trigger() for name in sorted(self.functions, key=str.upper)}
        self.entities = Entities(
            {
                trigger.get_dict_repr()["entityName"].lower(): self.functions[name].get_user_function().client_function
                for name, trigger in triggers.items()
                if trigger.type == "entityTrigger"
            }
        )
        routes = [
            self._route(f"{prefix}/{path}", self.functions[name], trigger)
            for name, trigger in triggers.items()
            if trigger.type == "httpTrigger"
            for path in dict.fromkeys((trigger.route, trigger.route.removesuffix("/{*path}")))  # also empty
        ]
        self.asgi = Starlette(routes=routes, exception_handlers={Exception: _failed})

    @cached_property
    def bindings(self) -> dict[str, list[dict[str, Any]]]:
        """The bindings of each function, as the worker reads them."""
        return {
            name: [json.loads(raw) for raw in function.get_raw_bindings()] for name, function in self.functions.items()
        }

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call an MCP tool function and return the CallToolResult that its envelope holds."""
        tool = self.functions[f"mcptool-{name}"].get_user_function().client_function
        text = await tool(
            call=json.dumps({"name": name, "arguments": arguments}), client=SignalClient(self.entities), context=None
        )
        envelope = json.loads(text)
        assert envelope["type"] == "call_tool_result"
        return dict(json.loads(envelope["content"]))

    async def trigger(self, name: str, **arguments: Any) -> Any:
        """Call a function of the app as the worker does, with the values of its trigger and of its outputs."""
        function = self.functions[name]
        return await function.get_user_function()(**arguments, **self._clients(function))

    def _clients(self, function: Function) -> dict[str, Any]:
        bindings = function.get_bindings()
        return {binding.name: self._sdk(self.entities) for binding in bindings if binding.type == "durableClient"}

    def _route(self, path: str, function: Function, trigger: HttpTrigger) -> Route:
        handler = function.get_user_function()
        durable = getattr(handler, "client_function", None)

        async def endpoint(request: Request) -> Response:
            if durable is not None:
                return await durable(req=request, client=self._sdk(self.entities), context=None)  # type: ignore[no-any-return]
            return await handler(req=request, **self._clients(function))  # type: ignore[no-any-return]

        methods = [str(method) for method in trigger.methods or ("GET", "POST", "PUT", "DELETE", "PATCH")]
        route = Route(path.replace("{*path}", "{path:path}"), endpoint, methods=methods)
        route.methods = set(methods)  # Starlette answers HEAD by GET's route; the host by that of HEAD, or with 404
        return route
