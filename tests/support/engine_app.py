"""An app of ours on the local host's durable engine, in this process: the clock and the faults are the test's.

async with engine_app(app_of(agent), clock=ManualClock(), unkind=unkind) as running:
    await running.http.post("/api/agents/Joker/run", json=...)
    running.clock.advance(60)
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from starlette.responses import Response

from devhost.durable.clock import Clock, SystemClock
from devhost.durable.engine import DurableTask
from devhost.durable.grpc.protocol import PROTOBUF
from devhost.durable.grpc.service import TaskHubServer
from devhost.durable.hub import TaskHub
from devhost.durable.management.own_client import OwnSession
from devhost.durable.settings import DurableSettings
from devhost.durable.store.contract import Store
from devhost.durable.unkind import KIND, Unkind
from devhost.durable.wire import JSON
from devhost.http.app import FunctionsEndpoint, HostApp
from devhost.http.routes import build_routes
from devhost.index import build_index
from devhost.invoke import AppFunctions, Invoker
from devhost.settings import read_host_settings
from hosting.app import AgentFunctionApp
from hosting.functions.execution import read_input
from tests.support.memory_store import MemoryStore
from tests.support.observed_store import ObservedStore
from tests.support.warm_python import ROOT

ORIGIN = "http://127.0.0.1:7071"
RPC = f"{ORIGIN}/durabletask/"


class EngineSession(OwnSession):
    """The session of the app's durable clients: all that they send to the engine is answered here, no port is open."""

    def answers(self, url: str) -> bool:
        return url.startswith(RPC)


@asynccontextmanager
async def answered_to_clients(engine: DurableTask, clock: Clock, *, speaks_protobuf: bool) -> AsyncIterator[str]:
    """Answer the app's durable clients, and give the URL that they send to: with the SDK 2.x a port for gRPC."""
    if speaks_protobuf:
        server = TaskHubServer(engine.hub, clock)
        yield await server.start()
        await server.stop()
        return
    from azure.durable_functions.models.utils import http_utils  # which 2.x has not

    session = EngineSession(engine.management, RPC, http_utils._get_session)

    async def get_session() -> OwnSession:
        return session

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http_utils, "_get_session", get_session)
        yield RPC


@dataclass(frozen=True)
class EngineApp:
    """The running app: `http` asks its functions and the engine's pages, `store` tells what was committed."""

    http: httpx.AsyncClient
    hub: TaskHub
    store: ObservedStore
    speaks_protobuf: bool

    async def start(self, name: str, instance_id: str, value: object) -> None:
        """Start an orchestration as the SDK's client does: that of 1.7 makes a JSON string of the JSON text."""
        text = json.dumps(value)
        await self.hub.start(name, instance_id, text if self.speaks_protobuf else json.dumps(text))

    def value_of(self, text: str | None) -> Any:
        """Return the value of an instance's input, which the SDK's client sent or an execution handed on."""
        given = read_input(str(text) if self.speaks_protobuf else json.loads(str(text)))
        return json.loads(str(given.input))


@asynccontextmanager
async def engine_app(
    app: AgentFunctionApp,
    *,
    clock: Clock | None = None,
    unkind: Unkind = KIND,
    inner: Store | None = None,
    only: Callable[[str], bool] = lambda name: True,
    durable: Mapping[str, object] | None = None,
) -> AsyncIterator[EngineApp]:
    """Run the app's functions and an engine over `inner`, a memory store when none is given, until the block ends.

    `durable` are values over the product's host.json (`extensions.durableTask`). `only` leaves functions out by their
    names, as an older version of the app lacks them.
    """
    settings = read_host_settings(ROOT, {})
    declared = [function for function in app.get_functions() if only(str(function.get_function_name()))]
    index = build_index(declared, settings, os.environ)
    store = ObservedStore(inner or MemoryStore())
    client_text = ""
    invoker = Invoker(None, None, lambda: client_text)
    limits = DurableSettings.from_host_json({**settings.durable_task, **(durable or {})}, os.environ)
    speaks_protobuf, clock = index.speaks_protobuf(), clock or SystemClock()
    protocol = PROTOBUF if speaks_protobuf else JSON
    engine = DurableTask(AppFunctions(index, invoker), store, limits, clock, protocol=protocol, unkind=unkind)
    functions = FunctionsEndpoint(build_routes(index, settings.route_prefix), invoker, settings, None)
    host = HostApp(functions, Response(status_code=404), {"durabletask": engine.management}, engine.management, None)
    async with AsyncExitStack() as stack:
        answered = answered_to_clients(engine, clock, speaks_protobuf=speaks_protobuf)
        client_text = engine.client_binding(ORIGIN, await stack.enter_async_context(answered))
        await engine.start()  # which goes on at once with what the store has
        try:
            transport = httpx.ASGITransport(host, raise_app_exceptions=False, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, timeout=5.0) as http:
                yield EngineApp(http, engine.hub, store, speaks_protobuf)
        finally:
            await engine.stop(0)
            invoker.close()
