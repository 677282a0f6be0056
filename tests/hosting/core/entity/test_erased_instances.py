"""A deleted thread and the orchestrations that carried its messages, on the local host."""

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.support.canary import gone, holds
from tests.support.instances import GUARD_SECONDS, HOOKS, Instances
from tests.support.orchestrations_app import make_page_app
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow

THREAD = "/api/agents/writer/threads"
CANARY = "canary-of-the-carried"


async def outcomes(instances: Instances, thread_id: str) -> dict[str, str]:
    """Delete a thread, and return what the receipt says of its instances."""
    place = f"{THREAD}/{thread_id}"
    assert (await instances.http.delete(place)).status_code == 204
    receipt = (await instances.http.get(f"{place}/erasure")).json()
    return {instance["id"]: instance["outcome"] for instance in receipt["instances"]}


@pytest.mark.behaviour("erasure.instances")
async def test_finished_orchestrations_go_with_the_thread_and_others_stay(instances: Instances) -> None:
    """Those that called the agent on this thread, and the thread's own entity; no other."""
    for name, thread_id in (("carried", "t-erased"), ("bystander", "t-kept")):
        await instances.result("carry", {"thread_id": thread_id, "text": CANARY, "waits": False}, name)

    received = await outcomes(instances, "t-erased")

    assert received == {"carried": "deleted", "@dafx-writer@t-erased": "deleted"}
    assert (await instances.http.get(f"{HOOKS}/instances/carried")).status_code == 404
    assert (await instances.ended("bystander"))[0] == "Completed"


@pytest.mark.behaviour("erasure.instances")
async def test_an_orchestration_that_runs_is_listed_and_deleted_once_it_has_ended(instances: Instances) -> None:
    """It is left alone, and goes when somebody deletes the thread again."""
    await instances.start("carry", {"thread_id": "t-waits", "text": "hi", "waits": True}, "waiting")
    await instances.waits("waiting", "EventRaised")

    before = await outcomes(instances, "t-waits")
    await instances.tell("waiting", "go", "now")
    ended = await instances.ended("waiting")
    after = await outcomes(instances, "t-waits")

    assert (before["waiting"], ended, after["waiting"]) == ("running", ("Completed", "echo: hi"), "deleted")


@pytest.mark.behaviour("erasure.instances")
async def test_an_orchestration_that_this_hub_does_not_have_is_listed(instances: Instances) -> None:
    await instances.result("carry", {"thread_id": "t-purged", "text": "hi", "waits": False}, "purged")
    await instances.http.delete(f"{HOOKS}/instances/purged")

    assert (await outcomes(instances, "t-purged"))["purged"] == "missing"


@pytest.mark.behaviour("erasure.nothing-is-left")
async def test_what_an_orchestration_carried_is_in_no_file_of_the_local_host(tmp_path: Path) -> None:
    """History, inputs, outputs, queues, logs; freed pages and write-ahead logs included."""
    folder = make_page_app(tmp_path)
    with RunningHost(folder) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            instances = Instances(http)
            await instances.result("carry", {"thread_id": "t", "text": CANARY, "waits": False}, "carried")
            assert holds(folder, CANARY.encode())

            await outcomes(instances, "t")

            await asyncio.wait_for(gone(folder, CANARY.encode()), GUARD_SECONDS)
