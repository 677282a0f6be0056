"""The SDK's own durable client against the management API, on a real socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import azure.durable_functions as df
import pytest
import uvicorn
from azure.durable_functions import DurableOrchestrationClient, OrchestrationRuntimeStatus
from azure.durable_functions.models.utils import http_utils
from starlette.applications import Starlette
from starlette.routing import Mount

from devhost.durable.engine import DurableTask
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.observed_store import ObservedStore

pytestmark = pytest.mark.behaviour("engine.sdk-client")


class Served:
    """An engine over SQLite behind uvicorn, with the SDK's client of its binding."""

    def __init__(self, store: ObservedStore, client: DurableOrchestrationClient) -> None:
        self.store = store
        self.client = client


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    store = ObservedStore(SqliteStore(tmp_path))
    engine = DurableTask(SdkFunctions(build_app()), store, DurableSettings())
    mounts = [Mount(path, engine.management) for path in ("/runtime/webhooks/durabletask", "/durabletask")]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=mounts), log_level="error", lifespan="off"))
    listener = socket.create_server(("127.0.0.1", 0))
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    await engine.start()
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    yield Served(store, DurableOrchestrationClient(engine.client_binding(origin, f"{origin}/durabletask/")))
    # The SDK keeps one session for the process, bound to the loop that made it.
    await http_utils._close_session()
    server.should_exit = True
    await serving
    await engine.stop(0)


async def test_start_watch_and_purge(served: Served) -> None:
    """The input comes back as it was given; a purged instance is gone."""
    instance_id = await served.client.start_new("chain", "c 1", {"in": 1})
    await served.store.until_ended(instance_id)
    status = await served.client.get_status(instance_id)
    assert (status.runtime_status, status.output) == (
        OrchestrationRuntimeStatus.Completed,
        [1, ["a", {"p": 1}], {"in": 1}],
    )
    assert len(await served.client.get_status_all()) == 1
    assert (await served.client.purge_instance_history(instance_id)).instances_deleted == 1
    assert not await served.client.get_status(instance_id)


async def test_a_running_id_is_refused_and_an_unknown_function_fails(served: Served) -> None:
    """409 reaches the caller as an exception; an unknown orchestrator is accepted and fails (3.8)."""
    await served.client.start_new("approval", "a")
    with pytest.raises(Exception, match="already exists"):
        await served.client.start_new("chain", "a")
    await served.client.start_new("nobody", "n")
    ended = await served.store.until_ended("n")
    assert "The function 'nobody' doesn't exist" in (ended.output or "")


async def test_events_arrive_as_the_sdk_encodes_them(served: Served) -> None:
    """It encodes twice, so a dict arrives as a string of JSON (upstream, and on Azure too)."""
    await served.client.start_new("approval", "a")
    await served.client.raise_event("a", "go", {"ok": 1})
    ended = await served.store.until_ended("a")
    assert ended.output == '["approved","{\\"ok\\": 1}"]'
    with pytest.raises(Exception, match="is gone"):
        await served.client.raise_event("a", "go", 1)
    with pytest.raises(Exception, match="No instance with ID nobody found"):
        await served.client.raise_event("nobody", "go", 1)


async def test_signal_and_read_an_entity(served: Served) -> None:
    """Names in any case are one entity, keys are not; an unknown entity does not exist."""
    entity = df.EntityId("Counter", "K 1")
    await served.client.signal_entity(entity, "add", 5)

    async def is_five() -> bool:
        return (await served.client.read_entity_state(entity)).entity_state == 5

    await served.store.until(is_five)
    assert (await served.client.read_entity_state(df.EntityId("counter", "K 1"))).entity_exists
    assert not (await served.client.read_entity_state(df.EntityId("counter", "k 1"))).entity_exists
