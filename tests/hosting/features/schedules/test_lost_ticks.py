"""A schedule while the process of a tick's activity stands still over it."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.features.schedules.clock import LONG_SECONDS
from hosting.ports import iso
from tests.support.cluster.cluster import AGENT, AppProcess, Cluster
from tests.support.cluster.life import Life

pytestmark = [pytest.mark.moved_time, pytest.mark.behaviour("schedules.lost-tick")]
AT_SECONDS = 60.0
PLACE = f"/api/agents/{AGENT}/schedules"


async def read(app: AppProcess, path: str) -> Any:
    return (await app.http.get(path)).json()


@pytest.mark.parametrize("calls", range(1, 10, 2))
async def test_a_tick_whose_process_is_lost_over_it_has_its_run_half_a_minute_later(
    cluster: Cluster, calls: int
) -> None:
    """The tick is called for again, and the lost call, which comes to life long after, begins nothing."""

    async def stop() -> None:
        one.life.freeze()

    cluster.run_clocks()
    one, other = cluster.process(Life(turn_at=calls, meanwhile=stop)), cluster.process()
    at = iso(cluster.wall() + AT_SECONDS)
    created = await other.http.post(PLACE, json={"message": "hello", "thread_id": "t", "at": at})
    place = created.headers["location"]
    await cluster.sleep(AT_SECONDS + LONG_SECONDS / 2)
    cluster.processes.reverse()  # the next call comes to the other
    waiting = await read(other, place)
    await cluster.sleep(LONG_SECONDS)
    told = await read(other, place)
    one.life.thaw()
    await cluster.sleep(LONG_SECONDS)
    runs = (await read(other, f"/api/agents/{AGENT}/threads/t/runs"))["runs"]

    assert (created.status_code, waiting["status"], waiting["last_run"]) == (201, "active", None)
    assert [run["run_id"] for run in runs] == [told["last_run"]["run_id"]]
    assert await read(other, place) == told
    assert (told["status"], told["next_run_at"]) == ("ended", None)
