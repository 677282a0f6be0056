"""A run whose signal an older instance lost, and whose process is killed behind its answer: the sweep finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from devhost.durable.unkind import VARIABLE
from tests.faults.killed_app import CLERK, KILLED, KilledApp
from tests.support.carriers import Api
from tests.support.kept_in import over

pytestmark = KILLED

SWEPT_AT_ONCE = "\nimport hosting.core.promised_runs\n\nhosting.core.promised_runs.SWEPT_SECONDS = -60.0\n"
ENTITY = "/runtime/webhooks/durabletask/entities/dafx-clerk/t"


@pytest.mark.behaviour("service.promised")
@over("stores", "sqlite")
async def test_a_run_that_was_answered_by_a_process_that_is_gone_is_found(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """Nobody asks for it but the timer; to list runs signals for none."""
    app = KilledApp(tmp_path, stores, CLERK + SWEPT_AT_ONCE)

    async def statuses(api: Api) -> list[str]:
        return [run["status"] for run in (await api.http.get("/api/agents/Clerk/threads/t/runs")).json()["runs"]]

    async def is_committed(api: Api) -> bool:
        """Tell whether the engine has written the entity that the signal was for: until then a kill leaves it."""
        return (await api.http.get(ENTITY)).status_code == 200

    async with app.running(**{VARIABLE: "lost-operation @dafx-clerk@t 1"}) as api:
        body = {"message": "hi", "thread_id": "t", "wait_for_response": False}
        await api.http.post("/api/agents/Clerk/run", json=body)
        app.host.wait_for(f"{VARIABLE}: lost-operation strikes")
        await app.until(lambda: is_committed(api))

    async with app.running() as api:
        assert await statuses(api) == ["accepted"]
        assert (await api.http.post("/admin/functions/agents_promises", json={})).status_code == 202

        async def is_done() -> bool:
            return await statuses(api) == ["success"]

        await app.until(is_done)
