"""The SDK's own durable client: against the management API on a real socket, and answered in the host's process."""

from __future__ import annotations

import asyncio
import contextvars
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import azure.durable_functions as df
import pytest
import uvicorn
from azure.durable_functions import DurableOrchestrationClient, OrchestrationRuntimeStatus
from azure.durable_functions.models.utils import http_utils
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from devhost.durable.engine import DurableTask
from devhost.durable.management.own_client import answered_here
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from devhost.forwarding import current_invocation_id, make_task, mark_task
from devhost.http.app import BodyLimit
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.observed_store import ObservedStore

NOWHERE = "http://127.0.0.1:1/durabletask/"
"""Nothing listens there: what goes over HTTP fails."""
CALLER = contextvars.ContextVar("caller", default="nobody")


@asynccontextmanager
async def on_a_socket(engine: DurableTask) -> AsyncIterator[str]:
    """Serve the engine within the block, and yield its origin."""
    mounts = [Mount(path, engine.management) for path in ("/runtime/webhooks/durabletask", "/durabletask")]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=mounts), log_level="error", lifespan="off"))
    listener = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    await serving


class Served:
    """An engine over SQLite, with the SDK's client of its binding.

    Ids have a `space` where they go over a socket; the SDK does not escape it, so an address with one always does.
    """

    def __init__(self, store: ObservedStore, binding: str, space: str) -> None:
        self.store, self.space = store, space
        self.client = DurableOrchestrationClient(binding)


@pytest.fixture(
    params=[
        pytest.param("socket", marks=pytest.mark.behaviour("engine.sdk-client")),
        pytest.param("own process", marks=pytest.mark.behaviour("engine.own-client")),
    ]
)
async def served(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Served]:
    store = ObservedStore(SqliteStore(tmp_path))
    engine = DurableTask(SdkFunctions(build_app()), store, DurableSettings())
    await engine.start()
    if request.param == "socket":
        async with on_a_socket(engine) as origin:
            yield Served(store, engine.client_binding(origin, f"{origin}/durabletask/"), " ")
            await http_utils._close_session()  # the SDK keeps one for the process, bound to the loop that made it
    else:
        with answered_here(BodyLimit(engine.management, 100_000), NOWHERE):
            yield Served(store, engine.client_binding("http://localhost", NOWHERE), "-")
            await http_utils._close_session()
    await engine.stop(0)


async def test_orchestrations_are_started_told_watched_and_purged(served: Served) -> None:
    """The input comes back as it was given; a purged instance is gone; a live id is refused.

    The SDK encodes events twice, so a dict arrives as a string of JSON (upstream, and on Azure too).
    """
    client, instance_id = served.client, f"c{served.space}1"
    await client.start_new("chain", instance_id, {"in": 1})
    await served.store.until_ended(instance_id)
    status = await client.get_status(instance_id)
    assert status.runtime_status is OrchestrationRuntimeStatus.Completed
    assert status.output == [1, ["a", {"p": 1}], {"in": 1}]
    assert len(await client.get_status_all()) == 1
    assert (await client.purge_instance_history(instance_id)).instances_deleted == 1
    assert not await client.get_status(instance_id)

    await client.start_new("approval", "a")
    with pytest.raises(Exception, match="already exists"):
        await client.start_new("chain", "a")
    await client.raise_event("a", "go", {"ok": 1})
    assert (await served.store.until_ended("a")).output == '["approved","{\\"ok\\": 1}"]'
    with pytest.raises(Exception, match="is gone"):
        await client.raise_event("a", "go", 1)
    with pytest.raises(Exception, match="No instance with ID nobody found"):
        await client.raise_event("nobody", "go", 1)
    await client.start_new("nobody", "n")  # an unknown orchestrator is accepted and fails (3.8)
    assert "The function 'nobody' doesn't exist" in ((await served.store.until_ended("n")).output or "")


async def test_signal_and_read_an_entity(served: Served) -> None:
    """Names in any case are one entity, keys are not; an unknown entity does not exist."""
    key = f"K{served.space}1"
    entity = df.EntityId("Counter", key)
    await served.client.signal_entity(entity, "add", 5)

    async def is_five() -> bool:
        return (await served.client.read_entity_state(entity)).entity_state == 5

    await served.store.until(is_five)
    assert (await served.client.read_entity_state(df.EntityId("counter", key))).entity_exists
    assert not (await served.client.read_entity_state(df.EntityId("counter", key.lower()))).entity_exists


class HeldEngine:
    """Stands for the management API: it notes who asks, and answers once it is let go."""

    def __init__(self) -> None:
        self.callers: list[tuple[str, str | None]] = []
        self.may_answer, self.arrived, self.answered = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.callers.append((CALLER.get(), current_invocation_id()))
        self.arrived.set()
        await self.may_answer.wait()
        await Response(status_code=202)(scope, receive, send)
        self.answered.set()


@pytest.mark.behaviour("engine.own-client")
async def test_a_request_goes_on_when_its_caller_is_cancelled_and_nothing_of_the_caller_is_with_it() -> None:
    """As one that has arrived over HTTP does. Neither the caller's variables, in which traces are, nor its invocation,
    which the engine's tasks would log for. An address that a client would change goes over HTTP.
    """
    asyncio.get_running_loop().set_task_factory(make_task)
    engine = HeldEngine()
    with answered_here(BodyLimit(engine, 100), NOWHERE):
        CALLER.set("a function")
        mark_task("an invocation")
        caller = asyncio.ensure_future(http_utils.post_async_request(f"{NOWHERE}entities/a/b?op=run", "1"))
        await engine.arrived.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        engine.may_answer.set()
        await engine.answered.wait()
        for path in ("entities/a/two words", "entities/a/../b", "entities/a/./b", "instances/#1", "é"):
            with pytest.raises(OSError):
                await http_utils.get_async_request(f"{NOWHERE}{path}")
    await http_utils._close_session()

    assert engine.callers == [("nobody", None)]
