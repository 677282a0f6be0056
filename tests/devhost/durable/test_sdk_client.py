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


async def test_orchestrations_are_started_told_watched_and_purged(served: Served) -> None:
    """The input comes back as it was given; a purged instance is gone; a live id is refused.

    The SDK encodes events twice, so a dict arrives as a string of JSON (upstream, and on Azure too).
    """
    client = served.client
    await client.start_new("chain", "c 1", {"in": 1})
    await served.store.until_ended("c 1")
    status = await client.get_status("c 1")
    assert status.runtime_status is OrchestrationRuntimeStatus.Completed
    assert status.output == [1, ["a", {"p": 1}], {"in": 1}]
    assert len(await client.get_status_all()) == 1
    assert (await client.purge_instance_history("c 1")).instances_deleted == 1
    assert not await client.get_status("c 1")

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
    entity = df.EntityId("Counter", "K 1")
    await served.client.signal_entity(entity, "add", 5)

    async def is_five() -> bool:
        return (await served.client.read_entity_state(entity)).entity_state == 5

    await served.store.until(is_five)
    assert (await served.client.read_entity_state(df.EntityId("counter", "K 1"))).entity_exists
    assert not (await served.client.read_entity_state(df.EntityId("counter", "k 1"))).entity_exists
